"""A stub that nobody has any more: the garbage collector may find it on any thread."""

from __future__ import annotations

import asyncio
import gc
import threading
from typing import Any

import pytest

from pyflare.js.rpc.exports import Export
from pyflare.js.rpc.stub import JsRpcStub


class Host:
    """Counts what is held, and where that ends."""

    def __init__(self) -> None:
        self.held = 0
        self.released_on: list[int] = []

    def hold(self) -> None:
        self.held += 1

    def release(self) -> None:
        self.held -= 1
        self.released_on.append(threading.get_ident())


def drop_in_a_cycle(host: Host) -> None:
    """Make a stub that only the collector can find."""
    gave: Any = host
    cycle: list[object] = [JsRpcStub._make(Export(print, gave))]
    cycle.append(cycle)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_what_gave_it_away_is_let_go_on_its_own_thread(elsewhere: bool) -> None:
    host = Host()

    async def run() -> None:
        gc.disable()
        try:
            drop_in_a_cycle(host)
            assert host.held == 1
            if elsewhere:
                await asyncio.to_thread(gc.collect)
            else:
                gc.collect()
        finally:
            gc.enable()
        await asyncio.sleep(0)

    asyncio.run(run())
    assert (host.held, host.released_on) == (0, [threading.get_ident()])


def test_after_the_end_of_its_loop_it_is_no_error() -> None:
    host = Host()

    async def run() -> None:
        drop_in_a_cycle(host)

    gc.disable()
    try:
        asyncio.run(run())
        gc.collect()
    finally:
        gc.enable()
    assert host.released_on == []
