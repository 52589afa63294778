"""Any chain of streams carries the same bytes to any kind of reader."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pyflare.js.buffer import Uint8Array
from pyflare.js.readable import ReadableStream
from pyflare.js.response import Response
from pyflare.js.transform import FixedLengthStream, IdentityTransformStream, TransformStream

LINKS = [
    "plain",
    "identity",
    "fixed",
    "sync map",
    "async map",
    "left branch",
    "right branch",
    "response",
    "from",
]
SOURCES = ["queue", "sync pull", "async pull", "native", "bytes"]
READERS = ["async for", "reader", "byob", "payload", "bytes"]


def source(kind: str, chunks: list[bytes]) -> ReadableStream:
    left = list(chunks)

    def pull(controller: Any) -> None:
        if left:
            controller.enqueue(Uint8Array.from_bytes(left.pop(0)))
        else:
            controller.close()

    async def async_pull(controller: Any) -> None:
        await asyncio.sleep(0)
        pull(controller)

    async def generate() -> Any:
        for chunk in chunks:
            await asyncio.sleep(0)
            yield chunk

    def fill(controller: Any) -> None:
        while left:
            pull(controller)
        controller.close()

    match kind:
        case "queue":
            return ReadableStream.new(start=fill)  # type: ignore[no-any-return]
        case "sync pull":
            return ReadableStream.new(pull=pull)  # type: ignore[no-any-return]
        case "async pull":
            return ReadableStream.new({"pull": async_pull}, {"highWaterMark": 0})  # type: ignore[no-any-return]
        case "bytes":
            return ReadableStream.new(type="bytes", pull=pull)  # type: ignore[no-any-return]
    return ReadableStream.from_async_iterator(generate())


def linked(stream: ReadableStream, kind: str, length: int) -> Any:
    async def later(chunk: Any, controller: Any) -> None:
        await asyncio.sleep(0)
        controller.enqueue(chunk)

    match kind:
        case "plain":
            return stream.pipeThrough(TransformStream.new())
        case "identity":
            return stream.pipeThrough(IdentityTransformStream.new())
        case "fixed":
            return stream.pipeThrough(FixedLengthStream.new(length))
        case "sync map":
            return stream.pipeThrough(
                TransformStream.new(transform=lambda chunk, controller: controller.enqueue(chunk))
            )
        case "async map":
            return stream.pipeThrough(TransformStream.new(transform=later))
        case "left branch":
            return stream.tee()[0]
        case "right branch":
            return stream.tee()[1]
        case "response":
            return Response.new(stream).clone().body
    return ReadableStream.from_(stream)


async def read(stream: ReadableStream, kind: str) -> bytes:
    match kind:
        case "async for":
            return b"".join([chunk.to_bytes() async for chunk in stream])
        case "payload":
            body: Any = Response.new(stream).take_payload()[3]
            if isinstance(body, bytes | memoryview):
                return bytes(body)
            return b"".join([bytes(chunk) async for chunk in body])
        case "bytes":
            return (await Response.new(stream).bytes()).to_bytes()  # type: ignore[no-any-return]
    mode = {"mode": "byob"} if kind == "byob" and stream._controller.byte_stream else {}
    reader = stream.getReader(**mode)
    parts = []
    while True:
        result = await (reader.read(Uint8Array.new(3)) if mode else reader.read())
        if result.done:
            return b"".join(parts)
        parts.append(result.value.to_bytes())


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(SOURCES),
    st.lists(st.binary(min_size=1, max_size=7), max_size=6),
    st.lists(st.sampled_from(LINKS), max_size=4),
    st.sampled_from(READERS),
)
def test_any_chain_carries_the_same_bytes(
    kind: str, chunks: list[bytes], links: list[str], reader: str
) -> None:
    async def main() -> None:
        stream = source(kind, chunks)
        for link in links:
            stream = linked(stream, link, len(b"".join(chunks)))
        assert await read(stream, reader) == b"".join(chunks)

    asyncio.run(asyncio.wait_for(main(), 5))


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(SOURCES),
    st.lists(st.binary(min_size=1, max_size=7), min_size=2, max_size=6),
    st.lists(
        st.sampled_from(["plain", "identity", "sync map", "async map", "response"]), max_size=3
    ),
)
def test_any_chain_can_be_left_in_the_middle(
    kind: str, chunks: list[bytes], links: list[str]
) -> None:
    async def main() -> None:
        stream = source(kind, chunks)
        for link in links:
            stream = linked(stream, link, 0)
        body = stream.iterate_bytes()
        assert bytes(await anext(body)) == chunks[0]
        await body.aclose()
        for _ in range(20):
            await asyncio.sleep(0)

    asyncio.run(asyncio.wait_for(main(), 5))
