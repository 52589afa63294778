"""tee, pipeTo and pipeThrough."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from pyflare.js import tee as tee_module
from pyflare.js.abort import AbortController, AbortSignal
from pyflare.js.buffer import Uint8Array
from pyflare.js.error import Error, JsException
from pyflare.js.readable import ReadableStream
from pyflare.js.transform import TransformStream
from pyflare.js.writable import WritableStream


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 5))


async def turns(count: int = 10) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def rest(stream: ReadableStream) -> list[Any]:
    return [chunk async for chunk in stream]


def collector(chunks: list[Any]) -> WritableStream:
    return WritableStream.new(  # type: ignore[no-any-return]
        write=lambda chunk, controller: chunks.append(chunk),
        close=lambda: chunks.append("closed"),
        abort=lambda reason: chunks.append(("aborted", reason)),
    )


def test_both_branches_have_everything_read_together_or_one_after_the_other() -> None:
    async def main() -> None:
        left, right = ReadableStream.from_([1, 2, 3]).tee()
        assert await asyncio.gather(rest(left), rest(right)) == [[1, 2, 3], [1, 2, 3]]
        left, right = ReadableStream.from_([1, 2, 3]).tee()
        assert await rest(right) == [1, 2, 3]
        assert await rest(left) == [1, 2, 3]

    run(main())


def test_the_source_is_not_read_before_a_branch_is() -> None:
    async def main() -> None:
        pulls: list[None] = []

        def pull(controller: Any) -> None:
            pulls.append(None)
            controller.enqueue("x")

        left, right = ReadableStream.new({"pull": pull}, {"highWaterMark": 0}).tee()
        await turns()
        assert pulls == []
        await left.getReader().read()
        await turns()
        assert len(pulls) == 1
        assert (await right.getReader().read()).value == "x"
        assert len(pulls) == 1

    run(main())


def test_an_error_reaches_both_branches() -> None:
    async def main() -> None:
        async def pull(controller: Any) -> None:
            raise ValueError("broken")

        left, right = ReadableStream.new(pull=pull).tee()
        for branch in (left, right):
            with pytest.raises(ValueError, match="broken"):
                await rest(branch)

    run(main())


def test_one_branch_can_be_cancelled_while_the_other_goes_on() -> None:
    async def main() -> None:
        reasons: list[Any] = []
        source = ReadableStream.new(
            {
                "start": lambda controller: [controller.enqueue(each) for each in (1, 2)] and None,
                "cancel": lambda reason: reasons.append(list(reason)),
            }
        )
        left, right = source.tee()
        await left.cancel("left")
        assert reasons == []
        reader = right.getReader()
        assert (await reader.read()).value == 1
        await reader.cancel("right")
        assert reasons == [["left", "right"]]

    run(main())


def test_a_branch_that_falls_too_far_behind_fails_instead_of_filling_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tee_module, "BUFFER_LIMIT", 10)

    async def main() -> None:
        left, _right = ReadableStream.from_([Uint8Array.from_bytes(b"12345")] * 4).tee()
        with pytest.raises(JsException, match="buffer limit exceeded"):
            await rest(left)

    run(main())


def test_known_content_is_shared_by_the_branches() -> None:
    async def main() -> None:
        left, right = ReadableStream.from_bytes(b"abc").tee()
        assert [chunk.to_bytes() for chunk in await rest(left)] == [b"abc"]
        assert right.unread_content() == b"abc"

    run(main())


def test_a_pipe_moves_everything_and_closes() -> None:
    async def main() -> None:
        chunks: list[Any] = []
        source, destination = ReadableStream.from_([1, 2, 3]), collector(chunks)
        piping = source.pipeTo(destination)
        assert source.locked
        assert destination.locked
        await piping
        assert chunks == [1, 2, 3, "closed"]
        assert not source.locked
        assert not destination.locked

    run(main())


def test_prevent_close_leaves_the_destination_open() -> None:
    async def main() -> None:
        chunks: list[Any] = []
        destination = collector(chunks)
        await ReadableStream.from_([1]).pipeTo(destination, preventClose=True)
        await ReadableStream.from_([2]).pipeTo(destination, {"preventClose": False})
        assert chunks == [1, 2, "closed"]

    run(main())


@pytest.mark.parametrize("prevent", [False, True])
def test_a_failing_source_aborts_the_destination_unless_prevented(prevent: bool) -> None:
    async def main() -> None:
        async def broken() -> Any:
            yield 1
            raise ValueError("broken")

        chunks: list[Any] = []
        with pytest.raises(ValueError, match="broken"):
            await ReadableStream.from_(broken()).pipeTo(collector(chunks), preventAbort=prevent)
        assert [chunk if chunk == 1 else chunk[0] for chunk in chunks] == (
            [1] if prevent else [1, "aborted"]
        )

    run(main())


@pytest.mark.parametrize("prevent", [False, True])
def test_a_failing_destination_cancels_the_source_unless_prevented(prevent: bool) -> None:
    async def main() -> None:
        reasons: list[Any] = []

        def write(chunk: Any, controller: Any) -> None:
            raise ValueError("full")

        source = ReadableStream.new(
            pull=lambda controller: controller.enqueue("x"), cancel=reasons.append
        )
        with pytest.raises(ValueError, match="full"):
            await source.pipeTo(WritableStream.new(write=write), preventCancel=prevent)
        assert len(reasons) == (0 if prevent else 1)

    run(main())


def test_a_destination_that_fails_while_the_source_is_silent_ends_the_pipe() -> None:
    async def main() -> None:
        controllers: list[Any] = []
        piping = ReadableStream.new().pipeTo(WritableStream.new(start=controllers.append))
        await turns()
        controllers[0].error(Error("gone"))
        with pytest.raises(JsException, match="gone"):
            await piping

    run(main())


def test_a_closed_destination_is_refused() -> None:
    async def main() -> None:
        destination = WritableStream.new()
        await destination.close()
        reasons: list[Any] = []
        with pytest.raises(JsException) as caught:
            await ReadableStream.new(cancel=reasons.append).pipeTo(destination)
        assert str(caught.value) == "TypeError: This destination writable stream is closed."
        assert len(reasons) == 1

    run(main())


@pytest.mark.parametrize("when", ["before", "during"])
def test_a_signal_stops_the_pipe_and_both_ends(when: str) -> None:
    async def main() -> None:
        controller = AbortController.new()
        reasons: list[Any] = []
        chunks: list[Any] = []
        signal = AbortSignal.abort("stop") if when == "before" else controller.signal
        piping = ReadableStream.new(cancel=reasons.append).pipeTo(collector(chunks), signal=signal)
        await turns()
        controller.abort("stop")
        with pytest.raises(JsException, match="was thrown as an error"):
            await piping
        assert (reasons, chunks) == (["stop"], [("aborted", "stop")])

    run(main())


def test_a_pipe_waits_for_a_slow_destination() -> None:
    async def main() -> None:
        gate = asyncio.Event()
        pulled: list[None] = []

        async def write(chunk: Any, controller: Any) -> None:
            await gate.wait()

        def pull(controller: Any) -> None:
            pulled.append(None)
            if len(pulled) == 50:
                controller.close()
            else:
                controller.enqueue("x")

        piping = ReadableStream.new(pull=pull).pipeTo(WritableStream.new(write=write))
        await turns(200)
        assert len(pulled) < 5
        gate.set()
        await piping
        assert len(pulled) == 50

    run(main())


def test_locked_streams_cannot_be_piped() -> None:
    async def main() -> None:
        source, destination = ReadableStream.new(), WritableStream.new()
        source.getReader()
        with pytest.raises(JsException, match="currently locked to a reader"):
            await source.pipeTo(destination)
        destination.getWriter()
        with pytest.raises(JsException, match="currently locked to a writer"):
            await ReadableStream.new().pipeTo(destination)

    run(main())


def test_piping_needs_streams() -> None:
    with pytest.raises(JsException, match="WritableStream"):
        ReadableStream.new().pipeTo(5)
    with pytest.raises(JsException, match="readable and a writable"):
        ReadableStream.new().pipeThrough({})


def test_pipes_can_be_chained() -> None:
    async def main() -> None:
        def double(chunk: int, controller: Any) -> None:
            controller.enqueue(chunk * 2)

        stream = ReadableStream.from_(range(20))
        for _ in range(3):
            stream = stream.pipeThrough(TransformStream.new(transform=double))
        assert await rest(stream) == [number * 8 for number in range(20)]

    run(main())
