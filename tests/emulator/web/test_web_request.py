"""Request: from the server and from worker code."""

from __future__ import annotations

import asyncio
import contextvars
from typing import Any

import pytest

from pyflare.js.abort import AbortController
from pyflare.js.buffer import Uint8Array
from pyflare.js.error import JsException
from pyflare.js.readable import ReadableStream
from pyflare.js.request import Request
from pyflare.js.semantics import Semantics, semantics
from pyflare.js.url import URL
from pyflare.js.value import JsObject, jsnull

USED = "Body has already been used. It can only be used once. Use tee() first if you need to read it twice."


class Chunks:
    """A body that counts what is read from it."""

    def __init__(self, *chunks: bytes, length: int | None = None) -> None:
        self.chunks = list(chunks)
        self.length = length
        self.reads = 0
        self.cancelled: Any = None

    async def read(self) -> bytes:
        self.reads += 1
        await asyncio.sleep(0)
        return self.chunks.pop(0) if self.chunks else b""

    async def cancel(self, reason: Any) -> None:
        self.cancelled = reason


def refusal(*args: Any, **options: Any) -> str:
    with pytest.raises(JsException) as caught:
        Request.new(*args, **options)
    return str(caught.value)


def test_the_servers_request_is_lazy() -> None:
    calls: list[str] = []
    body = Chunks(b"x")
    request = Request.from_http(
        "POST", "http://localhost/a", [(b"host", b"localhost")], body, lambda: calls.append("cf")
    )
    assert (request.method, request.url) == ("POST", "http://localhost/a")
    assert request.headers.get("Host") == "localhost"
    assert body.reads == 0
    assert calls == []


def test_the_servers_headers_are_immutable() -> None:
    request = Request.from_http("GET", "http://localhost/", [(b"a", b"1")])
    with pytest.raises(JsException, match="Can't modify immutable headers"):
        request.headers.set("a", "2")


def test_cf_is_made_once_and_undefined_without_one() -> None:
    made: list[JsObject] = []

    def make() -> JsObject:
        made.append(JsObject.adopt({"colo": "DFW"}))
        return made[-1]

    request = Request.from_http("GET", "http://localhost/", [], None, make)
    assert request.cf is request.cf
    assert request.cf.colo == "DFW"
    assert len(made) == 1
    assert Request.from_http("GET", "http://localhost/", []).cf is None


def test_a_request_without_a_body_has_a_null_body_and_reads_as_empty() -> None:
    async def main() -> None:
        request = Request.from_http("GET", "http://localhost/", [])
        assert request.body is jsnull
        assert await request.text() == ""
        assert await request.text() == ""
        assert request.bodyUsed is False

    asyncio.run(main())


def test_readers_drain_the_source_without_a_stream() -> None:
    async def main() -> None:
        for reader, expected in [
            ("text", "abc"),
            ("json", None),
            ("bytes", b"abc"),
            ("arrayBuffer", b"abc"),
        ]:
            body = Chunks(b"a", b"bc") if reader != "json" else Chunks(b'{"a"', b": 1}")
            request = Request.from_http("POST", "http://localhost/", [], body)
            value = await getattr(request, reader)()
            if reader == "json":
                assert value.a == 1
            else:
                assert (
                    value.to_bytes() if reader in ("bytes", "arrayBuffer") else value
                ) == expected
            assert request.bodyUsed is True

    asyncio.run(main())


def test_a_source_of_known_length_is_not_asked_for_its_end() -> None:
    async def main() -> None:
        body = Chunks(b"ab", b"c", length=3)
        assert await Request.from_http("POST", "http://localhost/", [], body).text() == "abc"
        assert body.reads == 2

    asyncio.run(main())


def test_the_body_stream_reads_nothing_ahead() -> None:
    async def main() -> None:
        body = Chunks(b"a", b"b", b"c")
        request = Request.from_http("POST", "http://localhost/", [], body)
        reader = request.body.getReader()
        for _ in range(3):
            await asyncio.sleep(0)
        assert body.reads == 0
        assert (await reader.read()).value.to_bytes() == b"a"
        assert body.reads == 1

    asyncio.run(main())


def test_the_asgi_adapters_way_of_reading_works() -> None:
    async def main() -> None:
        request = Request.from_http("POST", "http://localhost/", [], Chunks(b"a", b"b"))
        assert [chunk.to_bytes() async for chunk in request.body] == [b"a", b"b"]

    asyncio.run(main())


@pytest.mark.parametrize("reader", ["text", "json", "bytes", "arrayBuffer", "blob", "formData"])
def test_a_body_is_read_once(reader: str) -> None:
    async def main() -> None:
        request = Request.new("http://a/", method="POST", body="{}")
        await request.text()
        with pytest.raises(JsException) as caught:
            await getattr(request, reader)()
        assert str(caught.value) == f"TypeError: {USED}"

    asyncio.run(main())


