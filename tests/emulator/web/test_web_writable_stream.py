"""WritableStream, its writer, and transform streams."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from pyflare.js.buffer import Uint8Array
from pyflare.js.encoding import TextDecoderStream, TextEncoderStream
from pyflare.js.error import Error, JsException
from pyflare.js.readable import ReadableStream
from pyflare.js.transform import FixedLengthStream, IdentityTransformStream, TransformStream
from pyflare.js.value import jsnull
from pyflare.js.writable import WritableStream


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 5))


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def refusal(awaitable: Any) -> str:
    with pytest.raises(JsException) as caught:
        await awaitable
    return str(caught.value)


def u8(data: bytes) -> Any:
    return Uint8Array.from_bytes(data)


class Recorder:
    """A sink that writes down what it is told."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    async def write(self, chunk: Any, controller: Any) -> None:
        await asyncio.sleep(0)
        self.calls.append(chunk)

    def close(self) -> None:
        self.calls.append("closed")

    def abort(self, reason: Any) -> None:
        self.calls.append(("aborted", reason))


def test_writes_reach_the_sink_in_order_and_then_the_close() -> None:
    async def main() -> None:
        sink = Recorder()
        writer = WritableStream.new(sink).getWriter()
        writes = [writer.write(chunk) for chunk in "abc"]
        await writer.close()
        assert all(write.done() for write in writes)
        assert sink.calls == ["a", "b", "c", "closed"]
        assert await writer.closed is None
        assert writer.desiredSize == 0

    run(main())


def test_ready_and_desired_size_follow_the_queue() -> None:
    async def main() -> None:
        gate = asyncio.Event()

        async def write(chunk: Any, controller: Any) -> None:
            await gate.wait()

        writer = WritableStream.new({"write": write}, {"highWaterMark": 2}).getWriter()
        assert (writer.desiredSize, writer.ready.done()) == (2, True)
        writer.write("a")
        last = writer.write("b")
        assert (writer.desiredSize, writer.ready.done()) == (0, False)
        ready = writer.ready
        gate.set()
        await last
        assert (writer.desiredSize, ready.done()) == (2, True)

    run(main())


def test_a_failed_write_fails_the_stream() -> None:
    async def main() -> None:
        def write(chunk: Any, controller: Any) -> None:
            raise ValueError("disk full")

        writer = WritableStream.new(write=write).getWriter()
        first, second = writer.write("a"), writer.write("b")
        for promise in (first, second, writer.closed, writer.write("c")):
            with pytest.raises(ValueError, match="disk full"):
                await promise
        assert writer.desiredSize is jsnull

    run(main())


def test_the_controller_can_fail_the_stream() -> None:
    async def main() -> None:
        controllers: list[Any] = []
        writer = WritableStream.new(start=controllers.append).getWriter()
        controllers[0].error(Error("broken"))
        assert await refusal(writer.write("a")) == "Error: broken"

    run(main())


def test_aborting_rejects_what_is_queued_and_tells_the_sink_why() -> None:
    async def main() -> None:
        sink = Recorder()
        writer = WritableStream.new(sink).getWriter()
        first, second = writer.write("a"), writer.write("b")
        reason = Error("enough")
        await writer.abort(reason)
        assert await first is None
        assert await refusal(second) == "Error: enough"
        assert sink.calls == ["a", ("aborted", reason)]

    run(main())


def test_the_signal_of_the_controller_aborts_at_once() -> None:
    async def main() -> None:
        seen: list[Any] = []
        gate = asyncio.Event()

        async def write(chunk: Any, controller: Any) -> None:
            seen.append(controller.signal)
            await gate.wait()

        writer = WritableStream.new(write=write).getWriter()
        writer.write("a")
        await turns()
        aborting = writer.abort("stop")
        assert (seen[0].aborted, seen[0].reason) == (True, "stop")
        gate.set()
        await aborting

    run(main())


def test_a_closed_stream_takes_no_more() -> None:
    async def main() -> None:
        stream = WritableStream.new()
        writer = stream.getWriter()
        closing = writer.close()
        assert (
            await refusal(writer.close())
            == "TypeError: Cannot close a writer that is already being closed"
        )
        assert await refusal(writer.write("a")) == "TypeError: This WritableStream has been closed."
        await closing
        assert await refusal(writer.write("a")) == "TypeError: This WritableStream has been closed."
        assert await writer.abort() is None

    run(main())


def test_one_writer_at_a_time() -> None:
    async def main() -> None:
        stream = WritableStream.new()
        writer = stream.getWriter()
        locked = "TypeError: This WritableStream is currently locked to a writer."
        with pytest.raises(JsException) as caught:
            stream.getWriter()
        assert str(caught.value) == locked
        assert await refusal(stream.abort()) == locked
        assert await refusal(stream.close()) == locked
        ready = writer.ready
        writer.releaseLock()
        assert ready.done()
        released = "TypeError: This WritableStream writer has been released."
        for promise in (
            writer.write("a"),
            writer.close(),
            writer.abort(),
            writer.ready,
            writer.closed,
        ):
            assert await refusal(promise) == released
        with pytest.raises(JsException):
            writer.desiredSize  # noqa: B018
        assert stream.locked is False

    run(main())


