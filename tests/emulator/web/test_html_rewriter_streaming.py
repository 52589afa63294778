"""Rewriting while it streams: asynchronous handlers, chunks, failures, cancelling."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from typing import Any

import pytest

from pyflare.js.buffer import Uint8Array
from pyflare.js.error import Error, JsException
from pyflare.js.html_rewriter import HTMLRewriter
from pyflare.js.readable import ReadableStream
from pyflare.js.response import Response

from .html_rewriting import rewrite, rewritten


def shout() -> HTMLRewriter:
    return HTMLRewriter.new().on("p", {"element": lambda e: e.append("!") and None})


def stream(*chunks: bytes) -> ReadableStream:
    async def generate() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    return ReadableStream.from_async_iterator(generate())


def test_handlers_may_be_asynchronous() -> None:
    order: list[str] = []

    async def element(e: Any) -> None:
        await asyncio.sleep(0)
        order.append(f"element {e.tagName}")
        e.onEndTag(at_end)

    async def at_end(tag: Any) -> None:
        await asyncio.sleep(0)
        order.append("end")
        tag.before("!")

    async def text(t: Any) -> None:
        await asyncio.sleep(0)
        order.append(f"text {t.text}")

    async def end(document_end: Any) -> None:
        await asyncio.sleep(0)
        document_end.append("?")

    output = rewritten(
        "<p>x</p>", ("p", {"element": element, "text": text}), of_document={"end": end}
    )
    assert output == "<p>x!</p>?"
    assert order == ["element p", "text x", "text ", "end"]


def test_an_asynchronous_handlers_token_is_good_until_it_is_finished() -> None:
    kept: list[Any] = []

    async def element(e: Any) -> None:
        kept.append(e)
        await asyncio.sleep(0)
        e.setAttribute("a", "b")

    assert rewritten("<p>", ("p", element)) == '<p a="b">'
    with pytest.raises(JsException):
        _ = kept[0].tagName


def test_what_is_finished_can_be_read_while_a_handler_waits() -> None:
    async def main() -> None:
        gate = asyncio.Event()

        async def element(e: Any) -> None:
            await gate.wait()
            e.remove()

        made = (
            HTMLRewriter.new()
            .on("b", {"element": element})
            .transform(Response.new("<p>x</p><b>y</b>z"))
        )
        reader = made.body.getReader()
        first = await asyncio.wait_for(reader.read(), 5)
        assert first.value.to_bytes() == b"<p>x</p>"
        gate.set()
        assert (await reader.read()).value.to_bytes() == b"z"
        assert (await reader.read()).done

    asyncio.run(main())


def test_each_chunk_is_sent_on_as_it_comes() -> None:
    async def main() -> None:
        sent: list[str] = []

        async def generate() -> AsyncIterator[bytes]:
            for name in ("a", "b", "c"):
                sent.append(name)
                yield f"<p>{name}</p>".encode()

        made = shout().transform(Response.new(ReadableStream.from_async_iterator(generate())))
        assert sent == []
        reader = made.body.getReader()
        assert (await reader.read()).value.to_bytes() == b"<p>a!</p>"
        assert sent == ["a"]
        assert (await reader.read()).value.to_bytes() == b"<p>b!</p>"
        assert sent == ["a", "b"]

    asyncio.run(main())


def test_text_is_sent_on_before_its_end_is_known() -> None:
    async def main() -> None:
        made = shout().transform(Response.new(stream(b"<p>one two", b" three</p>")))
        reader = made.body.getReader()
        assert (await reader.read()).value.to_bytes() == b"<p>one two"

    asyncio.run(main())


def test_a_large_document_in_one_chunk_leaves_in_pieces() -> None:
    async def main() -> None:
        document = b"<p>x</p>" * 50_000
        made = shout().transform(Response.new(Uint8Array.from_bytes(document)))
        chunks = [chunk.to_bytes() async for chunk in made.body]
        assert max(map(len, chunks)) < 128 * 1024
        assert b"".join(chunks) == b"<p>x!</p>" * 50_000

    asyncio.run(main())


def test_handlers_run_with_the_context_of_the_transform() -> None:
    who: ContextVar[str] = ContextVar("who", default="nobody")
    seen: list[str] = []

    async def main() -> None:
        who.set("worker")
        made = (
            HTMLRewriter.new()
            .on("p", {"element": lambda _: seen.append(who.get())})
            .transform(Response.new("<p>"))
        )
        who.set("server")
        await made.text()

    asyncio.run(main())
    assert seen == ["worker"]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_what_a_handler_raises_fails_the_body(asynchronous: bool) -> None:
    def fail(_: Any) -> None:
        raise ValueError("no such title")

    async def fail_later(_: Any) -> None:
        await asyncio.sleep(0)
        raise ValueError("no such title")

    async def main() -> None:
        cancelled: list[Any] = []

        async def generate() -> AsyncIterator[bytes]:
            yield b"<i></i><p>"
            yield b"never"

        source = ReadableStream.from_async_iterator(generate(), cancel=cancelled.append)
        handler = fail_later if asynchronous else fail
        made = HTMLRewriter.new().on("p", {"element": handler}).transform(Response.new(source))
        with pytest.raises(ValueError, match="no such title"):
            await made.text()
        assert len(cancelled) == 1

    asyncio.run(main())


def test_after_a_failure_no_handler_runs() -> None:
    calls: list[str] = []

    def element(e: Any) -> None:
        calls.append(e.tagName)
        raise Error("stop")

    with pytest.raises(JsException, match="stop"):
        rewritten(
            "<p></p><p></p>", ("p", element), of_document={"end": lambda _: calls.append("end")}
        )
    assert calls == ["p"]


def test_what_the_input_fails_with_fails_the_body() -> None:
    async def main() -> None:
        async def generate() -> AsyncIterator[bytes]:
            yield b"<p>"
            raise OSError("connection reset")

        made = shout().transform(Response.new(ReadableStream.from_async_iterator(generate())))
        with pytest.raises(OSError, match="connection reset"):
            await made.text()

    asyncio.run(main())


def test_a_body_may_give_text() -> None:
    async def main() -> None:
        made = shout().transform(Response.new(ReadableStream.from_(["<p>"])))
        assert "<p" in await made.text()

    asyncio.run(main())


def test_a_body_that_gives_neither_bytes_nor_text_fails() -> None:
    async def main() -> None:
        made = shout().transform(Response.new(ReadableStream.from_([5])))
        with pytest.raises(JsException, match="did not return bytes"):
            await made.text()

    asyncio.run(main())


def test_cancelling_the_body_cancels_the_input() -> None:
    async def main() -> None:
        cancelled: list[Any] = []

        async def generate() -> AsyncIterator[bytes]:
            yield b"<p>"
            yield b"<p>"

        source = ReadableStream.from_async_iterator(generate(), cancel=cancelled.append)
        made = shout().transform(Response.new(source))
        reader = made.body.getReader()
        await reader.read()
        await reader.cancel("enough")
        assert cancelled == ["enough"]

    asyncio.run(main())


def test_cancelling_the_body_stops_a_handler_that_waits() -> None:
    async def main() -> None:
        stopped: list[str] = []

        async def element(_: Any) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                stopped.append("stopped")

        made = HTMLRewriter.new().on("p", {"element": element}).transform(Response.new("x<p>"))
        reader = made.body.getReader()
        await reader.read()
        await reader.cancel("enough")
        assert stopped == ["stopped"]

    asyncio.run(main())


def test_a_read_that_is_given_up_loses_nothing() -> None:
    async def main() -> None:
        gate = asyncio.Event()

        async def element(_: Any) -> None:
            await gate.wait()

        made = HTMLRewriter.new().on("p", {"element": element}).transform(Response.new("<p>x"))
        reader = made.body.getReader()
        waiting = reader.read()
        await asyncio.sleep(0)
        waiting.cancel()
        for _ in range(4):
            await asyncio.sleep(0)
        gate.set()
        assert (await reader.read()).value.to_bytes() == b"<p>x"

    asyncio.run(main())


@pytest.mark.parametrize(
    "make",
    [
        lambda: b"<p title='" + b"x" * 4_000_000,
        lambda: b"<p>" * 20_000,
        lambda: b"".join(b"<x%d>" % n for n in range(70_000)),
    ],
    ids=["an endless tag", "endless depth", "endless names"],
)
def test_a_document_that_needs_too_much_memory_fails(make: Callable[[], bytes]) -> None:
    with pytest.raises(JsException) as caught:
        asyncio.run(rewrite(shout(), [make()]))
    assert str(caught.value) == "TypeError: Parser error: The memory limit has been exceeded."


def test_a_stream_that_is_put_in_is_read_at_the_pace_of_the_reader() -> None:
    async def main() -> None:
        given: list[int] = []

        async def generate() -> AsyncIterator[bytes]:
            for number in range(100):
                given.append(number)
                yield b"x"

        def element(e: Any) -> None:
            e.replace(ReadableStream.from_async_iterator(generate()))

        made = HTMLRewriter.new().on("p", {"element": element}).transform(Response.new("<p>"))
        reader = made.body.getReader()
        await reader.read()
        for _ in range(50):
            await asyncio.sleep(0)
        assert len(given) < 5
        size = 1
        while not (result := await reader.read()).done:
            size += result.value.byteLength
        assert size == 100

    asyncio.run(main())


def test_a_handler_may_cancel_the_body_that_it_works_for() -> None:
    async def main() -> None:
        async def element(_: Any) -> None:
            await reader.cancel("enough")

        made = HTMLRewriter.new().on("p", {"element": element}).transform(Response.new("<p>x"))
        reader = made.body.getReader()
        assert (await asyncio.wait_for(reader.read(), 5)).done

    asyncio.run(main())
