"""``run_sync`` before anybody has said how to wait, and with somebody who has."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from pyflare.pyodide import ffi, suspension


@pytest.fixture
def outside_workers() -> Iterator[None]:
    before = suspension._run, suspension._can_run
    suspension.uninstall()
    yield
    suspension.install(*before)


@pytest.mark.usefixtures("outside_workers")
def test_outside_a_worker_nothing_can_be_waited_for() -> None:
    assert not ffi.can_run_sync()
    with pytest.raises(RuntimeError) as caught:
        ffi.run_sync(asyncio.sleep(0))
    assert str(caught.value) == (
        "Cannot stack switch because the Python entrypoint was a synchronous function. "
        "Use pyFunc.callPromising() to fix."
    )


@pytest.mark.usefixtures("outside_workers")
def test_what_is_not_awaitable_is_a_type_error() -> None:
    with pytest.raises(TypeError) as caught:
        ffi.run_sync(1)  # type: ignore[arg-type]
    assert str(caught.value) == "object int is not awaitable"


@pytest.mark.usefixtures("outside_workers")
def test_what_was_installed_is_used_until_it_is_taken_out() -> None:
    waited: list[Any] = []

    def run(awaitable: Any) -> str:
        waited.append(awaitable)
        return "result"

    suspension.install(run, lambda: True)
    assert ffi.can_run_sync()
    assert ffi.run_sync("anything") == "result"  # type: ignore[arg-type, comparison-overlap]
    suspension.uninstall()
    assert (waited, ffi.can_run_sync()) == (["anything"], False)
