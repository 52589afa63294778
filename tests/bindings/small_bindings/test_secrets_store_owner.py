"""Secrets by name in one store."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from pyflare_bindings.clock import ManualClock
from pyflare_bindings.registry import BindingRegistry
from pyflare_bindings.secrets_store import SecretError
from pyflare_bindings.storage.errors import ClosedError

Program = Callable[[BindingRegistry, ManualClock], Awaitable[Any]]


def run(root: Path, program: Program) -> Any:
    async def main() -> Any:
        clock = ManualClock()
        registry = BindingRegistry(root, clock=clock)
        try:
            return await program(registry, clock)
        finally:
            await registry.close()

    return asyncio.run(main())


def test_a_secret_is_read_back_after_a_restart(tmp_path: Path) -> None:
    async def write(registry: BindingRegistry, _: ManualClock) -> Any:
        await registry.secrets_store("s").put("KEY", "välue")

    async def read(registry: BindingRegistry, _: ManualClock) -> Any:
        return await registry.secrets_store("s").get("KEY")

    run(tmp_path, write)
    assert run(tmp_path, read) == "välue"


def test_an_absent_one_has_the_platforms_text(tmp_path: Path) -> None:
    async def program(registry: BindingRegistry, _: ManualClock) -> Any:
        await registry.secrets_store("other").put("KEY", "v")
        with pytest.raises(SecretError, match=r'^Secret "KEY" not found$'):
            await registry.secrets_store("s").get("KEY")

    run(tmp_path, program)


def test_a_second_put_changes_the_value_and_keeps_the_id(tmp_path: Path) -> None:
    async def program(registry: BindingRegistry, clock: ManualClock) -> Any:
        store = registry.secrets_store("s")
        first = await store.put("KEY", "1", "for tests")
        await clock.advance(5)
        second = await store.put("KEY", "2")
        assert len(first.id) == 32
        assert (second.id, second.created) == (first.id, first.created)
        assert second.modified == first.modified + 5
        return await store.get("KEY")

    assert run(tmp_path, program) == "2"


def test_the_list_has_no_values(tmp_path: Path) -> None:
    async def program(registry: BindingRegistry, _: ManualClock) -> Any:
        store = registry.secrets_store("s")
        await store.put("B", "hidden-b")
        await store.put("A", "hidden-a", "first")
        return await store.list()

    listed = run(tmp_path, program)
    assert [(each.name, each.comment) for each in listed] == [("A", "first"), ("B", "")]
    assert "hidden" not in repr(listed)


def test_a_deleted_one_is_gone(tmp_path: Path) -> None:
    async def program(registry: BindingRegistry, _: ManualClock) -> Any:
        store = registry.secrets_store("s")
        await store.put("KEY", "1")
        return await store.delete("KEY"), await store.delete("KEY"), await store.list()

    assert run(tmp_path, program) == (True, False, [])


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("", "v", "A secret needs a name."),
        ("K", "", 'The value of secret "K" has 0 bytes; 1 to 1024 are allowed.'),
        ("K", "ü" * 513, 'The value of secret "K" has 1026 bytes; 1 to 1024 are allowed.'),
    ],
)
def test_what_production_would_not_store_is_refused(
    tmp_path: Path, name: str, value: str, text: str
) -> None:
    async def program(registry: BindingRegistry, _: ManualClock) -> Any:
        with pytest.raises(SecretError) as caught:
            await registry.secrets_store("s").put(name, value)
        return str(caught.value)

    assert run(tmp_path, program) == text


def test_only_this_user_can_reach_the_file(tmp_path: Path) -> None:
    async def program(registry: BindingRegistry, _: ManualClock) -> Any:
        store = registry.secrets_store("s")
        await store.put("KEY", "1")
        return stat.S_IMODE(store.path.parent.stat().st_mode)

    assert run(tmp_path / "state", program) == 0o700


def test_it_is_refused_after_close(tmp_path: Path) -> None:
    async def program(registry: BindingRegistry, _: ManualClock) -> Any:
        store = registry.secrets_store("s")
        await store.close()
        with pytest.raises(ClosedError):
            await store.get("KEY")

    run(tmp_path, program)
