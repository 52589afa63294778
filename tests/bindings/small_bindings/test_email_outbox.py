"""Messages that are kept instead of being sent."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from pyflare_bindings.clock import ManualClock
from pyflare_bindings.email import EmailOutbox
from pyflare_bindings.registry import BindingRegistry
from pyflare_bindings.storage.errors import ClosedError, StateError

Program = Callable[[EmailOutbox], Awaitable[Any]]
RAW = b"Subject: s\r\n\r\nbody\xff"


def run(root: Path, program: Program, durability: Any = "process") -> Any:
    async def main() -> Any:
        registry = BindingRegistry(root, clock=ManualClock(), durability=durability)
        try:
            return await program(registry.email())
        finally:
            await registry.close()

    return asyncio.run(main())


async def keep(outbox: EmailOutbox, **changes: Any) -> Any:
    options: dict[str, Any] = {
        "sender": "a@x.test",
        "recipients": ["b@x.test", "c@x.test"],
        "message_id": "<1@x.test>",
        "worker": "w",
    }
    return await outbox.store("sent", RAW, **{**options, **changes})


@pytest.mark.parametrize("durability", ["process", "machine"])
def test_a_message_is_kept_byte_for_byte_with_its_envelope(tmp_path: Path, durability: str) -> None:
    async def write(outbox: EmailOutbox) -> Any:
        return await keep(outbox)

    async def read(outbox: EmailOutbox) -> Any:
        (message,) = await outbox.messages()
        return message, await message.raw()

    stored = run(tmp_path, write, durability)
    message, raw = run(tmp_path, read, durability)
    assert message == stored
    assert raw == RAW
    assert (message.kind, message.worker, message.sender) == ("sent", "w", "a@x.test")
    assert (message.recipients, message.message_id) == (("b@x.test", "c@x.test"), "<1@x.test>")


def test_files_have_random_names_whatever_the_message_id(tmp_path: Path) -> None:
    async def program(outbox: EmailOutbox) -> Any:
        return [(await keep(outbox, message_id="../../../etc/passwd")).path for _ in range(2)]

    first, second = run(tmp_path, program)
    assert first.parent == second.parent
    assert first.parent.is_relative_to(tmp_path)
    assert first.suffix == ".eml"
    assert first.stem != second.stem
    assert len(first.stem) == 32
    assert first.stat().st_mode & 0o777 == 0o600


def test_messages_are_listed_oldest_first(tmp_path: Path) -> None:
    async def program(outbox: EmailOutbox) -> Any:
        for number in range(3):
            await keep(outbox, message_id=str(number))
        return [message.message_id for message in await outbox.messages()]

    assert run(tmp_path, program) == ["0", "1", "2"]


def test_clear_removes_messages_and_files(tmp_path: Path) -> None:
    async def program(outbox: EmailOutbox) -> Any:
        await keep(outbox)
        await outbox.clear()
        return await outbox.messages()

    assert run(tmp_path, program) == []
    assert list(tmp_path.rglob("*.eml")) == []


def test_files_that_a_crash_left_without_an_entry_are_removed(tmp_path: Path) -> None:
    async def write(outbox: EmailOutbox) -> Any:
        return (await keep(outbox)).path

    kept = run(tmp_path, write)
    (kept.parent / "lost.eml").write_bytes(b"x")
    (kept.parent / "half.part").write_bytes(b"x")
    (kept.parent / "notes.txt").write_bytes(b"x")

    async def look(outbox: EmailOutbox) -> Any:
        return len(await outbox.messages())

    assert run(tmp_path, look) == 1
    assert {path.name for path in kept.parent.iterdir()} == {kept.name, "notes.txt"}


def test_a_cancelled_caller_leaves_the_whole_message_or_nothing(tmp_path: Path) -> None:
    async def program(outbox: EmailOutbox) -> Any:
        await outbox.messages()
        task = asyncio.create_task(keep(outbox))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        return {message.path for message in await outbox.messages()}

    assert run(tmp_path, program) == set(tmp_path.rglob("*.eml"))
    assert list(tmp_path.rglob("*.part")) == []


def test_a_message_whose_file_is_gone_is_named(tmp_path: Path) -> None:
    async def program(outbox: EmailOutbox) -> Any:
        message = await keep(outbox)
        message.path.unlink()
        with pytest.raises(StateError, match=message.path.name):
            await message.raw()

    run(tmp_path, program)


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    async def program(outbox: EmailOutbox) -> Any:
        await outbox.messages()
        outbox.directory.write_text("a file where the directory belongs")
        with pytest.raises(StateError, match="cannot be written"):
            await keep(outbox)
        return await outbox.messages()

    assert run(tmp_path, program) == []


def test_it_is_refused_after_close(tmp_path: Path) -> None:
    async def program(outbox: EmailOutbox) -> Any:
        await outbox.close()
        with pytest.raises(ClosedError):
            await keep(outbox)

    run(tmp_path, program)
    shutil.rmtree(tmp_path, ignore_errors=True)
