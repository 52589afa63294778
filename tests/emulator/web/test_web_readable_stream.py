"""ReadableStream: queues, sources, readers, locks, iteration."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextvars import ContextVar
from typing import Any

import pytest

from pyflare.js.buffer import Uint8Array
from pyflare.js.error import Error, JsException
from pyflare.js.readable import ReadableStream
from pyflare.js.strategies import ByteLengthQueuingStrategy, CountQueuingStrategy
from pyflare.js.value import JsObject, jsnull

LOCKED = "TypeError: This ReadableStream is currently locked to a reader."
RELEASED = "TypeError: This ReadableStream reader has been released."


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 5))


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def filled(*chunks: Any) -> ReadableStream:
    def start(controller: Any) -> None:
        for chunk in chunks:
            controller.enqueue(chunk)
        controller.close()

    return ReadableStream.new(start=start)


def u8(data: bytes) -> Any:
    return Uint8Array.from_bytes(data)


@pytest.mark.parametrize("form", ["keywords", "dict", "object", "instance"])
def test_every_form_of_source(form: str) -> None:
    class Source:
        def start(self, controller: Any) -> None:
            controller.enqueue("a")
            controller.close()

    async def main() -> None:
        start = Source().start
        match form:
            case "keywords":
                stream = ReadableStream.new(start=start)
            case "dict":
                stream = ReadableStream.new({"start": start})
            case "object":
                stream = ReadableStream.new(JsObject.adopt({"start": start}))
            case _:
                stream = ReadableStream.new(Source())
        assert [chunk async for chunk in stream] == ["a"]

    run(main())


def test_a_reader_gets_done_and_value() -> None:
    async def main() -> None:
        reader = filled("a").getReader()
        first = await reader.read()
        assert (first.done, first.value) == (False, "a")
        last = await reader.read()
        assert (last.done, last.value) == (True, None)
        assert await reader.closed is None

    run(main())


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_pull_is_asked_to_the_high_water_mark_and_no_further(kind: str) -> None:
    async def main() -> None:
        pulls: list[Any] = []

        def pull(controller: Any) -> None:
            pulls.append(controller.desiredSize)
            controller.enqueue(len(pulls))

        async def async_pull(controller: Any) -> None:
            await asyncio.sleep(0)
            pull(controller)

        source = pull if kind == "sync" else async_pull
        stream = ReadableStream.new({"pull": source}, {"highWaterMark": 3})
        await turns(20)
        assert pulls == [3, 2, 1]
        reader = stream.getReader()
        assert (await reader.read()).value == 1
        await turns(20)
        assert len(pulls) == 4

    run(main())


def test_with_a_mark_of_zero_nothing_is_pulled_before_a_read() -> None:
    async def main() -> None:
        pulls: list[None] = []

        def pull(controller: Any) -> None:
            pulls.append(None)
            controller.enqueue("x")

        stream = ReadableStream.new({"pull": pull}, {"highWaterMark": 0})
        await turns()
        assert pulls == []
        assert (await stream.getReader().read()).value == "x"
        await turns()
        assert len(pulls) == 1

    run(main())


def test_pull_is_not_called_while_one_is_under_way() -> None:
    async def main() -> None:
        running = most = 0

        async def pull(controller: Any) -> None:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await turns(2)
            controller.enqueue("x")
            running -= 1

        reader = ReadableStream.new(pull=pull).getReader()
        await asyncio.gather(*(reader.read() for _ in range(5)))
        assert most == 1

    run(main())


def test_pull_waits_for_an_asynchronous_start() -> None:
    async def main() -> None:
        order: list[str] = []

        async def start(controller: Any) -> None:
            await turns(3)
            order.append("started")

        def pull(controller: Any) -> None:
            order.append("pulled")
            controller.close()

        assert [chunk async for chunk in ReadableStream.new(start=start, pull=pull)] == []
        assert order == ["started", "pulled"]

    run(main())


def test_callbacks_run_with_the_context_of_the_code_that_made_the_stream() -> None:
    variable: ContextVar[str] = ContextVar("variable", default="outside")

    async def make(seen: list[str]) -> ReadableStream:
        variable.set("maker")

        def pull(controller: Any) -> None:
            seen.append(variable.get())
            controller.enqueue("x")

        return ReadableStream.new(
            {"pull": pull, "cancel": lambda reason: seen.append(variable.get())},
            {"highWaterMark": 0},
        )

    async def main() -> None:
        seen: list[str] = []
        stream = await asyncio.create_task(make(seen))
        reader = stream.getReader()
        await reader.read()
        await reader.cancel()
        assert variable.get() == "outside"
        assert seen == ["maker", "maker"]

    run(main())


@pytest.mark.parametrize("error", [Error("broken"), ValueError("broken")])
@pytest.mark.parametrize("place", ["start", "pull"])
def test_an_error_in_an_asynchronous_callback_fails_the_stream(
    error: Exception, place: str
) -> None:
    async def main() -> None:
        async def callback(controller: Any) -> None:
            raise error

        reader = ReadableStream.new({place: callback}).getReader()
        for _ in range(2):
            with pytest.raises(type(error)) as caught:
                await reader.read()
            assert caught.value is error
        with pytest.raises(type(error)):
            await reader.closed

    run(main())


def test_an_error_in_a_synchronous_start_is_raised_by_the_constructor() -> None:
    async def main() -> None:
        def start(controller: Any) -> None:
            raise ValueError("broken")

        with pytest.raises(ValueError, match="broken"):
            ReadableStream.new(start=start)

    run(main())


def test_failing_with_a_text_wraps_it_as_production_does() -> None:
    async def main() -> None:
        stream = ReadableStream.new(start=lambda controller: controller.error("why"))
        with pytest.raises(JsException, match="was thrown as an error!"):
            await stream.getReader().read()

    run(main())


def test_failing_drops_what_is_queued() -> None:
    async def main() -> None:
        controllers: list[Any] = []
        stream = ReadableStream.new(start=controllers.append)
        controllers[0].enqueue("a")
        assert controllers[0].desiredSize == 0
        controllers[0].error(Error("broken"))
        assert controllers[0].desiredSize is jsnull
        with pytest.raises(JsException, match="broken"):
            await stream.getReader().read()

    run(main())


def test_a_closed_stream_takes_no_more() -> None:
    async def main() -> None:
        controllers: list[Any] = []
        ReadableStream.new(start=controllers.append)
        controllers[0].close()
        assert controllers[0].desiredSize == 0
        with pytest.raises(JsException) as caught:
            controllers[0].enqueue("a")
        assert str(caught.value) == "TypeError: Unable to enqueue"
        with pytest.raises(JsException) as caught:
            controllers[0].close()
        assert str(caught.value) == "TypeError: This ReadableStream is closed."

    run(main())


def test_chunks_go_to_waiting_reads_in_order() -> None:
    async def main() -> None:
        controllers: list[Any] = []
        reader = ReadableStream.new(start=controllers.append).getReader()
        reads = [reader.read() for _ in range(3)]
        for chunk in "ab":
            controllers[0].enqueue(chunk)
        controllers[0].close()
        results = [await read for read in reads]
        assert [(result.done, result.value) for result in results] == [
            (False, "a"),
            (False, "b"),
            (True, None),
        ]

    run(main())


def test_a_read_that_was_given_up_loses_no_chunk() -> None:
    async def main() -> None:
        controllers: list[Any] = []
        reader = ReadableStream.new(start=controllers.append).getReader()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.read(), 0.001)
        controllers[0].enqueue("a")
        assert (await reader.read()).value == "a"

    run(main())


def test_one_reader_at_a_time() -> None:
    async def main() -> None:
        stream = filled("a", "b")
        reader = stream.getReader()
        assert stream.locked is True
        for attempt in (stream.getReader, stream.tee, stream.values):
            with pytest.raises(JsException) as caught:
                attempt()
            assert str(caught.value) == LOCKED
        with pytest.raises(JsException) as caught:
            await stream.cancel()
        assert str(caught.value) == LOCKED
        reader.releaseLock()
        assert stream.locked is False
        assert [chunk async for chunk in stream] == ["a", "b"]

    run(main())


def test_releasing_rejects_the_reads_that_wait_and_everything_after() -> None:
    async def main() -> None:
        reader = ReadableStream.new().getReader()
        waiting = reader.read()
        reader.releaseLock()
        for promise in (waiting, reader.read(), reader.closed, reader.cancel()):
            with pytest.raises(JsException) as caught:
                await promise
            assert str(caught.value) == RELEASED

    run(main())


def test_an_unknown_reader_mode_is_refused() -> None:
    async def main() -> None:
        with pytest.raises(JsException) as caught:
            ReadableStream.new().getReader(mode="fast")
        assert (
            str(caught.value)
            == "TypeError: mode must be undefined or 'byob' in call to getReader()."
        )

    run(main())


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_cancelling_tells_the_source_why_and_ends_the_reads_that_wait(kind: str) -> None:
    async def main() -> None:
        reasons: list[Any] = []

        async def later(reason: Any) -> None:
            await asyncio.sleep(0)
            reasons.append(reason)

        stream = ReadableStream.new(cancel=reasons.append if kind == "sync" else later)
        reader = stream.getReader()
        waiting = reader.read()
        assert await reader.cancel("enough") is None
        assert reasons == ["enough"]
        assert (await waiting).done is True
        assert (await reader.read()).done is True
        await reader.cancel("again")
        assert reasons == ["enough"]

    run(main())


def test_an_error_while_cancelling_rejects_the_cancel() -> None:
    async def main() -> None:
        def cancel(reason: Any) -> None:
            raise ValueError("cannot")

        with pytest.raises(ValueError, match="cannot"):
            await ReadableStream.new(cancel=cancel).cancel()

    run(main())


def test_a_callback_that_is_no_function_is_refused() -> None:
    with pytest.raises(
        JsException, match="'pull' property of the underlying source is not a function"
    ):
        ReadableStream.new(pull=5)


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(JsException) as caught:
        ReadableStream.new(type="text")
    assert str(caught.value) == 'TypeError: "text" is not a valid type of ReadableStream.'


@pytest.mark.parametrize("mark", [-1, float("nan"), "many"])
def test_a_high_water_mark_that_is_no_amount_is_refused(mark: Any) -> None:
    with pytest.raises(JsException) as caught:
        ReadableStream.new({}, {"highWaterMark": mark})
    assert caught.value.name == "RangeError"


def test_strategies_measure_the_queue() -> None:
    async def main() -> None:
        controllers: list[Any] = []
        ReadableStream.new(
            {"start": controllers.append}, ByteLengthQueuingStrategy.new(highWaterMark=10)
        )
        controllers[0].enqueue(u8(b"abcd"))
        assert controllers[0].desiredSize == 6
        ReadableStream.new(
            {"start": controllers.append}, CountQueuingStrategy.new(highWaterMark=10)
        )
        controllers[1].enqueue(u8(b"abcd"))
        assert controllers[1].desiredSize == 9

    run(main())


def test_a_size_that_is_no_amount_fails_the_stream() -> None:
    async def main() -> None:
        controllers: list[Any] = []
        strategy = {"highWaterMark": 1, "size": lambda chunk: -1}
        stream = ReadableStream.new({"start": controllers.append}, strategy)
        with pytest.raises(JsException):
            controllers[0].enqueue("a")
        with pytest.raises(JsException) as caught:
            await stream.getReader().read()
        assert caught.value.name == "RangeError"

    run(main())


def test_leaving_an_iteration_early_cancels_unless_prevented() -> None:
    async def main() -> None:
        for prevent, expected in [(False, ["why"]), (True, [])]:
            reasons: list[Any] = []
            stream = ReadableStream.new(
                start=lambda controller: controller.enqueue("a"), cancel=reasons.append
            )
            iterator = stream.values(preventCancel=prevent)
            assert await anext(iterator) == "a"
            await iterator.return_("why")
            assert reasons == expected
            assert stream.locked is False

    run(main())


@pytest.mark.parametrize("kind", ["list", "generator", "async generator"])
def test_from_takes_iterables(kind: str) -> None:
    async def main() -> None:
        async def generate() -> Any:
            for each in (1, 2, 3):
                await asyncio.sleep(0)
                yield each

        source: Any = {
            "list": [1, 2, 3],
            "generator": iter([1, 2, 3]),
            "async generator": generate(),
        }[kind]
        assert [chunk async for chunk in ReadableStream.from_(source)] == [1, 2, 3]

    run(main())


def test_from_refuses_what_cannot_be_iterated() -> None:
    with pytest.raises(JsException):
        ReadableStream.from_(5)


def test_native_streams_allow_one_pending_read() -> None:
    class Slow:
        length = None

        async def read(self) -> bytes:
            await asyncio.sleep(0)
            return b"x"

    async def main() -> None:
        reader = ReadableStream.from_source(Slow()).getReader()
        first, second = reader.read(), reader.read()
        with pytest.raises(JsException) as caught:
            await second
        assert str(caught.value) == (
            "TypeError: This ReadableStream only supports a single pending read request at a time."
        )
        assert (await first).value.to_bytes() == b"x"

    run(main())


def test_an_iterator_behind_a_stream_is_closed_on_cancel() -> None:
    async def main() -> None:
        closed: list[str] = []

        async def generate() -> Any:
            try:
                while True:
                    yield b"x"
            finally:
                closed.append("closed")

        stream = ReadableStream.from_async_iterator(generate())
        reader = stream.getReader()
        await reader.read()
        await reader.cancel()
        assert closed == ["closed"]

    run(main())


def test_owners_read_bytes() -> None:
    async def main() -> None:
        chunks = filled(u8(b"ab"), u8(b""), u8(b"c")).iterate_bytes()
        assert [bytes(chunk) async for chunk in chunks] == [b"ab", b"c"]

    run(main())


def test_the_constructor_is_known_by_name() -> None:
    assert ReadableStream.from_bytes(b"").constructor.name == "ReadableStream"


def test_a_byte_stream_fills_the_readers_buffer() -> None:
    async def main() -> None:
        stream = ReadableStream.new(
            type="bytes",
            start=lambda controller: (controller.enqueue(u8(b"abcde")), controller.close()),
        )
        reader = stream.getReader(mode="byob")
        first = await reader.read(Uint8Array.new(3))
        assert (first.done, first.value.to_bytes()) == (False, b"abc")
        second = await reader.read(Uint8Array.new(3))
        assert (second.done, second.value.to_bytes()) == (False, b"de")
        last = await reader.read(Uint8Array.new(3))
        assert (last.done, last.value.byteLength) == (True, 0)

    run(main())


def test_a_byte_source_can_write_into_the_readers_buffer() -> None:
    async def main() -> None:
        def pull(controller: Any) -> None:
            request = controller.byobRequest
            request.view.set(u8(b"hi"))
            request.respond(2)

        stream = ReadableStream.new(type="bytes", pull=pull)
        result = await stream.getReader(mode="byob").read(Uint8Array.new(8))
        assert result.value.to_bytes() == b"hi"

    run(main())


def test_a_byte_source_with_an_allocated_chunk_size_serves_default_readers() -> None:
    async def main() -> None:
        def pull(controller: Any) -> None:
            controller.byobRequest.view[0] = 7
            controller.byobRequest.respond(1)

        stream = ReadableStream.new(type="bytes", pull=pull, autoAllocateChunkSize=16)
        assert (await stream.getReader().read()).value.to_bytes() == b"\x07"

    run(main())


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "TypeError: The bytesWritten must be more than zero while the stream is open."),
        (9, "RangeError: Too many bytes [9] in response to a BYOB read request."),
    ],
)
def test_a_response_of_an_impossible_size_is_refused(count: int, text: str) -> None:
    async def main() -> None:
        seen: list[str] = []

        def pull(controller: Any) -> None:
            with pytest.raises(JsException) as caught:
                controller.byobRequest.respond(count)
            seen.append(str(caught.value))
            controller.error(Error("stop"))

        stream = ReadableStream.new(type="bytes", pull=pull)
        with pytest.raises(JsException, match="stop"):
            await stream.getReader(mode="byob").read(Uint8Array.new(8))
        assert seen == [text]

    run(main())


def test_a_byob_request_is_over_once_it_was_answered() -> None:
    async def main() -> None:
        requests: list[Any] = []

        def pull(controller: Any) -> None:
            requests.append(controller.byobRequest)
            requests[0].respond(1)

        await (
            ReadableStream.new(type="bytes", pull=pull)
            .getReader(mode="byob")
            .read(Uint8Array.new(1))
        )
        assert requests[0].view is jsnull
        with pytest.raises(JsException) as caught:
            requests[0].respond(1)
        assert (
            str(caught.value) == "TypeError: This ReadableStreamBYOBRequest has been invalidated."
        )

    run(main())


@pytest.mark.parametrize(
    ("chunk", "text"),
    [
        ("text", "takes ArrayBuffers and views"),
        (u8(b""), "Cannot enqueue a zero-length ArrayBuffer."),
    ],
)
def test_byte_streams_take_filled_buffers_only(chunk: Any, text: str) -> None:
    async def main() -> None:
        controllers: list[Any] = []
        ReadableStream.new(type="bytes", start=controllers.append)
        with pytest.raises(JsException, match=text):
            controllers[0].enqueue(chunk)

    run(main())


def test_a_stream_of_values_has_no_byob_reader() -> None:
    with pytest.raises(JsException) as caught:
        ReadableStream.new().getReader(mode="byob")
    assert str(caught.value) == "TypeError: This ReadableStream does not support BYOB reads."


def test_a_native_stream_fills_the_readers_buffer_and_keeps_the_rest() -> None:
    async def main() -> None:
        stream = ReadableStream.from_bytes(b"abcdef")
        reader = stream.getReader(mode="byob")
        assert (await reader.read(Uint8Array.new(4))).value.to_bytes() == b"abcd"
        reader.releaseLock()
        assert [chunk.to_bytes() async for chunk in stream] == [b"ef"]

    run(main())


def test_read_at_least_waits_for_so_many_bytes() -> None:
    async def main() -> None:
        async def chunks() -> Any:
            for each in (b"a", b"b", b"cd"):
                yield each

        reader = ReadableStream.from_async_iterator(chunks()).getReader(mode="byob")
        assert (await reader.readAtLeast(3, Uint8Array.new(8))).value.to_bytes() == b"abcd"

    run(main())


@pytest.mark.parametrize(
    ("least", "text"),
    [
        (0, "Requested invalid minimum number of bytes to read (0)."),
        (9, "Minimum bytes to read (9) exceeds size of buffer (8)."),
    ],
)
def test_an_impossible_minimum_is_refused(least: int, text: str) -> None:
    async def main() -> None:
        reader = ReadableStream.from_bytes(b"abc").getReader(mode="byob")
        with pytest.raises(JsException) as caught:
            await reader.readAtLeast(least, Uint8Array.new(8))
        assert str(caught.value) == f"TypeError: {text}"

    run(main())


def test_a_byob_read_needs_a_buffer() -> None:
    async def main() -> None:
        reader = ReadableStream.from_bytes(b"abc").getReader(mode="byob")
        with pytest.raises(JsException, match='You must call read\\(\\) on a "byob" reader'):
            await reader.read(None)

    run(main())
