"""What the server of `pyflare dev` does with handshakes and frames that no proper client sends."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import struct
from typing import Any

import pytest

from pyflare.js import websocket_wire
from pyflare.js.response import Response
from pyflare.js.websocket_pair import WebSocketPair
from pyflare.js.websocket_wire import LARGEST_MESSAGE

from .websocket_hosts import (
    EARLY,
    accepting,
    close_data,
    frame,
    handshake,
    hosted,
    read_frame,
    run,
)

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


def exchange(*frames: bytes, count: int = 1, listen: Any = None) -> tuple[list[Any], list[Any]]:
    """Sends frames, reads `count` frames. Gives what came back and what the worker has heard."""
    handler, heard = accepting(listen)

    async def test() -> list[Any]:
        async with hosted(handler) as host:
            reader, writer, _ = await host.upgraded()
            writer.write(b"".join(frames))
            got = [await read_frame(reader) for _ in range(count)]
            writer.close()
            await writer.wait_closed()
            return got

    return run(test), heard


def answer_to(request: bytes) -> tuple[int, bytes]:
    """Status and body of the answer to a handshake, by a worker that always gives a socket."""
    handler, _ = accepting()

    async def test() -> tuple[int, bytes]:
        async with hosted(handler) as host:
            reader, writer = await host.raw(request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = [line for line in head.split(b"\r\n") if line.startswith(b"content-length:")]
            body = await reader.readexactly(int(length[0].split()[1])) if length else b""
            writer.close()
            return int(head.split()[1]), body

    return run(test)


class TestHandshake:
    def test_the_answer_proves_that_the_key_was_read(self) -> None:
        handler, _ = accepting()

        async def test() -> bytes:
            async with hosted(handler) as host:
                _, writer, head = await host.upgraded(sec_websocket_key="dGhlIHNhbXBsZSBub25jZQ==")
                writer.close()
                return head

        assert b"sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n" in run(test)

    @pytest.mark.parametrize(
        "changes",
        [
            {"connection": "keep-alive, upgrade"},
            {"upgrade": "WebSocket"},
            {"sec_websocket_extensions": "permessage-deflate"},
        ],
        ids=str,
    )
    def test_forms_that_are_fine(self, changes: dict[str, str]) -> None:
        assert answer_to(handshake(**changes))[0] == 101

    @pytest.mark.parametrize(
        ("changes", "missing"),
        [
            ({"sec_websocket_key": None}, '"Sec-WebSocket-Key" has to be 16 bytes in base64'),
            ({"sec_websocket_key": "c2hvcnQ="}, '"Sec-WebSocket-Key" has to be 16 bytes in base64'),
            ({"sec_websocket_key": "*"}, '"Sec-WebSocket-Key" has to be 16 bytes in base64'),
            ({"sec_websocket_version": "8"}, '"Sec-WebSocket-Version" has to be 13'),
            ({"sec_websocket_version": None}, '"Sec-WebSocket-Version" has to be 13'),
            ({"connection": None}, '"Connection: Upgrade" is missing'),
            ({"method": "POST", "content_length": "0"}, "the method has to be GET"),
        ],
        ids=str,
    )
    def test_what_is_missing_is_named(self, changes: Any, missing: str) -> None:
        status, body = answer_to(handshake(**changes))
        assert (status, body.decode()) == (400, f"This is no WebSocket handshake: {missing}.")

    def test_a_request_without_upgrade_cannot_be_answered_with_a_socket(self) -> None:
        status, body = answer_to(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        assert status == 500
        assert (
            body.decode()
            .strip()
            .endswith(
                "TypeError: Worker tried to return a WebSocket in a response to a request which did "
                'not contain the header "Upgrade: websocket".'
            )
        )

    def test_a_worker_may_answer_an_incomplete_handshake_as_it_likes(self) -> None:
        async def test() -> bytes:
            async with hosted(lambda _: Response.new("fine", status=426)) as host:
                reader, writer = await host.raw(handshake(sec_websocket_key=None))
                head = await reader.readuntil(b"\r\n\r\n")
                writer.close()
                return head

        assert run(test).startswith(b"HTTP/1.1 426 ")

    def test_frames_that_come_before_the_answer_wait_for_it(self) -> None:
        go = asyncio.Event()
        handler, _ = accepting()

        async def late(request: Any) -> Response:
            await go.wait()
            return handler(request)

        async def test() -> Any:
            async with hosted(late) as host:
                reader, writer = await host.raw(handshake())
                while not host.program.running:
                    await asyncio.sleep(0.001)
                writer.write(frame(TEXT, b"hasty"))
                (connection,) = host.server.server_state.connections
                while not connection._early:
                    await asyncio.sleep(0.001)
                go.set()
                await reader.readuntil(b"\r\n\r\n")
                got = await read_frame(reader)
                writer.close()
                return got

        assert run(test) == (TEXT, b"hasty")

    def test_a_flood_before_the_answer_ends_the_connection(self) -> None:
        async def never(_: Any) -> Response:
            await asyncio.Event().wait()
            return Response.new("not reached")

        async def test() -> None:
            async with hosted(never) as host:
                reader, writer = await host.raw(handshake())
                while not host.program.running:
                    await asyncio.sleep(0.001)
                writer.write(bytes(1_000_000))
                with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                    await reader.readexactly(1)

        run(test)

    def test_a_server_that_stops_before_the_answer_says_503(self) -> None:
        async def never(_: Any) -> Response:
            await asyncio.Event().wait()
            return Response.new("not reached")

        async def test() -> bytes:
            async with hosted(never) as host:
                reader, _writer = await host.raw(handshake())
                while not host.program.running:
                    await asyncio.sleep(0.001)
                await host.server.shutdown()
                return await reader.read()

        assert run(test).startswith(b"HTTP/1.1 503 ")


class TestFrames:
    def test_a_ping_between_fragments_is_answered_at_once(self) -> None:
        got, heard = exchange(
            frame(TEXT, b"one ", fin=False),
            frame(PING, b"?"),
            frame(0, b"message"),
            count=2,
        )
        assert got == [(PONG, b"?"), (TEXT, b"one message")]
        assert heard[0] == "one message"

    def test_an_unasked_pong_is_nothing(self) -> None:
        got, _ = exchange(frame(PONG, b"!"), frame(TEXT, b"a"))
        assert got == [(TEXT, b"a")]

    @pytest.mark.parametrize(
        ("data", "code"),
        [
            (frame(TEXT, b"a", mask=False), 1002),
            (frame(3, b"a"), 1002),
            (frame(0, b"a"), 1002),
            (frame(PING, b"a" * 126), 1002),
            (frame(PING, b"a", fin=False), 1002),
            (frame(TEXT, b"a", fin=False) + frame(TEXT, b"b"), 1002),
            (frame(TEXT, b"\xff"), 1007),
            (frame(CLOSE, b"\3"), 1002),
        ],
        ids=[
            "unmasked",
            "unknown opcode",
            "continuation of nothing",
            "large ping",
            "ping in fragments",
            "text within text",
            "no text",
            "close of one byte",
        ],
    )
    def test_what_breaks_the_protocol_is_told_to_both_sides(self, data: bytes, code: int) -> None:
        got, heard = exchange(data)
        ((opcode, payload),) = got
        assert (opcode, *struct.unpack("!H", payload[:2])) == (CLOSE, code)
        assert heard[0].startswith("Uncaught Error: ")
        assert heard[1] == (1006, "", False)

    def test_who_breaks_the_protocol_and_stays_is_cut_off(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(websocket_wire, "_DROP_SECONDS", 0.01)
        handler, _ = accepting()

        async def test() -> None:
            async with hosted(handler) as host:
                reader, writer, _ = await host.upgraded()
                writer.write(frame(3, b"a"))
                assert (await read_frame(reader))[0] == CLOSE
                assert await reader.read() == b""

        run(test)

    def test_who_breaks_the_protocol_may_finish_sending_for_a_time_only(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(websocket_wire, "_DROP_SECONDS", 0.02)
        monkeypatch.setattr(websocket_wire, "_CLOSE_SECONDS", 0.1)
        handler, _ = accepting()

        async def test() -> float:
            async with hosted(handler) as host:
                reader, writer, _ = await host.upgraded()
                writer.write(frame(3, b"a"))
                began = asyncio.get_running_loop().time()
                with contextlib.suppress(ConnectionError):
                    while not reader.at_eof():
                        writer.write(b"more")
                        with contextlib.suppress(TimeoutError):
                            async with asyncio.timeout(0.005):
                                await reader.read(1)
                return asyncio.get_running_loop().time() - began

        assert 0.09 <= run(test) < 5

    def test_a_message_that_is_too_large(self) -> None:
        head = struct.pack("!BBQ", 0x82, 0xFF, LARGEST_MESSAGE + 1) + b"\1\2\3\4"
        got, heard = exchange(head)
        text = "Message is too large: 33554433 > 33554432"
        assert got == [(CLOSE, close_data(1009, text))]
        assert heard == [f"Uncaught Error: {text}", (1006, "", False)]

    def test_fragments_count_together(self) -> None:
        first = frame(BINARY, b"abc", fin=False)
        head = struct.pack("!BBQ", 0x80, 0xFF, LARGEST_MESSAGE) + b"\1\2\3\4"
        got, _ = exchange(first, head)
        text = "Message is too large: 33554435 > 33554432"
        assert got == [(CLOSE, close_data(1009, text))]

    def test_the_largest_message_passes(self) -> None:
        handler, heard = accepting(lambda server, event: server.send("thanks"))

        async def test() -> None:
            async with hosted(handler) as host, host.connect() as client:
                await client.send(bytes(LARGEST_MESSAGE))
                assert await client.recv() == "thanks"

        run(test)
        assert heard[0].byteLength == LARGEST_MESSAGE

    def test_pings_of_a_client_that_reads_nothing_do_not_pile_up(self) -> None:
        handler, _ = accepting()

        async def test() -> int:
            async with hosted(handler) as host:
                _, writer, _ = await host.upgraded()
                sent = 0
                piece = frame(PING, bytes(125)) * 1000
                try:
                    async with asyncio.timeout(1):
                        while True:
                            writer.write(piece)
                            await writer.drain()
                            sent += len(piece)
                except TimeoutError:
                    pass
                (connection,) = host.server.server_state.connections
                held = connection.transport.get_write_buffer_size()
                writer.transport.abort()
                # A client that has gone is noticed when the connection is read or written again.
                connection.transport.abort()
                return int(held)

        assert run(test) < 1_000_000


class TestClosing:
    def test_a_close_without_status_is_1005_and_is_answered_in_kind(self) -> None:
        got, heard = exchange(frame(CLOSE))
        assert got == [(CLOSE, b"")]
        assert heard == [(1005, "", True)]

    def test_the_worker_may_close_without_a_status(self) -> None:
        got, _ = exchange(
            frame(TEXT, b"go"),
            frame(CLOSE),
            listen=lambda server, event: server.close(),
        )
        assert got == [(CLOSE, b"")]

    def test_codes_that_only_the_platform_knows_go_out(self) -> None:
        got, _ = exchange(
            frame(TEXT, b"go"), listen=lambda server, event: server.close(2999, "own")
        )
        assert got == [(CLOSE, close_data(2999, "own"))]

    def test_a_reason_that_no_frame_holds_is_cut_between_characters(self) -> None:
        got, _ = exchange(
            frame(TEXT, b"go"), listen=lambda server, event: server.close(1000, "€" * 50)
        )
        assert got == [(CLOSE, close_data(1000, "€" * 41))]

    def test_by_an_early_date_the_worker_speaks_on_and_gives_the_answer(self) -> None:
        def handler(_: Any) -> Response:
            client, server = WebSocketPair.new()
            server.accept()

            def closed(event: Any) -> None:
                server.send(f"you said {event.code}, I am {server.readyState}")
                server.close(4002, "so I leave too")

            server.addEventListener("close", closed)
            return Response.new(None, status=101, webSocket=client)

        async def test() -> list[Any]:
            async with hosted(handler, rules=EARLY) as host:
                reader, writer, _ = await host.upgraded()
                writer.write(frame(CLOSE, close_data(4001)))
                got = [await read_frame(reader), await read_frame(reader)]
                assert await reader.read() == b""
                return got

        assert run(test) == [
            (TEXT, b"you said 4001, I am 2"),
            (CLOSE, close_data(4002, "so I leave too")),
        ]

    def test_by_an_early_date_a_client_that_gets_no_answer_leaves_by_itself(self) -> None:
        handler, heard = accepting()

        async def test() -> None:
            async with hosted(handler, rules=EARLY) as host:
                _, writer, _ = await host.upgraded()
                writer.write(frame(CLOSE, close_data(4001)))
                while not heard:
                    await asyncio.sleep(0.001)
                assert host.program.running == 1
                writer.close()
                await host.idle()

        run(test)
        assert heard == [(4001, "", True)]

    def test_what_comes_after_a_close_is_ignored(self) -> None:
        got, heard = exchange(frame(CLOSE, close_data(1000)), frame(TEXT, b"late"))
        assert got == [(CLOSE, close_data(1000))]
        assert heard == [(1000, "", True)]

    def test_what_a_client_still_sends_after_the_workers_close_arrives(self) -> None:
        handler, heard = accepting(lambda server, event: server.close(1000))

        async def test() -> None:
            async with hosted(handler) as host:
                reader, writer, _ = await host.upgraded()
                writer.write(frame(TEXT, b"go"))
                assert (await read_frame(reader))[0] == CLOSE
                writer.write(frame(TEXT, b"was under way") + frame(CLOSE, close_data(1000)))
                assert await reader.read() == b""

        run(test)
        assert heard == ["go", "was under way", (1000, "", True)]

    def test_a_client_that_does_not_answer_a_close_is_cut_off(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(websocket_wire, "_CLOSE_SECONDS", 0.01)
        handler, heard = accepting(lambda server, event: server.close(1000))

        async def test() -> None:
            async with hosted(handler) as host:
                reader, writer, _ = await host.upgraded()
                writer.write(frame(TEXT, b"go"))
                assert (await read_frame(reader))[0] == CLOSE
                assert await reader.read() == b""

        run(test)
        text = "WebSocket disconnected without sending Close frame."
        assert heard == ["go", (1006, text, False)]

    def test_half_a_frame_and_then_nothing_is_1006(self) -> None:
        handler, heard = accepting()

        async def test() -> None:
            async with hosted(handler) as host:
                _, writer, _ = await host.upgraded()
                writer.write(frame(TEXT, b"whole")[:-2])
                writer.close()
                await writer.wait_closed()

        run(test)
        assert [event[0] for event in heard] == [1006]


def test_no_logger_is_told_of_frames(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    exchange(frame(PING, b"secret"))

    assert "secret" not in caplog.text
    assert not [record for record in caplog.records if record.name.startswith("websockets")]
