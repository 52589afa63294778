"""Response: construction, payloads for the server, bodies."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyflare.js.blob import Blob
from pyflare.js.buffer import Uint8Array
from pyflare.js.error import JsException
from pyflare.js.formdata import FormData
from pyflare.js.headers import Headers
from pyflare.js.readable import ReadableStream
from pyflare.js.response import Response
from pyflare.js.searchparams import URLSearchParams
from pyflare.js.transform import FixedLengthStream, TransformStream
from pyflare.js.value import JsObject, jsnull

STATUS_RANGE = "RangeError: Responses may only be constructed with status codes in the range 200 to 599, inclusive."
NULL_BODY = "TypeError: Response with null body status (101, 204, 205, or 304) cannot have a body."


def refusal(*args: Any, **options: Any) -> str:
    with pytest.raises(JsException) as caught:
        Response.new(*args, **options)
    return str(caught.value)


async def sent(response: Response) -> bytes:
    body = response.take_payload()[3]
    if body is None:
        return b""
    if isinstance(body, bytes | memoryview):
        return bytes(body)
    return b"".join([bytes(chunk) async for chunk in body])


def test_the_plainest_response() -> None:
    response = Response.new("hi")
    assert (response.status, response.statusText, response.ok, response.type) == (
        200,
        "",
        True,
        "default",
    )
    assert (response.url, response.redirected, response.cf, response.webSocket) == (
        "",
        False,
        None,
        jsnull,
    )
    payload = response.take_payload()
    assert payload == (200, "OK", [(b"content-type", b"text/plain;charset=UTF-8")], b"hi")
    assert response.bodyUsed is True


def test_everything_that_can_be_given() -> None:
    response = Response.new(
        "x",
        status=201,
        statusText="Made",
        headers=[("X-A", "1"), ("Set-Cookie", "a"), ("Set-Cookie", "b")],
    )
    assert response.take_payload() == (
        201,
        "Made",
        [
            (b"x-a", b"1"),
            (b"content-type", b"text/plain;charset=UTF-8"),
            (b"set-cookie", b"a"),
            (b"set-cookie", b"b"),
        ],
        b"x",
    )


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("x", "text/plain;charset=UTF-8"),
        (URLSearchParams.new("a=b c"), "application/x-www-form-urlencoded;charset=UTF-8"),
        (Blob.new(["x"], JsObject.adopt({"type": "Text/X"})), "text/x"),
        (Blob.new(["x"]), None),
        (Uint8Array.from_bytes(b"x"), None),
        (None, None),
    ],
    ids=["str", "params", "typed blob", "blob", "buffer", "none"],
)
def test_content_type_defaults(body: Any, content_type: str | None) -> None:
    assert Response.new(body).headers.lookup("content-type") == content_type


def test_a_form_has_its_boundary_in_the_content_type() -> None:
    async def main() -> None:
        form = FormData.new()
        form.append("a", "1")
        response = Response.new(form)
        kind = response.headers.get("content-type")
        assert kind.startswith("multipart/form-data; boundary=")
        assert kind.split("boundary=")[1].encode() in await sent(response)

    asyncio.run(main())


@pytest.mark.parametrize("status", [0, 100, 101, 199, 600, 1000])
def test_a_status_out_of_range_is_refused(status: int) -> None:
    assert refusal("x", status=status) == STATUS_RANGE


@pytest.mark.parametrize("status", [204, 205, 304])
def test_null_body_statuses_take_no_body_but_an_empty_one(status: int) -> None:
    assert refusal("x", status=status) == NULL_BODY
    assert refusal(ReadableStream.new(), status=status) == NULL_BODY
    assert Response.new("", status=status).body is jsnull
    assert Response.new(None, status=status).take_payload()[3] is None


def test_a_socket_needs_status_101_and_status_101_a_socket() -> None:
    socket = JsObject.adopt({})
    assert Response.new(None, status=101, webSocket=socket).webSocket is socket
    expected = "RangeError: Responses with a WebSocket must have status code 101."
    assert refusal(None, status=200, webSocket=socket) == expected


def test_a_reason_phrase_with_a_control_character_is_refused() -> None:
    assert refusal("x", statusText="a\nb") == "TypeError: Invalid statusText"


def test_encode_body() -> None:
    assert Response.new("x").encodeBody == "automatic"
    assert Response.new("x", encodeBody="manual").encodeBody == "manual"
    assert refusal("x", encodeBody="zip") == "TypeError: encodeBody: unexpected value: zip"


@pytest.mark.parametrize(
    ("status", "phrase"),
    [
        (200, "OK"),
        (404, "Not Found"),
        (413, "Payload Too Large"),
        (418, "I'm a teapot"),
        (299, "Successful"),
        (499, "Client Error"),
        (599, "Server Error"),
    ],
)
def test_whoever_receives_a_response_gets_a_reason_phrase(status: int, phrase: str) -> None:
    made = Response.new("x", status=status)
    assert made.statusText == ""
    assert made.take_payload()[1] == phrase


@pytest.mark.parametrize("form", ["keywords", "dict", "object"])
def test_every_form_of_init(form: str) -> None:
    members = {"status": 202, "headers": {"a": "1"}.items()}
    match form:
        case "keywords":
            response = Response.new("x", **members)
        case "dict":
            response = Response.new("x", members)
        case _:
            response = Response.new("x", JsObject.adopt(members))
    assert (response.status, response.headers.get("a")) == (202, "1")


def test_a_response_as_init_gives_status_and_a_copy_of_the_headers() -> None:
    first = Response.from_wire(404, "Nope", [(b"a", b"1")], None)
    second = Response.new("other", first)
    assert (second.status, second.statusText) == (404, "Nope")
    second.headers.set("a", "2")
    assert first.headers.get("a") == "1"


def test_a_body_can_be_passed_on_with_the_response_as_init() -> None:
    async def main() -> None:
        first = Response.new("content", headers={"a": "1"}.items())
        second = Response.new(first.body, first)
        second.headers.set("b", "2")
        assert await second.text() == "content"
        assert first.bodyUsed is True

    asyncio.run(main())


def test_keywords_alone_are_the_body_as_in_production() -> None:
    async def main() -> None:
        response = Response.new(status=404)
        assert response.status == 200
        assert await response.text() == "[object Object]"

    asyncio.run(main())


def test_json() -> None:
    async def main() -> None:
        response = Response.json(
            JsObject.adopt({"a": [1]} | {"b": None}), status=201, headers={"X": "y"}.items()
        )
        assert response.status == 201
        assert response.headers.get("content-type") == "application/json"
        assert response.headers.get("x") == "y"
        assert await response.text() == '{"a":[1]}'
        kept = Response.json(1, headers={"content-type": "application/problem+json"}.items())
        assert kept.headers.get("content-type") == "application/problem+json"

    asyncio.run(main())


def test_json_reads_and_makes() -> None:
    async def main() -> None:
        value = await Response.new('{"a": null, "b": [1.5, true]}').json()
        assert value.a is jsnull
        assert list(value.b) == [1.5, True]
        with pytest.raises(JsException) as caught:
            await Response.new("{").json()
        assert caught.value.name == "SyntaxError"

    asyncio.run(main())


def test_redirect() -> None:
    response = Response.redirect("https://a.b", 301)
    assert (response.status, response.headers.get("location")) == (301, "https://a.b/")
    assert Response.redirect("https://a.b/").status == 302
    with pytest.raises(JsException, match="Can't modify immutable headers"):
        response.headers.set("a", "b")


def test_redirect_refuses_other_statuses_and_texts_that_are_no_urls() -> None:
    with pytest.raises(JsException) as caught:
        Response.redirect("https://a.b", 200)
    assert str(caught.value) == (
        "RangeError: 200 is not a redirect status code. It must be one of: 301, 302, 303, 307, or 308."
    )
    with pytest.raises(JsException) as caught:
        Response.redirect("nowhere")
    assert str(caught.value) == "TypeError: Unable to parse URL: nowhere"


def test_error() -> None:
    response = Response.error()
    assert (response.type, response.status, response.ok, response.statusText) == (
        "error",
        0,
        False,
        "",
    )


def test_clone_of_known_content() -> None:
    async def main() -> None:
        response = Response.new("x", status=203, headers={"a": "1"}.items())
        copy = response.clone()
        copy.headers.set("a", "2")
        assert (await response.text(), await copy.text()) == ("x", "x")
        assert (copy.status, response.headers.get("a")) == (203, "1")

    asyncio.run(main())


def test_clone_of_a_stream() -> None:
    async def main() -> None:
        async def chunks() -> Any:
            for each in (b"a", b"b", b"c"):
                await asyncio.sleep(0)
                yield each

        response = Response.new(ReadableStream.from_async_iterator(chunks()))
        copy = response.clone()
        assert await asyncio.gather(response.text(), copy.text()) == ["abc", "abc"]

    asyncio.run(main())


def test_a_socket_response_cannot_be_cloned() -> None:
    response = Response.new(None, status=101, webSocket=JsObject.adopt({}))
    with pytest.raises(JsException) as caught:
        response.clone()
    assert str(caught.value) == "TypeError: Cannot clone a response to a WebSocket handshake."


def test_a_used_body_cannot_be_sent() -> None:
    async def main() -> None:
        response = Response.new("x")
        await response.text()
        with pytest.raises(JsException, match="Body has already been used"):
            response.take_payload()

    asyncio.run(main())


def test_a_stream_that_was_read_is_no_body() -> None:
    async def main() -> None:
        stream = ReadableStream.from_bytes(b"x")
        await stream.getReader().read()
        assert refusal(stream) == (
            "TypeError: This ReadableStream is disturbed (has already been read from), and cannot be used as a body."
        )

    asyncio.run(main())


def test_known_content_behind_a_stream_is_sent_as_bytes() -> None:
    response = Response.new(Response.new("x").body)
    assert response.take_payload()[3] == b"x"


def test_a_fixed_length_stream_tells_its_length() -> None:
    async def main() -> None:
        fixed = FixedLengthStream.new(3)
        writer = fixed.writable.getWriter()
        body: Any = Response.new(fixed.readable).take_payload()[3]
        assert body.length == 3

        async def produce() -> None:
            await writer.write(Uint8Array.from_bytes(b"abc"))
            await writer.close()

        producing = asyncio.ensure_future(produce())
        assert [bytes(chunk) async for chunk in body] == [b"abc"]
        await producing

    asyncio.run(main())


def test_an_error_in_the_stream_propagates_from_the_iterator() -> None:
    async def main() -> None:
        async def pull(controller: Any) -> None:
            raise ValueError("broken")

        with pytest.raises(ValueError, match="broken"):
            await sent(Response.new(ReadableStream.new(pull=pull)))

    asyncio.run(main())


def test_text_in_a_response_stream_is_sent_as_utf_8() -> None:
    async def main() -> None:
        transform = TransformStream.new()
        writer = transform.writable.getWriter()
        writer.write("hellö")
        writer.close()
        assert await sent(Response.new(transform.readable)) == "hellö".encode()
        assert await sent(Response.new(ReadableStream.from_(["strü", b"b"]))) == "strüb".encode()

    asyncio.run(main())


@pytest.mark.parametrize("transformed", [False, True])
@pytest.mark.parametrize("method", ["text", "arrayBuffer", "json", "blob"])
def test_a_body_reader_takes_no_text_from_a_stream(method: str, transformed: bool) -> None:
    async def main() -> None:
        stream = ReadableStream.from_(["text"])
        if transformed:
            stream = stream.pipeThrough(TransformStream.new())
        with pytest.raises(JsException) as caught:
            await getattr(Response.new(stream), method)()
        assert str(caught.value) == "TypeError: This ReadableStream did not return bytes."

    asyncio.run(main())


@pytest.mark.parametrize("init", [5, 1.5, True, "abc"])
def test_an_init_that_is_no_object_is_refused(init: Any) -> None:
    with pytest.raises(JsException, match="parameter 2 is not of type 'InitializerDict or Resp"):
        Response.new("x", init)


@pytest.mark.parametrize("seen_before", [False, True])
def test_a_body_that_was_read_stays_locked(seen_before: bool) -> None:
    async def main() -> None:
        response = Response.new("abc")
        if seen_before:
            assert not response.body.locked
        assert await response.text() == "abc"
        assert response.body.locked
        with pytest.raises(JsException, match="currently locked to a reader"):
            response.body.getReader()
        with pytest.raises(JsException, match="currently locked to a reader"):
            await response.body.cancel()

    asyncio.run(main())


def test_numbers_in_a_response_stream_are_refused_and_the_source_is_cancelled() -> None:
    async def main() -> None:
        reasons: list[Any] = []
        stream = ReadableStream.new(
            start=lambda controller: controller.enqueue(5),
            cancel=lambda reason: reasons.append(reason),
        )
        with pytest.raises(JsException) as caught:
            await sent(Response.new(stream))
        assert str(caught.value) == "TypeError: This ReadableStream did not return bytes."
        assert reasons == [caught.value]

    asyncio.run(main())


def test_closing_the_iterator_early_cancels_the_source_with_a_reason() -> None:
    async def main() -> None:
        reasons: list[Any] = []

        async def pull(controller: Any) -> None:
            controller.enqueue(Uint8Array.from_bytes(b"x"))

        stream = ReadableStream.new(pull=pull, cancel=lambda reason: reasons.append(reason))
        body: Any = Response.new(stream).take_payload()[3]
        assert bytes(await anext(body)) == b"x"
        await body.aclose()
        assert [reason.name for reason in reasons] == ["AbortError"]
        await body.aclose()
        assert len(reasons) == 1

    asyncio.run(main())


def test_a_producer_behind_a_transform_sees_that_the_client_went_away() -> None:
    async def main() -> None:
        transform = TransformStream.new()
        writer = transform.writable.getWriter()
        body: Any = Response.new(transform.readable).take_payload()[3]
        waiting = writer.write(Uint8Array.from_bytes(b"x"))
        await body.aclose()
        with pytest.raises(JsException) as caught:
            await waiting
        assert caught.value.name == "AbortError"
        with pytest.raises(JsException):
            await writer.write(Uint8Array.from_bytes(b"y"))

    asyncio.run(main())


def test_a_mutable_buffer_is_copied() -> None:
    async def main() -> None:
        data = Uint8Array.from_bytes(b"ab")
        response = Response.new(data)
        data[0] = 0x7A
        assert await response.text() == "ab"

    asyncio.run(main())


def test_text_drops_the_byte_order_mark_and_replaces_bad_bytes() -> None:
    async def main() -> None:
        assert await Response.new(Uint8Array.from_bytes(b"\xef\xbb\xbfa\xffb")).text() == "a\ufffdb"
        assert await Response.new("\ufeffa\ud83d\ude00").text() == "a😀"

    asyncio.run(main())


def test_blob_has_the_content_type() -> None:
    async def main() -> None:
        blob = await Response.new("x", headers={"content-type": "text/html"}.items()).blob()
        assert (blob.type, blob.size, await blob.text()) == ("text/html", 1, "x")

    asyncio.run(main())


def test_anything_else_is_sent_as_its_text() -> None:
    async def main() -> None:
        assert await Response.new(12).text() == "12"
        assert await Response.new(JsObject.adopt({})).text() == "[object Object]"

    asyncio.run(main())


def test_headers_given_are_copied() -> None:
    headers = Headers.new({"a": "1"}.items())
    response = Response.new("x", headers=headers)
    headers.set("a", "2")
    assert response.headers.get("a") == "1"


def test_what_has_no_json_form_is_written_as_undefined() -> None:
    made = Response.json(None)
    assert made.take_payload()[3] == b"undefined"
