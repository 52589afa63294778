"""Two sockets in one worker: what is sent to one arrives at the other."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from pyflare.js.array_buffer import ArrayBuffer
from pyflare.js.buffer import Uint8Array, Uint16Array
from pyflare.js.callbacks import console_sink
from pyflare.js.globals import resolve
from pyflare.js.semantics import Semantics, semantics
from pyflare.js.value import JsObject, jsnull
from pyflare.js.websocket import WebSocket
from pyflare.js.websocket_pair import WebSocketPair

#: What a recent compatibility date brings.
MODERN = Semantics(blob_messages=True, close_is_answered=True, close_reason_is_limited=True)
EARLY = Semantics()


class Listener:
    """Keeps what one socket dispatches."""

    def __init__(self, socket: Any) -> None:
        self.socket = socket
        self.seen: list[Any] = []
        for kind in ("open", "message", "close", "error"):
            socket.addEventListener(kind, self.note)

    def note(self, event: Any) -> None:
        match event.type:
            case "message":
                self.seen.append(event.data)
            case "close":
                self.seen.append((event.code, event.reason, event.wasClean, self.socket.readyState))
            case kind:
                self.seen.append(kind)


async def turns(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def run(test: Callable[[], Coroutine[Any, Any, Any]], rules: Semantics = EARLY) -> list[str]:
    """Run a test under the rules of a compatibility date; gives what was logged."""
    lines: list[str] = []

    async def main() -> None:
        semantics.set(rules)
        console_sink.set(lambda level, text: lines.append(text))
        await test()

    asyncio.run(main())
    return lines


def accepted() -> tuple[Any, Any]:
    one, two = WebSocketPair.new()
    one.accept()
    two.accept()
    return one, two


class TestMakingAPair:
    def test_it_can_be_unpacked_as_it_is(self) -> None:
        client, server = WebSocketPair.new()
        assert isinstance(client, WebSocket)
        assert isinstance(server, WebSocket)

    def test_it_is_an_object_with_the_keys_0_and_1(self) -> None:
        pair = WebSocketPair.new()
        client, server = pair.object_values()
        assert list(pair.object_keys()) == ["0", "1"]
        assert [list(entry) for entry in pair.object_entries()] == [["0", client], ["1", server]]
        assert getattr(pair, "0") is client
        assert getattr(pair, "1") is server
        assert not hasattr(pair, "2")

    def test_the_names_are_global(self) -> None:
        assert resolve("WebSocketPair") is WebSocketPair
        assert resolve("WebSocket") is WebSocket
        assert WebSocketPair.new().constructor.name == "WebSocketPair"

    def test_a_fresh_socket_is_open_and_has_no_address(self) -> None:
        socket, _ = WebSocketPair.new()
        assert (socket.readyState, socket.url, socket.protocol, socket.extensions) == (
            1,
            jsnull,
            "",
            "",
        )
        assert socket.onmessage is None

    def test_the_states_have_names(self) -> None:
        names = ("CONNECTING", "OPEN", "CLOSING", "CLOSED")
        assert [getattr(WebSocket, name) for name in names] == [0, 1, 2, 3]
        assert [getattr(WebSocket, f"READY_STATE_{name}") for name in names] == [0, 1, 2, 3]


class TestMessages:
    def test_text_arrives_as_text_and_in_order(self) -> None:
        async def test() -> None:
            one, two = accepted()
            heard = Listener(two)
            for text in ("a", "", "ü", "c"):
                one.send(text)
            await turns()
            assert heard.seen == ["a", "", "ü", "c"]

        run(test)

    def test_both_ways_at_once(self) -> None:
        async def test() -> None:
            one, two = accepted()
            heard = Listener(one), Listener(two)
            one.send("to two")
            two.send("to one")
            await turns()
            assert [each.seen for each in heard] == [["to one"], ["to two"]]

        run(test)

    @pytest.mark.parametrize(
        "data",
        [
            b"abc",
            bytearray(b"abc"),
            memoryview(b"abc"),
            ArrayBuffer.adopt(b"abc"),
            Uint8Array.new([97, 98, 99]),
            Uint8Array.new([0, 97, 98, 99]).subarray(1),
        ],
        ids=lambda data: type(data).__name__,
    )
    def test_every_kind_of_buffer_arrives_as_an_array_buffer(self, data: Any) -> None:
        async def test() -> None:
            one, two = accepted()
            heard = Listener(two)
            one.send(data)
            await turns()
            (received,) = heard.seen
            assert received.constructor.name == "ArrayBuffer"
            assert received.to_bytes() == b"abc"

        run(test)

    def test_empty_and_wide_buffers_keep_their_bytes(self) -> None:
        async def test() -> None:
            one, two = accepted()
            heard = Listener(two)
            one.send(b"")
            one.send(Uint16Array.new([1, 2]))
            await turns()
            assert [data.to_bytes() for data in heard.seen] == [b"", b"\1\0\2\0"]

        run(test)

    def test_the_bytes_are_copied_when_they_are_sent(self) -> None:
        async def test() -> None:
            one, two = accepted()
            heard = Listener(two)
            data = bytearray(b"before")
            one.send(data)
            data[:] = b"after!"
            await turns()
            assert heard.seen[0].to_bytes() == b"before"

        run(test)

    def test_other_values_are_sent_as_their_text(self) -> None:
        async def test() -> None:
            one, two = accepted()
            heard = Listener(two)
            one.send(12)
            one.send(JsObject.adopt({}))
            one.send("\ud800!")
            await turns()
            assert heard.seen == ["12", "[object Object]", "�!"]

        run(test)

    def test_binary_messages_are_blobs_by_a_recent_date(self) -> None:
        async def test() -> None:
            one, two = accepted()
            heard = Listener(two)
            assert two.binaryType == "blob"
            one.send(b"abc")
            await turns()
            (blob,) = heard.seen
            assert (blob.constructor.name, blob.size) == ("Blob", 3)
            assert await blob.text() == "abc"

        run(test, MODERN)

    def test_binary_type_chooses_and_ignores_what_it_does_not_know(self) -> None:
        async def test() -> None:
            one, two = accepted()
            heard = Listener(two)
            two.binaryType = "nonsense"
            assert two.binaryType == "blob"
            two.binaryType = "arraybuffer"
            one.send(b"abc")
            await turns()
            assert heard.seen[0].constructor.name == "ArrayBuffer"

        run(test, MODERN)

    def test_what_comes_before_accept_waits_for_it(self) -> None:
        async def test() -> None:
            one, two = WebSocketPair.new()
            heard = Listener(two)
            one.accept()
            one.send("early")
            one.close(1000, "bye")
            await turns()
            assert heard.seen == []
            two.accept()
            await turns()
            assert heard.seen == ["early", (1000, "bye", True, 2)]

        run(test)

    def test_listeners_that_were_added_after_accept_in_the_same_turn_hear_everything(self) -> None:
        async def test() -> None:
            one, two = WebSocketPair.new()
            one.accept()
            one.send("early")
            two.accept()
            heard = Listener(two)
            await turns()
            assert heard.seen == ["early"]

        run(test)

    def test_on_attributes_are_listeners_too(self) -> None:
        async def test() -> None:
            one, two = accepted()
            seen: list[Any] = []
            two.onmessage = lambda event: seen.append(event.data)
            two.onclose = lambda event: seen.append(event.code)
            one.send("a")
            one.close(4000)
            await turns()
            assert seen == ["a", 4000]

        run(test)

    def test_an_async_listener_does_not_hold_up_the_next_message(self) -> None:
        async def test() -> None:
            one, two = accepted()
            seen: list[Any] = []
            second = asyncio.Event()

            async def listen(event: Any) -> None:
                if event.data == "first":
                    await second.wait()
                else:
                    second.set()
                seen.append(event.data)

            two.addEventListener("message", listen)
            one.send("first")
            one.send("second")
            await turns()
            assert seen == ["second", "first"]

        run(test)

    def test_async_listeners_begin_in_the_order_of_the_messages(self) -> None:
        async def test() -> None:
            one, two = accepted()
            seen: list[Any] = []

            async def listen(event: Any) -> None:
                seen.append(event.data)

            two.addEventListener("message", listen)
            for number in range(100):
                one.send(str(number))
            await turns()
            assert seen == [*map(str, range(100))]

        run(test)

    def test_many_messages_do_not_keep_everybody_else_waiting(self) -> None:
        async def test() -> None:
            one, two = accepted()
            dispatched = 0

            def listen(_: Any) -> None:
                nonlocal dispatched
                dispatched += 1
                # Work that takes its time.
                until = time.perf_counter() + 0.0005
                while time.perf_counter() < until:
                    pass

            two.onmessage = listen
            for _ in range(100):
                one.send("x")
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert 0 < dispatched < 50
            while dispatched < 100:
                await asyncio.sleep(0)

        run(test)

    def test_an_idle_or_forgotten_pair_leaves_no_task_behind(self) -> None:
        async def test() -> None:
            for _ in range(50):
                one, _two = accepted()
                one.send("x")
            await turns(200)
            del one, _two
            gc.collect()
            assert len(asyncio.all_tasks()) == 1

        run(test)

    def test_a_reader_that_never_reads_does_not_take_all_the_memory(self) -> None:
        async def test() -> None:
            one, _two = WebSocketPair.new()
            one.accept()
            piece = bytes(32 * 1024 * 1024)
            for _ in range(4):
                one.send(piece)
            with pytest.raises(Exception, match="does not read: 134217728 bytes wait for it") as e:
                one.send(b"one more")
            assert e.value.name == "Error"

        run(test)


class TestClosing:
    def test_by_a_recent_date_a_close_is_answered_and_both_are_closed(self) -> None:
        async def test() -> None:
            one, two = accepted()
            heard = Listener(one), Listener(two)
            one.close(4001, "enough")
            assert one.readyState == WebSocket.CLOSING
            await turns()
            assert heard[1].seen == [(4001, "enough", True, 3)]
            assert heard[0].seen == [(4001, "enough", True, 3)]

        run(test, MODERN)

    def test_by_an_early_date_the_answer_is_the_workers_business(self) -> None:
        async def test() -> None:
            one, two = accepted()
            heard = Listener(one), Listener(two)
            one.close(4001, "enough")
            await turns()
            assert heard[1].seen == [(4001, "enough", True, 2)]
            assert heard[0].seen == []
            two.send("a last word")
            two.close(4002, "me too")
            await turns()
            assert heard[0].seen == ["a last word", (4002, "me too", True, 3)]
            assert (one.readyState, two.readyState) == (3, 3)

        run(test)

    @pytest.mark.parametrize("half_open", [True, False])
    def test_accept_may_say_who_answers(self, half_open: bool) -> None:
        async def test() -> None:
            one, two = WebSocketPair.new()
            one.accept()
            two.accept({"allowHalfOpen": half_open})
            heard = Listener(two)
            one.close(1000)
            await turns()
            assert heard.seen == [(1000, "", True, 2 if half_open else 3)]

        run(test, MODERN)

    def test_a_close_without_a_code_arrives_as_1005(self) -> None:
        async def test() -> None:
            one, two = accepted()
            heard = Listener(two)
            one.close()
            await turns()
            assert heard.seen == [(1005, "", True, 2)]

        run(test)

    def test_what_was_sent_before_the_close_arrives_before_it(self) -> None:
        async def test() -> None:
            one, two = accepted()
            heard = Listener(two)
            one.send("a")
            one.close(1000)
            await turns()
            assert heard.seen[0] == "a"

        run(test)

    def test_closing_twice_is_closing_once(self) -> None:
        async def test() -> None:
            one, two = accepted()
            heard = Listener(two)
            one.close(4000)
            one.close(4001)
            await turns()
            assert [event[0] for event in heard.seen] == [4000]

        run(test)

    def test_accepting_twice_is_accepting_once(self) -> None:
        async def test() -> None:
            one, two = accepted()
            heard = Listener(two)
            two.accept()
            one.send("a")
            await turns()
            assert heard.seen == ["a"]

        run(test)

    def test_a_socket_whose_other_end_was_lost_hears_1006_and_is_ignored_from_then_on(self) -> None:
        async def test() -> None:
            one, two = WebSocketPair.new()
            end = one.give_away()
            two.accept()
            heard = Listener(two)
            end.leave()
            await turns()
            text = "WebSocket disconnected without sending Close frame."
            assert heard.seen == [(1006, text, False, 2)]
            two.send("nobody hears this")
            two.close(1000, "nor this")

        run(test)


class TestFailures:
    def test_a_plain_listener_that_raises_ends_the_connection(self) -> None:
        async def test() -> None:
            one, two = accepted()
            heard = Listener(one)
            errors: list[Any] = []

            def listen(_: Any) -> None:
                raise ValueError("broken listener")

            two.onmessage = listen
            two.addEventListener("error", errors.append)
            one.send("a")
            one.send("never dispatched")
            await turns()
            (event,) = errors
            assert event.error.name == "PythonError"
            assert "ValueError: broken listener" in event.message
            assert two.readyState == WebSocket.CLOSED
            two.send("ignored")
            assert [seen[:2] for seen in heard.seen] == [
                (1006, "WebSocket disconnected without sending Close frame.")
            ]

        (logged,) = run(test)
        assert "broken listener" in logged

    def test_an_async_listener_that_raises_is_logged_and_the_connection_goes_on(self) -> None:
        async def test() -> None:
            one, two = accepted()
            heard = Listener(two)

            async def listen(_: Any) -> None:
                raise ValueError("broken listener")

            two.addEventListener("message", listen)
            one.send("a")
            one.send("b")
            await turns()
            assert heard.seen == ["a", "b"]
            assert two.readyState == WebSocket.OPEN

        logged = run(test)
        assert ["broken listener" in text for text in logged] == [True, True]

    def test_sys_exit_in_a_listener_ends_the_connection_and_nothing_else(self) -> None:
        async def test() -> None:
            one, two = accepted()

            def listen(_: Any) -> None:
                raise SystemExit(3)

            two.onmessage = listen
            one.send("a")
            await turns()
            assert two.readyState == WebSocket.CLOSED

        run(test)

    def test_a_failing_error_listener_is_logged(self) -> None:
        async def test() -> None:
            one, two = accepted()

            def listen(event: Any) -> None:
                raise ValueError(f"in {event.type}")

            two.onmessage = two.onerror = listen
            one.send("a")
            await turns()

        logged = run(test)
        assert ["in message" in logged[0], "in error" in logged[1]] == [True, True]


class TestAttachments:
    def test_each_reading_gives_a_fresh_copy(self) -> None:
        socket, _ = WebSocketPair.new()
        value = JsObject.adopt({"name": "ann"})
        socket.serializeAttachment(value)
        value.name = "changed"
        first, second = socket.deserializeAttachment(), socket.deserializeAttachment()
        assert (first.name, second.name) == ("ann", "ann")
        assert first is not second

    def test_without_one_it_is_null(self) -> None:
        socket, _ = WebSocketPair.new()
        assert socket.deserializeAttachment() is jsnull

    def test_undefined_is_a_value_too(self) -> None:
        socket, _ = WebSocketPair.new()
        socket.serializeAttachment(None)
        assert socket.deserializeAttachment() is None

    def test_what_cannot_be_cloned_is_refused_and_the_old_one_kept(self) -> None:
        socket, _ = WebSocketPair.new()
        socket.serializeAttachment("old")
        with pytest.raises(Exception, match="could not be cloned"):
            socket.serializeAttachment(lambda: None)
        assert socket.deserializeAttachment() == "old"