def test_reading_through_the_stream_uses_the_body_too() -> None:
    async def main() -> None:
        request = Request.new("http://a/", method="POST", body="x")
        await request.body.getReader().read()
        assert request.bodyUsed is True
        with pytest.raises(JsException, match="Body has already been used"):
            await request.text()

    asyncio.run(main())


def test_a_disconnect_while_reading_reaches_the_reader() -> None:
    class Broken(Chunks):
        async def read(self) -> bytes:
            raise ConnectionResetError("gone")

    async def main() -> None:
        with pytest.raises(ConnectionResetError):
            await Request.from_http("POST", "http://localhost/", [], Broken()).text()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("https://test.com", "https://test.com/"),
        ("HTTP://EXAMPLE.com:80/a/../b", "http://example.com/b"),
        (URL.new("https://a.b/c"), "https://a.b/c"),
        ("https://a.b/x/%2F%20y?a=1&a=2", "https://a.b/x/%2F%20y?a=1&a=2"),
    ],
)
def test_urls_are_normalised(given: Any, url: str) -> None:
    assert Request.new(given).url == url


def test_a_text_that_is_no_url_is_refused() -> None:
    assert refusal("/relative") == "TypeError: Invalid URL: /relative"


@pytest.mark.parametrize(
    ("given", "method"), [("post", "POST"), ("Patch", "PATCH"), ("GET", "GET")]
)
def test_methods_are_upper_cased(given: str, method: str) -> None:
    assert Request.new("http://a/", method=given).method == method


def test_an_unknown_method_is_refused() -> None:
    assert refusal("http://a/", method="WHAT") == "TypeError: Invalid HTTP method string: WHAT"


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_get_and_head_have_no_body(method: str) -> None:
    expected = "TypeError: Request with a GET or HEAD method cannot have a body."
    assert refusal("http://a/", method=method, body="x") == expected


def test_redirect_modes() -> None:
    assert Request.new("http://a/").redirect == "follow"
    assert Request.new("http://a/", redirect="manual").redirect == "manual"
    assert refusal("http://a/", redirect="error").startswith(
        'TypeError: Invalid redirect value, must be one of "follow" or "manual"'
    )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"integrity": "sha256-x"}, "Subrequest integrity checking is not implemented."),
        ({"cache": "default"}, "Unsupported cache mode: default"),
        ({"encodeResponseBody": "no"}, "encodeResponseBody: unexpected value: no"),
    ],
)
def test_members_with_impossible_values_are_refused(options: dict[str, str], text: str) -> None:
    assert text in refusal("http://a/", **options)


@pytest.mark.parametrize("form", ["keywords", "dict", "object", "attributes"])
def test_every_form_of_init(form: str) -> None:
    members: dict[str, Any] = {
        "method": "PUT",
        "headers": {"X-A": "1"}.items(),
        "body": Uint8Array.from_bytes(b"\x00\x01"),
    }

    class Members:
        method = "PUT"
        headers = members["headers"]
        body = members["body"]

    async def main() -> None:
        match form:
            case "keywords":
                request = Request.new("http://a/", **members)
            case "dict":
                request = Request.new("http://a/", members)
            case "object":
                request = Request.new("http://a/", JsObject.adopt(members))
            case _:
                request = Request.new("http://a/", Members())
        assert (request.method, request.headers.get("x-a")) == ("PUT", "1")
        assert (await request.bytes()).to_bytes() == b"\x00\x01"

    asyncio.run(main())


def test_a_request_from_a_request_takes_its_body() -> None:
    async def main() -> None:
        first = Request.new("http://a/", method="POST", body="x", headers={"a": "1"}.items())
        second = Request.new(first, headers={"b": "2"}.items())
        assert (second.method, second.url) == ("POST", "http://a/")
        assert second.headers.has("a") is False
        assert first.bodyUsed is True
        assert await second.text() == "x"

    asyncio.run(main())


def test_another_request_as_init_gives_everything_but_the_url() -> None:
    async def main() -> None:
        first = Request.from_http("POST", "http://a/one", [(b"a", b"1")], Chunks(b"x"))
        second = Request.new("http://b/two", first)
        assert (second.url, second.method, second.headers.get("a")) == ("http://b/two", "POST", "1")
        second.headers.set("a", "2")
        assert await second.text() == "x"

    asyncio.run(main())


def test_a_used_request_cannot_be_taken_over() -> None:
    async def main() -> None:
        first = Request.new("http://a/", method="POST", body="x")
        await first.text()
        assert refusal(first) == "TypeError: Cannot reconstruct a Request with a used body."
        assert Request.new(first, body="y").method == "POST"

    asyncio.run(main())


@pytest.mark.parametrize("mode", ["reload", "force-cache", "x"])
def test_cache_modes_that_the_platform_lacks_are_refused(mode: str) -> None:
    assert refusal("http://a/", cache=mode) == f"TypeError: Unsupported cache mode: {mode}"


