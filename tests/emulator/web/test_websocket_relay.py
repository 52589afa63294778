"""A socket that one worker gives to another in the same process."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyflare.js.error import JsException
from pyflare.js.response import Response
from pyflare.js.semantics import Semantics, semantics
from pyflare.js.websocket_channel import WorkerFailed
from pyflare.js.websocket_pair import WebSocketPair
from pyflare.js.websocket_relay import relay

MODERN, EARLY = Semantics(close_is_answered=True), Semantics()
LOST = "WebSocket disconnected without sending Close frame."


class Ends:
    """The callee's socket, the caller's, what each hears, and the callee's event."""

    def __init__(self) -> None:
        client, self.callee = WebSocketPair.new()
        self.callee.accept()
        given = Response.new(None, status=101, webSocket=client, headers={"X-Own": "1"}.items())
        self.received, lasting = relay(given)
        self.event = asyncio.ensure_future(lasting)
        self.caller = self.received.webSocket
        self.heard: dict[str, list[Any]] = {"callee": [], "caller": []}
        for name, socket in (("callee", self.callee), ("caller", self.caller)):
            note = self.heard[name].append
            socket.addEventListener("message", lambda event, note=note: note(event.data))
            socket.addEventListener(
                "close", lambda event, note=note: note((event.code, event.reason))
            )


async def turns() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


def run(test: Any, rules: Semantics = MODERN) -> None:
    async def main() -> None:
        semantics.set(rules)
        ends = Ends()
        await test(ends)
        async with asyncio.timeout(5):
            await ends.event
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())


def test_the_caller_gets_a_socket_of_its_own_to_accept() -> None:
    async def test(ends: Ends) -> None:
        assert (ends.received.status, ends.received.headers.get("x-own")) == (101, "1")
        ends.callee.send("early")
        ends.caller.accept()
        ends.caller.send("hello")
        ends.caller.send(b"")
        await turns()
        assert ends.heard["caller"] == ["early"]
        assert ends.heard["callee"][0] == "hello"
        assert not ends.event.done()
        ends.caller.close(4000, "bye")
        await turns()
        assert ends.heard["callee"][-1] == ends.heard["caller"][-1] == (4000, "bye")

    run(test)


def test_the_callee_closes() -> None:
    async def test(ends: Ends) -> None:
        ends.caller.accept()
        ends.callee.close(4001, "enough")
        await turns()
        assert ends.heard == {"callee": [(4001, "enough")], "caller": [(4001, "enough")]}

    run(test)


def test_by_an_early_date_each_answers_for_itself() -> None:
    async def test(ends: Ends) -> None:
        ends.caller.accept()
        ends.caller.close(4000, "bye")
        await turns()
        assert not ends.event.done()
        ends.callee.send("one more")
        ends.callee.close(4002, "you too")
        await turns()
        assert ends.heard == {
            "callee": [(4000, "bye")],
            "caller": ["one more", (4002, "you too")],
        }

    run(test, EARLY)


@pytest.mark.parametrize("rules", [MODERN, EARLY], ids=["modern", "early"])
def test_a_caller_that_is_gone_ends_the_callees_event(rules: Semantics) -> None:
    async def test(ends: Ends) -> None:
        ends.caller.give_away().leave()
        await turns()
        assert ends.heard["callee"] == [(1006, LOST)]

    run(test, rules)


def test_a_callee_that_fails_is_lost_to_its_caller() -> None:
    async def test(ends: Ends) -> None:
        ends.caller.accept()
        ends.callee._end.leave(WorkerFailed())
        await turns()
        assert ends.heard["caller"] == [(1011, "")]
        ends.caller.close()

    run(test)


def test_a_caller_that_never_accepts_holds_the_callee_back_but_not_its_stop() -> None:
    async def test(ends: Ends) -> None:
        for number in range(500):
            ends.callee.send(str(number))
        await turns()
        ends.event.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ends.event
        ends.event = asyncio.ensure_future(asyncio.sleep(0))
        await turns()
        assert ends.heard["callee"] == [(1006, LOST)]

    run(test)


def test_a_socket_that_cannot_be_given_is_refused() -> None:
    async def test() -> None:
        client, _ = WebSocketPair.new()
        client.accept()
        with pytest.raises(JsException, match="after calling accept"):
            relay(Response.new(None, status=101, webSocket=client))

    asyncio.run(test())
