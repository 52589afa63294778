"""What waits on its way out of a Durable Object."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from pyflare.js.error import JsException
from pyflare.js.websocket_channel import ChannelEnd, Close, ConnectionLost, channel
from pyflare.js.websocket_outbox import Outbox

Pending = asyncio.Future[None]
MIB = 1024 * 1024


def run(test: Callable[[Outbox, ChannelEnd, Callable[[], Pending]], Any]) -> None:
    async def main() -> None:
        own, other = channel()
        await test(Outbox(own), other, asyncio.get_running_loop().create_future)

    asyncio.run(main())


async def arrived(end: ChannelEnd) -> list[Any]:
    await asyncio.sleep(0)
    items = []
    while (item := end.take()) is not None:
        items.append(item)
    return items


def test_without_anything_to_wait_for_it_leaves_at_once() -> None:
    async def test(outbox: Outbox, other: ChannelEnd, _: Any) -> None:
        outbox.put("text", None)
        assert other.waiting == 1

    run(test)


def test_the_order_of_sending_stays() -> None:
    async def test(outbox: Outbox, other: ChannelEnd, pending: Callable[[], Pending]) -> None:
        first, second = pending(), pending()
        outbox.put("1", first)
        outbox.put("2", second)
        outbox.put("3", None)
        outbox.put(Close(1000, "bye"), None)
        second.set_result(None)
        assert await arrived(other) == []
        first.set_result(None)
        assert await arrived(other) == ["1", "2", "3", Close(1000, "bye")]

    run(test)


def test_leaving_waits_for_its_turn_too() -> None:
    async def test(outbox: Outbox, other: ChannelEnd, pending: Callable[[], Pending]) -> None:
        commit = pending()
        outbox.put("1", commit)
        outbox.put(None, None)
        assert await arrived(other) == []
        commit.set_result(None)
        items = await arrived(other)
        assert items[0] == "1"
        assert isinstance(items[1], ConnectionLost)

    run(test)


@pytest.mark.parametrize("how", ["fails", "is cancelled"])
def test_when_what_it_waits_for_fails_nothing_more_leaves(how: str) -> None:
    async def test(outbox: Outbox, other: ChannelEnd, pending: Callable[[], Pending]) -> None:
        good, bad = pending(), pending()
        outbox.put("1", good)
        outbox.put("2", bad)
        outbox.put("3", None)
        good.set_result(None)
        if how == "fails":
            bad.set_exception(OSError("the disk is full"))
        else:
            bad.cancel()
        items = await arrived(other)
        outbox.put("4", None)
        assert items[0] == "1"
        assert isinstance(items[1], ConnectionLost)
        assert await arrived(other) == []
        assert len(items) == 2

    run(test)


def test_what_waits_is_bounded_by_a_workers_memory() -> None:
    async def test(outbox: Outbox, other: ChannelEnd, pending: Callable[[], Pending]) -> None:
        commit, chunk = pending(), bytes(32 * MIB)
        for _ in range(4):
            outbox.put(chunk, commit)
        with pytest.raises(JsException, match="134217728 bytes wait for it, and 1 more"):
            outbox.put("x", None)
        commit.set_result(None)
        assert len(await arrived(other)) == 4
        outbox.put("x", None)
        assert await arrived(other) == ["x"]

    run(test)
