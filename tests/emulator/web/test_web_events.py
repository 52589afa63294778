"""Events, targets, AbortController and AbortSignal."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyflare.js.abort import AbortController, AbortSignal
from pyflare.js.callbacks import console_sink
from pyflare.js.error import Error, JsException
from pyflare.js.events import CloseEvent, CustomEvent, ErrorEvent, Event, EventTarget, MessageEvent
from pyflare.js.message_channel import MessageChannel, MessagePort
from pyflare.js.value import JsObject, jsnull


def logged(test: Any) -> list[tuple[str, str]]:
    """What reaches the console while the coroutine function runs."""
    lines: list[tuple[str, str]] = []

    async def main() -> None:
        console_sink.set(lambda level, text: lines.append((level, text)))
        await test()

    asyncio.run(main())
    return lines


def test_listeners_are_called_in_order_with_the_event() -> None:
    target, seen = EventTarget.new(), []
    target.addEventListener(
        "x", lambda event: seen.append(("first", event.type, event.target is target))
    )
    target.addEventListener(
        "x", lambda event: seen.append(("second", event.currentTarget is target))
    )
    target.addEventListener("y", lambda event: seen.append("other"))
    event = Event.new("x")
    assert target.dispatchEvent(event) is True
    assert seen == [("first", "x", True), ("second", True)]
    assert event.currentTarget is jsnull


def test_adding_twice_is_adding_once_and_removing_removes() -> None:
    target, seen = EventTarget.new(), []
    target.addEventListener("x", seen.append)
    target.addEventListener("x", seen.append)
    target.dispatchEvent(Event.new("x"))
    assert len(seen) == 1
    target.removeEventListener("x", seen.append)
    target.dispatchEvent(Event.new("x"))
    assert len(seen) == 1


def test_once() -> None:
    target, seen = EventTarget.new(), []
    target.addEventListener("x", seen.append, {"once": True})
    for _ in range(2):
        target.dispatchEvent(Event.new("x"))
    assert len(seen) == 1


def test_a_listener_can_be_tied_to_a_signal() -> None:
    target, seen, controller = EventTarget.new(), [], AbortController.new()
    target.addEventListener("x", seen.append, signal=controller.signal)
    target.dispatchEvent(Event.new("x"))
    controller.abort()
    target.dispatchEvent(Event.new("x"))
    target.addEventListener("x", seen.append, signal=controller.signal)
    target.dispatchEvent(Event.new("x"))
    assert len(seen) == 1


def test_objects_with_handle_event_and_on_attributes_listen_too() -> None:
    class Listener:
        def handleEvent(self, event: Any) -> None:
            seen.append("object")

    target, seen = EventTarget.new(), []
    target.addEventListener("x", Listener())
    target.onx = lambda event: seen.append("attribute")
    target.dispatchEvent(Event.new("x"))
    assert sorted(seen) == ["attribute", "object"]


def test_stopping_and_preventing() -> None:
    target, seen = EventTarget.new(), []

    def first(event: Any) -> None:
        event.preventDefault()
        event.stopImmediatePropagation()

    target.addEventListener("x", first)
    target.addEventListener("x", seen.append)
    assert target.dispatchEvent(Event.new("x", {"cancelable": True})) is False
    assert target.dispatchEvent(Event.new("x")) is True
    assert seen == []


def test_a_failing_listener_is_logged_and_stops_no_other() -> None:
    async def test() -> None:
        target, seen = EventTarget.new(), []

        def broken(event: Any) -> None:
            raise ValueError("broken listener")

        target.addEventListener("x", broken)
        target.addEventListener("x", seen.append)
        target.dispatchEvent(Event.new("x"))
        assert len(seen) == 1

    [(level, text)] = logged(test)
    assert level == "error"
    assert "ValueError: broken listener" in text


def test_an_asynchronous_listener_runs_and_its_failure_is_logged() -> None:
    async def test() -> None:
        async def broken(event: Any) -> None:
            await asyncio.sleep(0)
            raise Error("later")

        target = EventTarget.new()
        target.addEventListener("x", broken)
        target.dispatchEvent(Event.new("x"))
        for _ in range(5):
            await asyncio.sleep(0)

    [(level, text)] = logged(test)
    assert level == "error"
    assert "Error: later" in text


def test_an_event_under_way_cannot_be_dispatched_again() -> None:
    target, event, caught = EventTarget.new(), Event.new("x"), []

    def again(received: Any) -> None:
        with pytest.raises(JsException) as error:
            target.dispatchEvent(received)
        caught.append(str(error.value))

    target.addEventListener("x", again)
    target.dispatchEvent(event)
    assert caught == ["InvalidStateError: The event is already being dispatched."]


@pytest.mark.parametrize(
    ("listener", "options", "text"),
    [
        (5, None, "the listener is neither a function nor has it a handleEvent method"),
        (print, {"capture": True}, "options.capture must be false"),
    ],
)
def test_impossible_listeners_are_refused(listener: Any, options: Any, text: str) -> None:
    with pytest.raises(JsException, match=text):
        EventTarget.new().addEventListener("x", listener, options)


def test_the_kinds_of_event() -> None:
    assert CustomEvent.new("a", detail=5).detail == 5
    assert CustomEvent.new("a").detail is None
    assert Event.new("a").target is None
    assert list(Event.new("a").composedPath()) == []
    assert MessageEvent.new("message", {"data": "x"}).data == "x"
    close = CloseEvent.new("close", {"code": 1000, "reason": "bye", "wasClean": True})
    assert (close.code, close.reason, close.wasClean) == (1000, "bye", True)
    error = ErrorEvent.new("error", {"message": "m", "error": 1})
    assert (error.message, error.error, error.lineno) == ("m", 1, 0)
    with pytest.raises(
        JsException,
        match="Failed to construct 'Event': constructor parameter 1 is not of type 'string'",
    ):
        Event.new()


def test_aborting() -> None:
    controller, seen = AbortController.new(), []
    signal = controller.signal
    signal.onabort = lambda event: seen.append(event.type)
    assert (signal.aborted, signal.reason) == (False, None)
    signal.throwIfAborted()
    controller.abort()
    controller.abort("again")
    assert seen == ["abort"]
    assert (signal.reason.name, signal.reason.message) == (
        "AbortError",
        "The operation was aborted",
    )
    with pytest.raises(JsException) as caught:
        signal.throwIfAborted()
    assert caught.value is signal.reason


def test_a_reason_is_kept_as_it_is() -> None:
    signal = AbortSignal.abort("why")
    assert (signal.aborted, signal.reason) == (True, "why")


def test_any_follows_the_first() -> None:
    one, two = AbortController.new(), AbortController.new()
    signal = AbortSignal.any([one.signal, two.signal])
    two.abort("two")
    one.abort("one")
    assert signal.reason == "two"
    assert AbortSignal.any([AbortSignal.abort("early"), one.signal]).reason == "early"


def test_a_timeout_aborts_with_its_own_error() -> None:
    async def main() -> None:
        signal = AbortSignal.timeout(1)
        aborted = asyncio.Event()
        signal.addEventListener("abort", lambda event: aborted.set())
        await asyncio.wait_for(aborted.wait(), 5)
        assert str(signal.reason) == "TimeoutError: The operation was aborted due to timeout"

    asyncio.run(main())


def test_signals_are_not_constructed() -> None:
    with pytest.raises(JsException, match="Illegal constructor"):
        AbortSignal.new()


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_messages_go_to_the_other_end_as_copies_in_order() -> None:
    async def main() -> None:
        channel, seen = MessageChannel.new(), []
        message = JsObject.adopt({"a": 1})
        channel.port1.postMessage(message)
        message.a = 2
        channel.port1.postMessage("second")
        channel.port2.onmessage = lambda event: seen.append(event.data)
        assert seen == []
        await turns()
        assert (seen[0].a, seen[1]) == (1, "second")
        channel.port2.postMessage("back")
        channel.port1.addEventListener("message", lambda event: seen.append(event.data))
        await turns()
        assert len(seen) == 2
        channel.port1.start()
        await turns()
        assert seen[2] == "back"

    asyncio.run(main())


def test_a_closed_channel_carries_nothing() -> None:
    async def main() -> None:
        channel, seen = MessageChannel.new(), []
        channel.port2.onmessage = seen.append
        channel.port1.close()
        channel.port1.postMessage("lost")
        await turns()
        assert seen == []

    asyncio.run(main())


def test_a_message_that_cannot_be_copied_is_refused() -> None:
    with pytest.raises(JsException, match="could not be cloned"):
        MessageChannel.new().port1.postMessage(print)


def test_ports_are_not_constructed() -> None:
    with pytest.raises(JsException, match="Illegal constructor"):
        MessagePort.new()
