"""What may be put into a bucket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.emulator.env.r2.conftest import Bucket


def values() -> dict[str, tuple[Callable[[], Any], bytes]]:
    def blob() -> Any:
        from workers import Blob

        return Blob([b"bl", "ob"], content_type="image/png")

    def view() -> Any:
        import js

        return js.Uint8Array.new([1, 2, 3, 4]).subarray(1, 3)

    def data_view() -> Any:
        import js

        return js.DataView.new(js.Uint8Array.new([1, 2, 3, 4]).buffer, 1, 2)

    def response_body() -> Any:
        from workers import Response

        return Response("body").body

    return {
        "text": (lambda: "grüße", "grüße".encode()),
        "empty text": (lambda: "", b""),
        "half a surrogate pair": (lambda: "a\ud800", b"a\xef\xbf\xbd"),
        "bytes": (lambda: b"\x00\xff", b"\x00\xff"),
        "memoryview": (lambda: memoryview(b"abcd")[1:3], b"bc"),
        "None": (lambda: None, b""),
        "blob": (blob, b"blob"),
        "view": (view, b"\x02\x03"),
        "data view": (data_view, b"\x02\x03"),
        "body": (response_body, b"body"),
    }


@pytest.mark.parametrize("name", list(values()))
def test_values_are_stored_as_their_bytes(bucket: Bucket, name: str) -> None:
    make, expected = values()[name]

    async def program(b: Any) -> bytes:
        written = await b.put("k", make())
        assert written.size == len(expected)
        return bytes(await (await b.get("k")).arrayBuffer())

    assert bucket(program) == expected


def test_the_type_of_a_blob_is_not_stored(bucket: Bucket) -> None:
    async def program(b: Any) -> Any:
        from workers import Blob

        await b.put("k", Blob(["x"], content_type="image/png"))
        return (await b.head("k")).httpMetadata.contentType

    assert bucket(program) is None


WRONG_VALUE = (
    "TypeError",
    "Failed to execute 'put' on 'R2Bucket': parameter 2 is not of type "
    "'JsReadableStream or ArrayBuffer or ArrayBufferView or string or Blob'.",
)


@pytest.mark.parametrize("value", [5, True, {"a": 1}, [1, 2]], ids=repr)
def test_other_values_are_refused(bucket: Bucket, value: Any) -> None:
    assert bucket.failure(lambda b: b.put("k", value)) == WRONG_VALUE


def test_a_missing_value_is_refused(bucket: Bucket) -> None:
    assert bucket.failure(lambda b: b.put("k")) == WRONG_VALUE


@pytest.mark.parametrize("value", [bytearray(b"x"), (1,)], ids=repr)
def test_the_sdk_refuses_what_it_cannot_send(bucket: Bucket, value: Any) -> None:
    with pytest.raises(TypeError, match=r"cannot be sent over RPC\."):
        bucket(lambda b: b.put("k", value))


def test_a_worker_that_changes_its_buffer_does_not_change_what_is_stored(bucket: Bucket) -> None:
    async def program(b: Any) -> bytes:
        import js

        buffer = js.Uint8Array.new([1] * 100_000)
        writing = b.put("k", buffer)
        buffer.fill(2)
        await writing
        return bytes(await (await b.get("k")).arrayBuffer())

    assert bucket(program) == b"\x01" * 100_000


DISTURBED = "This ReadableStream is disturbed."
LOCKED = "The ReadableStream has been locked to a reader."


async def read_response_body() -> Any:
    from workers import Response

    answer = Response("body")
    await answer.text()
    return answer.body


async def partly_read_body() -> Any:
    import js

    body = js.Response.new("body").body
    reader = body.getReader()
    await reader.read()
    reader.releaseLock()
    return body


async def cancelled_body() -> Any:
    import js

    body = js.Response.new("body").body
    await body.cancel()
    return body


async def partly_read_fixed_stream() -> Any:
    import js

    stream = js.FixedLengthStream.new(2)
    writer = stream.writable.getWriter()
    writing = [writer.write(js.TextEncoder.new().encode(letter)) for letter in "ab"]
    reader = stream.readable.getReader()
    await reader.read()
    reader.releaseLock()
    del writing
    return stream.readable


READ_STREAMS = [read_response_body, partly_read_body, cancelled_body, partly_read_fixed_stream]


@pytest.mark.parametrize("make", READ_STREAMS)
@pytest.mark.parametrize("part", [False, True], ids=["put", "uploadPart"])
def test_a_body_that_was_read_is_refused_and_changes_nothing(
    bucket: Bucket, make: Callable[[], Any], part: bool
) -> None:
    async def program(b: Any) -> Any:
        await b.put("k", "old")
        stream = await make()
        if part:
            await (await b.createMultipartUpload("k")).uploadPart(1, stream)
        else:
            await b.put("k", stream)

    text = LOCKED if make is read_response_body else DISTURBED
    assert bucket.failure(program) == ("TypeError", text)

    async def read(b: Any) -> Any:
        return await (await b.get("k")).text()

    assert bucket(read) == "old"


def test_the_body_of_an_object_that_was_read_is_refused(bucket: Bucket) -> None:
    async def program(b: Any) -> Any:
        await b.put("k", "x" * 100_000)
        found = await b.get("k")
        await found.text()
        await b.put("copy", found.body)

    assert bucket.failure(program) == ("TypeError", LOCKED)


def test_a_locked_stream_is_refused(bucket: Bucket) -> None:
    async def program(b: Any) -> Any:
        import js

        body = js.Response.new("body").body
        body.getReader()
        await b.put("k", body)

    assert bucket.failure(program) == (
        "TypeError",
        "The ReadableStream has been locked to a reader.",
    )


def test_a_put_that_is_refused_cancels_its_stream(bucket: Bucket) -> None:
    async def program(b: Any) -> Any:
        import js

        stream = js.FixedLengthStream.new(3)
        writing = stream.writable.getWriter().write(js.TextEncoder.new().encode("abc"))
        with pytest.raises(js.TypeError):
            await b.put("k", stream.readable, md5="zz")
        with pytest.raises(js.Error) as caught:
            await asyncio.wait_for(writing, 5)
        return caught.value.message

    assert bucket(program) == (
        "Stream cancelled because the associated put operation encountered an error."
    )


def test_a_stream_whose_put_had_arguments_of_a_wrong_kind_can_be_used(bucket: Bucket) -> None:
    async def program(b: Any) -> Any:
        import js

        body = js.Response.new("body").body
        with pytest.raises(js.TypeError):
            await b.put("k", body, customMetadata=5)
        return (await b.put("k", body)).size

    assert bucket(program) == 4


UNKNOWN_LENGTH = (
    "TypeError",
    "Provided readable stream must have a known length (request/response body or readable half of "
    "FixedLengthStream)",
)


def test_a_stream_of_unknown_length_is_refused_before_anything_is_stored(bucket: Bucket) -> None:
    async def program(b: Any) -> Any:
        import js

        await b.put("k", js.ReadableStream.new())

    assert bucket.failure(program) == UNKNOWN_LENGTH
    assert bucket(lambda b: b.head("k")) is None


def test_an_asynchronous_generator_is_refused(bucket: Bucket) -> None:
    async def chunks() -> Any:
        yield b"x"

    async def program(b: Any) -> Any:
        await b.put("k", chunks())

    assert bucket.failure(program) == WRONG_VALUE


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        (["ab"], "FixedLengthStream did not see all expected bytes before close()."),
        (["abc", "def"], "Attempt to write too many bytes through a FixedLengthStream."),
    ],
    ids=["short", "long"],
)
def test_a_fixed_length_stream_that_keeps_not_its_word_stores_nothing(
    bucket: Bucket, pieces: list[str], message: str
) -> None:
    async def program(b: Any) -> Any:
        import js

        stream = js.FixedLengthStream.new(5)

        async def feed() -> None:
            writer = stream.writable.getWriter()
            try:
                for piece in pieces:
                    await writer.write(js.TextEncoder.new().encode(piece))
                await writer.close()
            except Exception:
                return

        feeding = asyncio.ensure_future(feed())
        try:
            await b.put("k", stream.readable)
        finally:
            await feeding

    assert bucket.failure(program) == ("TypeError", message)
    assert bucket(lambda b: b.head("k")) is None


def test_the_body_of_an_object_goes_straight_into_another(bucket: Bucket) -> None:
    async def program(b: Any) -> list[str]:
        await b.put("a", "x" * 100_000)
        source = await b.get("a")
        await b.put("b", source.body)
        part = await b.get("a", range={"offset": 10, "length": 50_000})
        await b.put("c", part.body)
        return [await (await b.get(key)).text() for key in ("b", "c")]

    assert bucket(program) == ["x" * 100_000, "x" * 50_000]