def test_writes_wait_for_an_asynchronous_start() -> None:
    async def main() -> None:
        order: list[str] = []

        async def start(controller: Any) -> None:
            await turns(3)
            order.append("started")

        writer = WritableStream.new(
            start=start, write=lambda chunk, controller: order.append(chunk)
        ).getWriter()
        await writer.write("a")
        assert order == ["started", "a"]

    run(main())


def test_an_error_in_an_asynchronous_start_fails_the_stream() -> None:
    async def main() -> None:
        async def start(controller: Any) -> None:
            raise ValueError("cannot")

        writer = WritableStream.new(start=start).getWriter()
        with pytest.raises(ValueError, match="cannot"):
            await writer.closed

    run(main())


def test_a_sink_with_a_type_is_refused() -> None:
    with pytest.raises(JsException) as caught:
        WritableStream.new(type="bytes")
    assert str(caught.value) == "TypeError: Invalid underlying sink type. Only undefined is valid."


def test_a_write_to_a_plain_transform_is_over_when_it_is_read() -> None:
    async def main() -> None:
        transform = TransformStream.new()
        writer, reader = transform.writable.getWriter(), transform.readable.getReader()
        write = writer.write("a")
        await turns(10)
        assert write.done() is False
        assert writer.desiredSize == 0
        assert (await reader.read()).value == "a"
        await write
        read = reader.read()
        await writer.write("b")
        assert (await read).value == "b"
        await writer.close()
        assert (await reader.read()).done is True

    run(main())


def test_closing_waits_for_the_chunks_before_it() -> None:
    async def main() -> None:
        transform = TransformStream.new()
        writer, reader = transform.writable.getWriter(), transform.readable.getReader()
        writer.write("a")
        closing = writer.close()
        await turns(10)
        assert closing.done() is False
        assert (await reader.read()).value == "a"
        await closing

    run(main())


@pytest.mark.parametrize("make", [TransformStream.new, IdentityTransformStream.new])
def test_aborting_the_writer_fails_the_reader(make: Any) -> None:
    async def main() -> None:
        transform = make()
        writer, reader = transform.writable.getWriter(), transform.readable.getReader()
        read = reader.read()
        await writer.abort(Error("enough"))
        assert await refusal(read) == "Error: enough"

    run(main())


@pytest.mark.parametrize(
    "make", [TransformStream.new, lambda: TransformStream.new({}), IdentityTransformStream.new]
)
def test_cancelling_the_reader_fails_the_writer(make: Any) -> None:
    async def main() -> None:
        transform = make()
        writer = transform.writable.getWriter()
        write = writer.write(u8(b"a"))
        await transform.readable.cancel(Error("enough"))
        assert await refusal(write) == "Error: enough"
        assert await refusal(writer.write(u8(b"b"))) == "Error: enough"

    run(main())


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_transformer_maps_splits_drops_and_flushes(kind: str) -> None:
    async def main() -> None:
        def transform(chunk: int, controller: Any) -> None:
            for _ in range(chunk):
                controller.enqueue(chunk)

        async def async_transform(chunk: int, controller: Any) -> None:
            await asyncio.sleep(0)
            transform(chunk, controller)

        stream = TransformStream.new(
            start=lambda controller: controller.enqueue("start"),
            transform=transform if kind == "sync" else async_transform,
            flush=lambda controller: controller.enqueue("end"),
        )
        result = ReadableStream.from_([1, 0, 2]).pipeThrough(stream)
        assert [chunk async for chunk in result] == ["start", 1, 2, 2, "end"]

    run(main())


def test_a_transformer_keeps_the_readers_pace() -> None:
    async def main() -> None:
        seen: list[int] = []

        def transform(chunk: int, controller: Any) -> None:
            seen.append(chunk)
            controller.enqueue(chunk)

        stream = TransformStream.new(transform=transform)
        writer, reader = stream.writable.getWriter(), stream.readable.getReader()
        for number in range(5):
            writer.write(number)
        await turns(20)
        assert seen == []
        for number in range(5):
            assert (await reader.read()).value == number
            await turns(20)
            assert len(seen) <= number + 2

    run(main())


def test_an_error_in_the_transformer_fails_both_sides() -> None:
    async def main() -> None:
        def transform(chunk: Any, controller: Any) -> None:
            raise ValueError("cannot")

        stream = TransformStream.new(transform=transform)
        writer, reader = stream.writable.getWriter(), stream.readable.getReader()
        read = reader.read()
        for promise in (writer.write("a"), read, writer.closed):
            with pytest.raises(ValueError, match="cannot"):
                await promise

    run(main())


def test_terminating_closes_the_reader_and_fails_the_writer() -> None:
    async def main() -> None:
        stream = TransformStream.new(transform=lambda chunk, controller: controller.terminate())
        writer, reader = stream.writable.getWriter(), stream.readable.getReader()
        read = reader.read()
        await writer.write("a")
        assert (await read).done is True
        assert (
            await refusal(writer.write("b"))
            == "TypeError: The transform stream has been terminated"
        )

    run(main())


