"""Python's bytes in JavaScript's hands: a proxy, whose text is taken where text is, and which is refused elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from pyflare.js.blob import Blob, File
from pyflare.js.buffer import Uint8Array
from pyflare.js.callbacks import console_sink
from pyflare.js.compression import CompressionStream, DecompressionStream
from pyflare.js.encoding import TextDecoder, TextDecoderStream
from pyflare.js.error import JsException
from pyflare.js.from_python import to_js
from pyflare.js.proxy import create_proxy
from pyflare.js.python_buffers import told_places
from pyflare.js.request import Request
from pyflare.js.response import Response
from pyflare.js.transform import FixedLengthStream, IdentityTransformStream

NO_BUFFER = (
    "TypeError: This TransformStream is being used as a byte stream, but received an object of "
    "non-ArrayBuffer/ArrayBufferView type on its writable side."
)
BUFFERS = [b"abc", bytearray(b"abc"), create_proxy(b"abc")]
IDS = ["bytes", "bytearray", "proxy"]


@pytest.fixture
def warnings() -> Iterator[list[str]]:
    lines: list[str] = []
    sink = console_sink.set(lambda level, text: lines.append(f"{level}: {text}"))
    told = told_places.set(set())
    yield lines
    told_places.reset(told)
    console_sink.reset(sink)


def text_of(made: Any) -> str:
    async def main() -> str:
        return await made.text()  # type: ignore[no-any-return]

    return asyncio.run(main())


def failure(work: Callable[[], Awaitable[Any]]) -> str:
    async def main() -> None:
        await work()

    with pytest.raises(JsException) as caught:
        asyncio.run(main())
    return str(caught.value)


TAKERS: dict[str, Callable[[Any], Any]] = {
    "Response": Response.new,
    "Request": lambda given: Request.new("http://a/", method="POST", body=given),
    "Blob": lambda given: Blob.new([given]),
    "File": lambda given: File.new([given], "name"),
}


@pytest.mark.parametrize("take", TAKERS.values(), ids=TAKERS)
@pytest.mark.parametrize("given", BUFFERS, ids=IDS)
def test_a_class_that_takes_text_takes_their_text(
    take: Callable[[Any], Any], given: Any, warnings: list[str]
) -> None:
    assert text_of(take(given)) == str(given)


def test_a_memoryview_is_its_text_too(warnings: list[str]) -> None:
    assert text_of(Response.new(memoryview(b"abc"))).startswith("<memory at 0x")


@pytest.mark.parametrize("take", TAKERS.values(), ids=TAKERS)
@pytest.mark.parametrize(
    "given",
    [
        to_js(b"abc"),
        to_js(b"abc").buffer,
        create_proxy(b"abc").getBuffer().data,
        create_proxy(bytearray(b"abc")).getBuffer().data,
    ],
    ids=["array", "buffer", "view", "view of a bytearray"],
)
def test_buffers_of_javascript_are_bytes(
    take: Callable[[Any], Any], given: Any, warnings: list[str]
) -> None:
    assert text_of(take(given)) == "abc"
    assert warnings == []


def test_the_body_has_the_content_type_of_text(warnings: list[str]) -> None:
    assert Response.new(b"abc").headers.get("content-type") == "text/plain;charset=UTF-8"


STREAMS: dict[str, tuple[Callable[[], Any], str]] = {
    "fixed length": (lambda: FixedLengthStream.new(3), NO_BUFFER),
    "identity": (IdentityTransformStream.new, NO_BUFFER),
    "compression": (lambda: CompressionStream.new("gzip"), NO_BUFFER),
    "decompression": (lambda: DecompressionStream.new("gzip"), NO_BUFFER),
    "text": (
        TextDecoderStream.new,
        "TypeError: This TransformStream is being used as a byte stream, but received a value that is not a "
        "BufferSource.",
    ),
}


@pytest.mark.parametrize(("make", "text"), STREAMS.values(), ids=STREAMS)
@pytest.mark.parametrize("given", BUFFERS, ids=IDS)
def test_a_byte_stream_refuses_them(
    make: Callable[[], Any], text: str, given: Any, warnings: list[str]
) -> None:
    async def work() -> None:
        stream = make()
        reading = asyncio.ensure_future(stream.readable.getReader().read())
        try:
            await stream.writable.getWriter().write(given)
        finally:
            reading.cancel()

    assert failure(work) == text
    assert "refuses them" in warnings[0]


@pytest.mark.parametrize("given", BUFFERS, ids=IDS)
def test_a_decoder_refuses_them(given: Any, warnings: list[str]) -> None:
    with pytest.raises(JsException) as caught:
        TextDecoder.new().decode(given)
    assert str(caught.value) == (
        "TypeError: Failed to execute 'decode' on 'TextDecoder': parameter 1 is not of type 'Array'."
    )
    assert len(warnings) == 1


@pytest.mark.parametrize("given", [b"abc", bytearray(b"abc")], ids=["bytes", "bytearray"])
def test_a_typed_array_is_made_of_them(given: Any, warnings: list[str]) -> None:
    assert Uint8Array.new(given).to_bytes() == b"abc"
    assert warnings == []


def test_the_warning_names_the_place_the_class_and_the_remedy(warnings: list[str]) -> None:
    line = test_the_warning_names_the_place_the_class_and_the_remedy.__code__.co_firstlineno + 2
    Response.new(b"abc")
    assert warnings == [
        f"warn: test_python_buffers.py, line {line}: the body of a Response was given bytes of Python, which reach "
        "JavaScript as a PyProxy and not as a buffer: it takes their text, b'abc'. Pass to_js(...) of them instead."
    ]


def test_each_place_is_warned_of_once(warnings: list[str]) -> None:
    for _ in range(3):
        Response.new(b"abc")
    assert len(warnings) == 1
    Response.new(b"abc")
    assert len(warnings) == 2


def test_a_long_text_is_cut_in_the_warning(warnings: list[str]) -> None:
    Response.new(bytes(10_000))
    assert len(warnings[0]) < 300