@pytest.mark.parametrize(
    ("cf", "options", "text"),
    [
        (
            {"cacheControl": "max-age=5", "cacheTtl": 5},
            {},
            "The 'cacheControl' and 'cacheTtl' options on cf are mutually exclusive. Use 'cacheControl' for explicit "
            "Cache-Control header directives, or 'cacheTtl' for a simplified TTL, but not both.",
        ),
        (
            {"cacheControl": "max-age=5"},
            {"cache": "no-store"},
            "The 'cacheControl' option on cf cannot be used together with the 'cache' request option. The 'cache' "
            "option ('no-store'/'no-cache') maps to cache TTL behavior internally, which conflicts with explicit "
            "Cache-Control directives.",
        ),
    ],
)
def test_two_ways_to_say_how_to_cache_are_refused(
    cf: dict[str, Any], options: dict[str, str], text: str
) -> None:
    assert refusal("http://a/", cf=cf, **options) == f"TypeError: {text}"


def test_one_way_to_say_how_to_cache_is_taken() -> None:
    assert Request.new("http://a/", cf={"cacheControl": "max-age=5"}).cache is None
    assert Request.new("http://a/", cf={"cacheTtl": 5}, cache="no-store").cache == "no-store"
    assert Request.new("http://a/", cf={"cacheControl": None, "cacheTtl": 5}).cf.cacheTtl == 5


@pytest.mark.parametrize(
    ("modes", "cache", "text"),
    [
        (
            frozenset(),
            "no-store",
            "Error: The 'cache' field on 'RequestInitializerDict' is not implemented.",
        ),
        (frozenset({"no-store"}), "no-cache", "TypeError: Unsupported cache mode: no-cache"),
    ],
)
def test_cache_modes_that_the_date_lacks_are_refused(
    modes: frozenset[str], cache: str, text: str
) -> None:
    def run() -> None:
        semantics.set(Semantics(cache_modes=modes))
        assert refusal("http://a/", cache=cache) == text

    contextvars.copy_context().run(run)


def test_making_a_get_of_a_request_with_a_body_is_refused() -> None:
    first = Request.new("http://a/", method="POST", body="x")
    assert "cannot have a body" in refusal(first, method="GET")


def test_clones_have_the_same_content_and_their_own_progress() -> None:
    async def main() -> None:
        request = Request.from_http("POST", "http://a/", [(b"a", b"1")], Chunks(b"ab", b"cd"))
        copy = request.clone()
        assert await request.text() == "abcd"
        assert copy.bodyUsed is False
        assert await copy.text() == "abcd"
        assert copy.headers.get("a") == "1"

    asyncio.run(main())


def test_a_used_request_cannot_be_cloned() -> None:
    async def main() -> None:
        request = Request.new("http://a/", method="POST", body="x")
        await request.text()
        with pytest.raises(JsException, match="currently locked to a reader,"):
            request.clone()

    asyncio.run(main())


def test_content_types_follow_the_body_unless_given() -> None:
    def kind(body: Any, **options: Any) -> Any:
        return Request.new("http://a/", method="POST", body=body, **options).headers.get(
            "content-type"
        )

    assert kind("x") == "text/plain;charset=UTF-8"
    assert kind(Uint8Array.from_bytes(b"x")) is jsnull
    assert kind(ReadableStream.new()) is jsnull
    assert kind("x", headers={"Content-Type": "text/html"}.items()) == "text/html"


def test_the_signal_given_is_the_signal_had() -> None:
    controller = AbortController.new()
    assert Request.new("http://a/", signal=controller.signal).signal is controller.signal
    assert Request.new("http://a/").signal.aborted is False


def test_the_signal_aborts_when_the_client_goes_away_before_or_after_it_is_asked_for() -> None:
    early = Request.from_http("GET", "http://a/", [])
    early.client_disconnected()
    assert early.signal.aborted is True
    late = Request.from_http("GET", "http://a/", [])
    signal = late.signal
    late.client_disconnected()
    assert signal.aborted is True


def test_cf_given_as_a_dict_is_read_as_attributes() -> None:
    request = Request.new(
        "http://a/", cf={"cacheTtl": 5, "image": {"width": 3}, "list": [{"a": 1}]}
    )
    assert (request.cf.cacheTtl, request.cf.image.width, request.cf.list[0].a) == (5, 3, 1)


def test_a_body_above_the_memory_of_a_worker_is_refused() -> None:
    async def main() -> None:
        body = Chunks(length=128 * 1024 * 1024 + 1)
        with pytest.raises(JsException, match="Memory limit would be exceeded before EOF"):
            await Request.from_http("POST", "http://a/", [], body).text()
        assert body.reads == 0

    asyncio.run(main())
