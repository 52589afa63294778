"""Streams in both directions: backpressure, clients that go away, bodies that fail half way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from pyflare.js.readable import ReadableStream
from pyflare.js.response import Response
from pyflare.server.application import Application
from pyflare.server.body import RequestBody
from pyflare.server.log import LogSink

from .conftest import Program, hang_up, read_head

GET = b"GET /%s HTTP/1.1\r\nhost: localhost\r\n\r\n"


def streamed(chunks: AsyncIterator[bytes], **options: Any) -> Response:
    return Response.new(ReadableStream.from_async_iterator(chunks, **options))


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop turn until something has happened; the test's own time limit ends a wait in vain."""
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.001)


class TestResponseBodies:
    def test_every_chunk_arrives(self, serving: Any) -> None:
        async def chunks() -> AsyncIterator[bytes]:
            for index in range(50):
                await asyncio.sleep(0)
                yield b"%02d" % index * 1000

        async def go() -> Any:
            async with serving(lambda _: streamed(chunks())) as client:
                return await client.get()

        answer = asyncio.run(go())
        assert answer.get("transfer-encoding") == "chunked"
        assert answer.body == b"".join(b"%02d" % index * 1000 for index in range(50))

    def test_known_length_gives_content_length(self, serving: Any) -> None:
        async def chunks() -> AsyncIterator[bytes]:
            yield b"ab"
            yield b"cd"

        async def go() -> Any:
            async with serving(lambda _: streamed(chunks(), length=4)) as client:
                return await client.get()

        answer = asyncio.run(go())
        assert (answer.get("content-length"), answer.body) == ("4", b"abcd")

    def test_first_chunk_arrives_before_the_second_is_made(self, serving: Any) -> None:
        async def go() -> tuple[bytes, bytes]:
            released = asyncio.Event()

            async def chunks() -> AsyncIterator[bytes]:
                yield b"first"
                await released.wait()
                yield b"second"

            async with serving(lambda _: streamed(chunks())) as client:
                reader, writer = await client.connect()
                writer.write(GET % b"")
                await read_head(reader)
                first = await reader.readexactly(len(b"5\r\nfirst\r\n"))
                released.set()
                return first, await reader.readexactly(len(b"6\r\nsecond\r\n0\r\n\r\n"))

        first, second = asyncio.run(go())
        assert first == b"5\r\nfirst\r\n"
        assert second == b"6\r\nsecond\r\n0\r\n\r\n"

    def test_client_that_does_not_read_holds_the_stream_back(self, serving: Any) -> None:
        async def go() -> int:
            made = 0

            async def chunks() -> AsyncIterator[bytes]:
                nonlocal made
                while True:
                    made += 1
                    yield b"x" * 65536

            async with serving(lambda _: streamed(chunks())) as client:
                _, writer = await client.connect()
                writer.write(GET % b"")
                await writer.drain()
                still = -1
                async with asyncio.timeout(10):
                    while still != made:
                        still = made
                        await asyncio.sleep(0.1)
                await hang_up(writer)
                return made

        # The kernel's buffers and the transport's hold some megabytes; without backpressure this would never end.
        assert asyncio.run(go()) * 65536 < 64 << 20

    def test_stream_is_closed_when_the_client_goes(self, serving: Any) -> None:
        async def go() -> list[str]:
            events: list[str] = []

            async def chunks() -> AsyncIterator[bytes]:
                try:
                    yield b"first"
                    await asyncio.Event().wait()
                finally:
                    events.append("closed")

            async with serving(lambda _: streamed(chunks())) as client:
                reader, writer = await client.connect()
                writer.write(GET % b"")
                await read_head(reader)
                await hang_up(writer)
                await until(lambda: bool(events))
            return events

        assert asyncio.run(go()) == ["closed"]

    def test_failure_after_the_beginning_cuts_the_connection(self, serving: Any) -> None:
        async def chunks() -> AsyncIterator[bytes]:
            yield b"first"
            raise ValueError("half way")

        async def go() -> Any:
            async with serving(lambda _: streamed(chunks())) as client:
                answer = await client.get()
                client.log.flush()
                return answer, client.err.getvalue()

        answer, errors = asyncio.run(go())
        assert (answer.status, answer.complete) == (200, False)
        assert "✘ [ERROR] Uncaught ValueError: half way (in the response body)" in errors

    def test_next_request_works_after_a_cut_connection(self, serving: Any) -> None:
        async def chunks() -> AsyncIterator[bytes]:
            yield b"first"
            raise ValueError("half way")

        def handler(request: Any) -> Response:
            return streamed(chunks()) if request.url.endswith("/bad") else Response.new("fine")

        async def go() -> Any:
            async with serving(handler) as client:
                await client.get("/bad")
                return await client.get("/good")

        assert asyncio.run(go()).text == "fine"

    def test_head_closes_the_stream_unread(self, serving: Any) -> None:
        events: list[str] = []

        async def chunks() -> AsyncIterator[bytes]:
            events.append("read")
            yield b"first"

        async def cancel(_: Any) -> None:
            events.append("cancelled")

        async def go() -> Any:
            async with serving(lambda _: streamed(chunks(), cancel=cancel)) as client:
                return await client.get(method="HEAD")

        assert asyncio.run(go()).body == b""
        assert events == ["cancelled"]


