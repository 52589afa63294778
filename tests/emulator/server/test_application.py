"""The application over real sockets: requests in, responses out."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pyflare.js.buffer import Uint8Array
from pyflare.js.readable import ReadableStream
from pyflare.js.response import Response
from pyflare.server.application import Application


def answering(serving: Any, handler: Any, **request: Any) -> Any:
    """The answer of one worker to one GET request."""

    async def go() -> Any:
        async with serving(handler) as client:
            return await client.get(**request)

    return asyncio.run(go())


def test_text_response(serving: Any) -> None:
    answer = answering(serving, lambda _: Response.new("hello"))
    assert (answer.status, answer.reason, answer.body) == (200, "OK", b"hello")
    assert answer.headers == [
        ("content-type", "text/plain;charset=UTF-8"),
        ("content-length", "5"),
        ("connection", "close"),
    ]


def test_response_has_neither_date_nor_server(serving: Any) -> None:
    answer = answering(serving, lambda _: Response.new("hello"))
    assert answer.get("date") is None
    assert answer.get("server") is None


def test_null_body_has_length_zero(serving: Any) -> None:
    answer = answering(serving, lambda _: Response.new(None))
    assert (answer.get("content-length"), answer.body) == ("0", b"")


@pytest.mark.parametrize("status", [204, 304])
def test_statuses_without_body_have_no_length(serving: Any, status: int) -> None:
    answer = answering(serving, lambda _: Response.new(None, status=status))
    assert answer.status == status
    assert answer.get("content-length") is None
    assert answer.get("transfer-encoding") is None


def test_several_cookies_stay_several_headers(serving: Any) -> None:
    pairs = [["set-cookie", "a=1"], ["set-cookie", "b=2, c"]]
    answer = answering(serving, lambda _: Response.new("x", headers=pairs))
    assert answer.all("set-cookie") == ["a=1", "b=2, c"]


@pytest.mark.parametrize("name", ["Content-Length", "Transfer-Encoding", "Connection"])
def test_headers_of_the_connection_belong_to_the_server(serving: Any, name: str) -> None:
    answer = answering(serving, lambda _: Response.new("hello", headers={name: "99"}.items()))
    assert (answer.body, answer.complete) == (b"hello", True)
    assert "99" not in [value for _, value in answer.headers]


def test_head_keeps_the_headers_and_drops_the_body(serving: Any) -> None:
    answer = answering(serving, lambda _: Response.new("hello"), method="HEAD")
    assert (answer.get("content-length"), answer.body) == ("5", b"")


@pytest.mark.parametrize("body", [None, "", Uint8Array.new(), ReadableStream], ids=repr)
def test_head_may_announce_the_length_of_a_body_that_it_does_not_make(
    serving: Any, body: Any
) -> None:
    def handler(_: Any) -> Response:
        made = body.new() if body is ReadableStream else body
        return Response.new(made, headers={"content-length": "1234"}.items())

    assert answering(serving, handler, method="HEAD").all("content-length") == ["1234"]


def test_head_announces_the_length_of_the_body_that_it_does_make(serving: Any) -> None:
    handler = lambda _: Response.new("hello", headers={"content-length": "1234"}.items())  # noqa: E731
    assert answering(serving, handler, method="HEAD").all("content-length") == ["5"]


def test_large_body_arrives_whole(serving: Any) -> None:
    text = "0123456789" * 500_000
    answer = answering(serving, lambda _: Response.new(text))
    assert answer.body == text.encode()
    assert answer.get("content-length") == "5000000"


def test_worker_sees_method_and_url(serving: Any) -> None:
    seen = lambda request: Response.new(f"{request.method} {request.url}")  # noqa: E731
    answer = answering(serving, seen, method="PUT", path="/a?b=c", host="my.test:1")
    assert answer.text == "PUT http://my.test:1/a?b=c"


def test_request_without_body_has_none(serving: Any) -> None:
    answer = answering(serving, lambda request: Response.new(str(request.body)))
    assert answer.text == "jsnull"


def test_request_body_is_read_by_the_worker(serving: Any) -> None:
    async def echo(request: Any) -> Response:
        return Response.new(await request.text())

    async def go() -> Any:
        async with serving(echo) as client:
            return await client.post(b"x" * 300_000)

    assert asyncio.run(go()).body == b"x" * 300_000


def test_cf_is_made_from_the_connection(serving: Any) -> None:
    def handler(request: Any) -> Response:
        cf = request.cf
        return Response.new(f"{cf.colo} {cf.httpProtocol} {cf.clientAcceptEncoding}")

    answer = answering(serving, handler, accept_encoding="zstd")
    assert answer.text == "DFW HTTP/1.1 zstd"


def test_cf_can_be_given(serving: Any) -> None:
    async def go() -> Any:
        handler = lambda request: Response.new(str(request.cf))  # noqa: E731
        async with serving(handler, cf=lambda accept, version: f"{accept}|{version}") as client:
            return await client.get(accept_encoding="br")

    assert asyncio.run(go()).text == "br|1.1"


def test_bad_host_is_answered_with_400_and_does_not_reach_the_worker(serving: Any) -> None:
    answer = answering(serving, lambda _: Response.new("reached"), host="user@evil.example")
    assert (answer.status, answer.text) == (400, "The Host header is not a valid host name.")


def test_switching_protocols_is_refused_where_nobody_asked(serving: Any) -> None:
    class Upgrade:
        encodeBody = "automatic"

        def take_payload(self, **_: Any) -> Any:
            return 101, "", [], None

    answer = answering(serving, lambda _: Upgrade())
    assert answer.status == 500
    assert 'which did not contain the header "Upgrade: websocket"' in answer.text


def test_content_encoding_is_a_wish_to_compress(serving: Any) -> None:
    handler = lambda _: Response.new("hello" * 100, headers={"content-encoding": "gzip"}.items())  # noqa: E731
    answer = answering(serving, handler)
    assert answer.get("content-encoding") == "gzip"
    assert gzip.decompress(answer.body) == b"hello" * 100
    assert answer.get("content-length") == str(len(answer.body))


def test_stream_is_compressed_chunk_by_chunk(serving: Any) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield b"hello "
        yield b"world"

    def handler(_: Any) -> Response:
        stream = ReadableStream.from_async_iterator(chunks())
        return Response.new(stream, headers={"content-encoding": "gzip"}.items())

    assert gzip.decompress(answering(serving, handler).body) == b"hello world"


def test_manual_encoding_passes_the_body_on(serving: Any) -> None:
    def handler(_: Any) -> Response:
        return Response.new(
            "raw", headers={"content-encoding": "gzip"}.items(), encodeBody="manual"
        )

    answer = answering(serving, handler)
    assert (answer.get("content-encoding"), answer.body) == ("gzip", b"raw")


def test_brotli_is_answered_uncompressed(serving: Any) -> None:
    handler = lambda _: Response.new("text", headers={"content-encoding": "br"}.items())  # noqa: E731
    answer = answering(serving, handler)
    assert (answer.get("content-encoding"), answer.body) == (None, b"text")


def test_request_is_logged_without_its_query(serving: Any) -> None:
    async def go() -> str:
        async with serving(lambda _: Response.new("x", status=404)) as client:
            await client.get("/some/path?secret=1")
            client.log.flush()
            return client.out.getvalue()

    line = asyncio.run(go())
    assert line.startswith("[wrangler:info] GET /some/path 404 Not Found (")
    assert line.endswith("ms)\n")


def test_own_status_text_is_logged(serving: Any) -> None:
    async def go() -> str:
        handler = lambda _: Response.new("x", status=200, statusText="Fine")  # noqa: E731
        async with serving(handler) as client:
            await client.get("/")
            client.log.flush()
            return client.out.getvalue()

    assert "GET / 200 Fine (" in asyncio.run(go())


def test_malformed_request_gets_400_and_disturbs_nobody(serving: Any) -> None:
    async def go() -> Any:
        async with serving(lambda _: Response.new("fine")) as client:
            bad = await client.send(b"this is not HTTP\r\n\r\n")
            return bad, await client.get("/")

    bad, good = asyncio.run(go())
    assert bad.status == 400
    assert (good.status, good.text) == (200, "fine")


@pytest.mark.parametrize("target", ["http://169.254.169.254/x", "http://user@evil.example/x"])
def test_absolute_target_does_not_choose_the_host(serving: Any, target: str) -> None:
    async def go() -> Any:
        async with serving(lambda request: Response.new(request.url)) as client:
            request = f"GET {target} HTTP/1.1\r\nhost: my.test\r\nconnection: close\r\n\r\n"
            return await client.send(request.encode())

    assert asyncio.run(go()).text == "http://my.test/x"


@pytest.mark.parametrize(
    "request_line", ["CONNECT evil.example:443 HTTP/1.1", "GET / HTTP/9.9", "GET nowhere HTTP/1.1"]
)
def test_request_line_that_names_no_path_gets_400(serving: Any, request_line: str) -> None:
    async def go() -> Any:
        async with serving(lambda _: Response.new("reached")) as client:
            return await client.send(f"{request_line}\r\nhost: x\r\n\r\n".encode())

    assert asyncio.run(go()).status == 400


def test_body_that_never_ends_disturbs_nobody(serving: Any) -> None:
    async def handler(request: Any) -> Response:
        return Response.new(await request.text() if request.method == "POST" else "fine")

    async def go() -> Any:
        async with serving(handler) as client:
            _, writer = await client.connect()
            writer.write(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nonly this")
            await writer.drain()
            return await client.get("/")

    assert asyncio.run(go()).text == "fine"


def test_outer_host_comes_back_in_response_headers(serving: Any, program: Any) -> None:
    from pyflare.server.inbound import Upstream

    def handler(request: Any) -> Response:
        headers = [["location", f"{request.url}next"], ["set-cookie", "a=1; Domain=example.com"]]
        return Response.new(None, status=302, headers=headers)

    async def go() -> Any:
        worker = program(handler)
        upstreams = {"program": Upstream("example.com", "https")}
        make = lambda log: Application(route=lambda _: worker, log=log, upstreams=upstreams)  # noqa: E731
        async with serving(app=make) as client:
            return await client.get("/", host="localhost:8787")

    answer = asyncio.run(go())
    assert answer.get("location") == "http://localhost:8787/next"
    assert answer.get("set-cookie") == "a=1; Domain=localhost"


class TestOtherProtocols:
    def call(self, kind: str) -> list[Any]:
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "websocket.connect"}

        async def send(message: Any) -> None:
            sent.append(message)

        async def go() -> None:
            from pyflare.server.log import LogSink

            app = Application(route=lambda _: None, log=LogSink(level="none"))  # type: ignore[arg-type, return-value]
            await app({"type": kind}, receive, send)

        asyncio.run(go())
        return sent

    def test_unknown_scope_is_named(self) -> None:
        with pytest.raises(RuntimeError, match="'something'"):
            self.call("something")
