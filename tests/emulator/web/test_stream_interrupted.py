"""Cancelling a stream over an asynchronous generator while the generator waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from pyflare.js.readable import ReadableStream


class Endless:
    """One chunk, then a wait that nothing ends; notes how it was left."""

    def __init__(self) -> None:
        self.left: list[str] = []
        self.waiting = asyncio.Event()

    async def chunks(self) -> AsyncIterator[bytes]:
        try:
            yield b"first"
            self.waiting.set()
            await asyncio.Event().wait()
        finally:
            self.left.append("left")


OVER = pytest.mark.parametrize("over", [ReadableStream.from_, ReadableStream.from_async_iterator])


@OVER
def test_the_generator_is_left_and_the_read_ends(over: Callable[[Any], ReadableStream]) -> None:
    async def main() -> tuple[list[str], bool]:
        source = Endless()
        reader = over(source.chunks()).getReader()
        await reader.read()
        second = reader.read()
        await source.waiting.wait()
        await reader.cancel("enough")
        return source.left, (await second).done

    assert asyncio.run(main()) == (["left"], True)


@OVER
def test_a_reader_of_bytes_that_is_cancelled_can_close_the_stream(
    over: Callable[[Any], ReadableStream],
) -> None:
    async def main() -> list[str]:
        source = Endless()
        body = over(source.chunks()).iterate_bytes()

        async def read() -> None:
            async for _ in body:
                pass

        reading = asyncio.create_task(read())
        await source.waiting.wait()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await body.aclose()
        return source.left

    assert asyncio.run(main()) == ["left"]


@OVER
def test_a_generator_between_two_chunks_is_closed_too(
    over: Callable[[Any], ReadableStream],
) -> None:
    async def main() -> list[str]:
        source = Endless()
        reader = over(source.chunks()).getReader()
        await reader.read()
        await reader.cancel()
        return source.left

    assert asyncio.run(main()) == ["left"]


def test_a_plain_generator_is_closed() -> None:
    left: list[str] = []

    def items() -> Iterator[int]:
        try:
            yield from range(10)
        finally:
            left.append("left")

    async def main() -> None:
        reader = ReadableStream.from_(items()).getReader()
        await reader.read()
        await reader.cancel()

    asyncio.run(main())
    assert left == ["left"]