def test_the_controller_refuses_chunks_once_the_readable_side_is_over() -> None:
    async def main() -> None:
        controllers: list[Any] = []
        TransformStream.new(start=controllers.append)
        controllers[0].terminate()
        with pytest.raises(JsException) as caught:
            controllers[0].enqueue("a")
        assert str(caught.value) == (
            "TypeError: The readable side of this TransformStream is no longer readable."
        )

    run(main())


def test_a_transformer_is_told_of_cancellation() -> None:
    async def main() -> None:
        reasons: list[Any] = []
        stream = TransformStream.new(cancel=reasons.append)
        await stream.readable.cancel("enough")
        assert reasons == ["enough"]

    run(main())


@pytest.mark.parametrize("member", ["readableType", "writableType"])
def test_reserved_members_of_a_transformer_are_refused(member: str) -> None:
    with pytest.raises(JsException, match=f"transformer.{member} must be undefined"):
        TransformStream.new({member: "bytes"})


def test_an_identity_stream_carries_bytes() -> None:
    async def main() -> None:
        stream = IdentityTransformStream.new()
        writer, reader = stream.writable.getWriter(), stream.readable.getReader()
        data = u8(b"ab")
        writer.write(data)
        data[0] = 0x7A
        assert (await reader.read()).value.to_bytes() == b"ab"
        writer.write("é")
        assert (await reader.read()).value.to_bytes() == "é".encode()
        assert await writer.write(u8(b"")) is None
        assert await refusal(writer.write(5)) == (
            "TypeError: This TransformStream is being used as a byte stream, but received an object of "
            "non-ArrayBuffer/ArrayBufferView type on its writable side."
        )

    run(main())


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (b"ab", "TypeError: FixedLengthStream did not see all expected bytes before close()."),
        (b"abcd", "TypeError: Attempt to write too many bytes through a FixedLengthStream."),
    ],
)
def test_a_fixed_length_stream_insists_on_its_length(written: bytes, text: str) -> None:
    async def main() -> None:
        stream = FixedLengthStream.new(3)
        writer = stream.writable.getWriter()

        async def produce() -> None:
            await writer.write(u8(written))
            await writer.close()

        producing = asyncio.ensure_future(produce())
        reader = stream.readable.getReader()
        first = await reader.read() if len(written) < 3 else None
        assert first is None or first.value.to_bytes() == written
        assert await refusal(reader.read()) == text
        if len(written) > 3:
            assert await refusal(producing) == text
        else:
            await producing

    run(main())


@pytest.mark.parametrize(("length", "known"), [(0, 0), ("0", 0), ("12", 12), (3.0, 3), (jsnull, 0)])
def test_the_length_of_a_fixed_length_stream_is_made_a_number(length: Any, known: int) -> None:
    assert FixedLengthStream.new(length).readable.known_length == known


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (
            None,
            "Failed to construct 'FixedLengthStream': constructor parameter 1 is not of type 'bigint'.",
        ),
        ("x", "The value cannot be converted because it is not an integer."),
        (1.5, "The value cannot be converted because it is not an integer."),
        (float("inf"), "The value cannot be converted because it is not an integer."),
        (
            -1,
            "The value cannot be converted because it is negative and this API expects a positive bigint.",
        ),
        (2**53, "FixedLengthStream requires an integer expected length less than 2^53."),
    ],
)
def test_a_fixed_length_stream_needs_a_length(length: Any, text: str) -> None:
    with pytest.raises(JsException) as caught:
        FixedLengthStream.new(length)
    assert str(caught.value) == f"TypeError: {text}"


def test_text_goes_through_bytes_and_back_however_it_is_cut() -> None:
    async def main() -> None:
        text = "a☃😀é"
        for cut in range(len(text) + 1):
            source = ReadableStream.from_([text[:cut], text[cut:]])
            whole = source.pipeThrough(TextEncoderStream.new()).pipeThrough(TextDecoderStream.new())
            assert "".join([chunk async for chunk in whole]) == text

    run(main())


def test_bytes_cut_inside_a_character_are_decoded_whole() -> None:
    async def main() -> None:
        data = "a☃😀é".encode()
        for cut in range(len(data) + 1):
            source = ReadableStream.from_([u8(data[:cut]), u8(data[cut:])])
            decoded = source.pipeThrough(TextDecoderStream.new())
            assert "".join([chunk async for chunk in decoded]) == "a☃😀é"

    run(main())


def test_a_fatal_decoder_fails_the_stream() -> None:
    async def main() -> None:
        decoded = ReadableStream.from_([u8(b"\xff")]).pipeThrough(
            TextDecoderStream.new("utf-8", {"fatal": True})
        )
        assert await refusal(decoded.getReader().read()) == "TypeError: Failed to decode input."

    run(main())


def test_a_split_surrogate_pair_is_joined_by_the_encoder() -> None:
    async def main() -> None:
        encoded = ReadableStream.from_(["\ud83d", "\ude00", "\ud83d"]).pipeThrough(
            TextEncoderStream.new()
        )
        assert b"".join([chunk.to_bytes() async for chunk in encoded]) == "😀\ufffd".encode()

    run(main())