class TestDisconnects:
    def test_handler_that_waits_is_cancelled(self, serving: Any) -> None:
        async def go() -> list[str]:
            events: list[str] = []

            async def handler(_: Any) -> Response:
                events.append("started")
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    events.append("cancelled")
                    raise
                raise AssertionError("nothing sets the event")

            async with serving(handler) as client:
                _, writer = await client.connect()
                writer.write(GET % b"")
                await until(lambda: bool(events))
                await hang_up(writer)
                await until(lambda: len(events) == 2)
            return events

        assert asyncio.run(go()) == ["started", "cancelled"]

    def test_cancelled_request_is_no_error(self, serving: Any) -> None:
        async def go() -> str:
            cancelled = asyncio.Event()

            async def handler(_: Any) -> Response:
                try:
                    return await asyncio.Future[Response]()
                finally:
                    cancelled.set()

            async with serving(handler) as client:
                _, writer = await client.connect()
                writer.write(GET % b"")
                await writer.drain()
                await asyncio.sleep(0.01)
                await hang_up(writer)
                await cancelled.wait()
                client.log.flush()
                return client.err.getvalue()

        assert asyncio.run(go()) == ""

    def test_signal_of_the_request_is_aborted(self, serving: Any) -> None:
        async def go() -> bool:
            requests: list[Any] = []

            async def handler(request: Any) -> Response:
                requests.append(request)
                assert not request.signal.aborted
                return await asyncio.Future[Response]()

            async with serving(handler) as client:
                _, writer = await client.connect()
                writer.write(GET % b"")
                await until(lambda: bool(requests))
                await hang_up(writer)
                await until(lambda: requests[0].signal.aborted)
            return True

        assert asyncio.run(go())

    def test_handler_that_reads_an_unfinished_body_sees_a_lost_connection(
        self, serving: Any
    ) -> None:
        async def go() -> list[str]:
            seen: list[str] = []

            async def handler(request: Any) -> Response:
                seen.append("started")
                try:
                    await request.text()
                except BaseException as error:
                    seen.append(str(error) or type(error).__name__)
                    raise
                raise AssertionError("the body has no end")

            async with serving(handler) as client:
                _, writer = await client.connect()
                writer.write(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nabc")
                await until(lambda: bool(seen))
                await hang_up(writer)
                await until(lambda: len(seen) == 2)
                client.log.flush()
                assert client.err.getvalue() == ""
            return seen

        assert asyncio.run(go())[1] in ("Error: Network connection lost.", "CancelledError")

    def test_handler_that_ends_by_itself_is_not_disturbed_by_a_later_disconnect(
        self, serving: Any
    ) -> None:
        async def go() -> tuple[int, int]:
            async def handler(_: Any) -> Response:
                await asyncio.sleep(0)
                return Response.new("x")

            async with serving(handler) as client:
                before = len(asyncio.all_tasks())
                for _ in range(20):
                    await client.get()
                await until(lambda: len(asyncio.all_tasks()) <= before)
                return before, len(asyncio.all_tasks())

        before, after = asyncio.run(go())
        assert after <= before


class TestNoTaskPerRequest:
    made = 0

    def run(self, handler: Any) -> int:

        async def receive() -> Any:
            await asyncio.sleep(0.01)
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(_: Any) -> None:
            return None

        def counting(loop: Any, coroutine: Any, **options: Any) -> Any:
            self.made += 1
            return asyncio.Task(coroutine, loop=loop, **options)

        async def go() -> int:
            asyncio.get_running_loop().set_task_factory(counting)
            program = Program(handler)
            app = Application(route=lambda _: program, log=LogSink(level="none"))
            scope = {
                "type": "http",
                "method": "GET",
                "path": "/",
                "raw_path": b"/",
                "query_string": b"",
                "headers": [(b"host", b"x")],
            }
            await app(scope, receive, send)
            return self.made

        return asyncio.run(go())

    def test_answer_without_waiting_makes_no_task(self) -> None:
        assert self.run(lambda _: Response.new("x")) == 0

    def test_answer_that_waits_for_a_moment_makes_none_either(self) -> None:
        async def handler(_: Any) -> Response:
            await asyncio.sleep(0)
            return Response.new("x")

        assert self.run(handler) == 0

    def test_answer_that_goes_on_waiting_is_watched_by_one_task(self) -> None:
        async def handler(_: Any) -> Response:
            await until(lambda: self.made > 0)
            await asyncio.sleep(0)
            return Response.new("x")

        assert self.run(handler) == 1


class TestRequestBody:
    """The reader and the watcher share one ``receive``."""

    def receiver(self, *messages: tuple[bytes, bool] | None) -> tuple[Any, list[int]]:
        calls = [0]
        left = list(messages)

        async def receive() -> Any:
            calls[0] += 1
            await asyncio.sleep(0)
            if not left:
                await asyncio.Event().wait()
            message = left.pop(0)
            if message is None:
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": message[0], "more_body": message[1]}

        return receive, calls

    def test_chunks_come_in_order_while_somebody_watches(self) -> None:
        async def go() -> list[bytes]:
            receive, _ = self.receiver((b"a", True), (b"", True), (b"b", True), (b"c", False))
            body = RequestBody(receive, None)
            watcher = asyncio.ensure_future(body.watch())
            chunks = []
            while chunk := await body.read():
                chunks.append(chunk)
            watcher.cancel()
            return chunks

        assert asyncio.run(go()) == [b"a", b"b", b"c"]

    def test_watching_reads_at_most_one_chunk_ahead(self) -> None:
        async def go() -> int:
            receive, calls = self.receiver((b"a", True), (b"b", True), (b"c", False))
            body = RequestBody(receive, None)
            watcher = asyncio.ensure_future(body.watch())
            for _ in range(20):
                await asyncio.sleep(0)
            watcher.cancel()
            return calls[0]

        assert asyncio.run(go()) == 1

    def test_reading_after_the_end_gives_nothing(self) -> None:
        async def go() -> list[bytes]:
            receive, _ = self.receiver((b"a", False))
            body = RequestBody(receive, None)
            return [await body.read() for _ in range(3)]

        assert asyncio.run(go()) == [b"a", b"", b""]

    def test_disconnect_ends_the_watch(self) -> None:
        async def go() -> bool:
            receive, _ = self.receiver((b"", False), None)
            body = RequestBody(receive, None)
            await body.watch()
            return body.disconnected

        assert asyncio.run(go())

    def test_disconnect_before_the_end_fails_the_reader(self) -> None:
        async def go() -> None:
            receive, _ = self.receiver((b"a", True), None)
            body = RequestBody(receive, None)
            await body.read()
            await body.read()

        with pytest.raises(Exception, match="Network connection lost"):
            asyncio.run(go())
