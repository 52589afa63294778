"""fetch: the outbound hook, redirects, aborting, and the network."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pyflare.js.abort import AbortController, AbortSignal
from pyflare.js.error import JsException
from pyflare.js.fetch import fetch, outbound
from pyflare.js.http_transport import HttpTransport
from pyflare.js.readable import ReadableStream
from pyflare.js.request import Request
from pyflare.js.response import Response

Handler = Callable[[Request], Awaitable[Response]]


def run(test: Callable[[], Awaitable[None]], handler: Handler | None = None) -> None:
    async def main() -> None:
        outbound.set(handler)
        await test()

    asyncio.run(main())


def redirects(places: dict[str, tuple[int, str]], seen: list[str]) -> Handler:
    async def handler(request: Request) -> Response:
        seen.append(f"{request.method} {request.url} {await request.text()}".strip())
        if request.url not in places:
            return Response.from_wire(200, "OK", [], None, url=request.url)
        status, location = places[request.url]
        return Response.from_wire(
            status, "", [(b"location", location.encode())], None, url=request.url
        )

    return handler


def test_requests_go_where_the_hook_says() -> None:
    async def handler(request: Request) -> Response:
        return Response.new(
            f"{request.method} {request.url} {request.headers.get('x-a')} {await request.text()}"
        )

    async def test() -> None:
        response = await fetch("http://h/a", method="POST", body="b", headers={"X-A": "1"}.items())
        assert await response.text() == "POST http://h/a 1 b"
        response = await fetch(Request.new("http://h/b"), {"headers": {"x-a": "2"}.items()})
        assert await response.text() == "GET http://h/b 2 "

    run(test, handler)


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (("nonsense",), "TypeError: Invalid URL: nonsense"),
        (("ftp://h/",), "TypeError: Fetch API cannot load: ftp://h/"),
        (
            ("http://h/", {"method": "GET", "body": "x"}),
            "TypeError: Request with a GET or HEAD method cannot have a body.",
        ),
    ],
)
def test_impossible_requests_reject(args: tuple[Any, ...], text: str) -> None:
    async def test() -> None:
        promise = fetch(*args)
        with pytest.raises(JsException) as caught:
            await promise
        assert str(caught.value) == text

    run(test)


@pytest.mark.parametrize(
    ("status", "method", "then"),
    [
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (303, "PUT", "GET"),
        (303, "HEAD", "HEAD"),
        (302, "PUT", "PUT"),
        (307, "POST", "POST"),
        (308, "POST", "POST"),
    ],
)
def test_redirects_change_the_method_as_the_standard_says(
    status: int, method: str, then: str
) -> None:
    seen: list[str] = []

    async def test() -> None:
        body = {} if method == "HEAD" else {"body": "data"}
        response = await fetch("http://h/a", method=method, **body)
        assert (response.redirected, response.url) == (True, "http://h/b?c")
        kept = "" if then in ("GET", "HEAD") else " data"
        assert seen[1] == f"{then} http://h/b?c{kept}"

    run(test, redirects({"http://h/a": (status, "/b?c")}, seen))


def test_a_request_that_loses_its_body_on_the_way_keeps_what_describes_it() -> None:
    kept: list[Any] = []

    async def handler(request: Request) -> Response:
        kept.append([request.headers.get(name) for name in ("content-type", "content-language")])
        status = 303 if len(kept) == 1 else 200
        return Response.from_wire(status, "", [(b"location", b"/b")], None, url=request.url)

    async def test() -> None:
        headers = {"content-type": "a/b", "content-language": "de"}.items()
        await fetch("http://h/a", method="POST", body="b", headers=headers)

    run(test, handler)
    assert kept == [["a/b", "de"], ["a/b", "de"]]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, (None, None)),
        ({"cache": "no-store"}, ("no-cache", "no-cache")),
        ({"cache": "no-cache"}, ("no-cache", "no-cache")),
        (
            {"cache": "no-store", "headers": {"Cache-Control": "max-age=1", "Pragma": "x"}.items()},
            ("max-age=1", "x"),
        ),
        ({"cache": "no-store", "cf": {"cacheTtl": -1}}, ("no-cache", "no-cache")),
    ],
)
def test_a_cache_mode_tells_the_other_side_unless_the_request_does(
    options: dict[str, Any], expected: tuple[str | None, str | None]
) -> None:
    seen: list[tuple[Any, ...]] = []

    async def handler(request: Request) -> Response:
        seen.append((request.headers.lookup("cache-control"), request.headers.lookup("pragma")))
        return Response.new("")

    async def test() -> None:
        await fetch("http://a/", **options)
        request = Request.new("http://a/", **options)
        await fetch(request)
        assert request.headers.has("pragma") is (options.get("headers") is not None)

    run(test, handler)
    assert seen == [expected] * 2


def test_a_lifetime_beside_no_store_is_refused_when_it_leaves() -> None:
    async def test() -> None:
        with pytest.raises(
            Exception, match=r"CacheTtl: 5, is not compatible with cache: no-store header\."
        ):
            await fetch("http://a/", cf={"cacheTtl": 5}, cache="no-store")

    run(test)


def test_manual_redirects_are_handed_back() -> None:
    seen: list[str] = []

    async def test() -> None:
        response = await fetch("http://h/a", redirect="manual")
        assert (response.status, response.headers.get("location"), len(seen)) == (302, "/b", 1)

    run(test, redirects({"http://h/a": (302, "/b")}, seen))


def test_twenty_redirects_are_followed_and_no_more() -> None:
    async def test() -> None:
        response = await fetch("http://h/1")
        assert response.status == 200
        with pytest.raises(JsException) as caught:
            await fetch("http://h/0")
        addresses = ", ".join(f"http://h/{n}" for n in range(21))
        assert str(caught.value) == f"TypeError: Too many redirects.{addresses}"

    run(test, redirects({f"http://h/{hop}": (302, f"/{hop + 1}") for hop in range(21)}, []))


@pytest.mark.parametrize("location", ["http://", "ftp://h/"])
def test_a_location_that_cannot_be_followed_rejects(location: str) -> None:
    async def test() -> None:
        with pytest.raises(JsException) as caught:
            await fetch("http://h/a")
        assert str(caught.value) == "TypeError: Invalid Location header; unable to follow redirect."

    run(test, redirects({"http://h/a": (302, location)}, []))


def test_a_streamed_body_cannot_be_sent_twice() -> None:
    async def test() -> None:
        with pytest.raises(JsException, match="A request with a one-time-use body"):
            await fetch("http://h/a", method="POST", body=ReadableStream.from_([b"x"]))

    run(test, redirects({"http://h/a": (307, "/b")}, []))


def test_credentials_do_not_follow_to_another_origin() -> None:
    seen: list[Any] = []

    async def handler(request: Request) -> Response:
        seen.append(request.headers.has("authorization"))
        if request.url == "http://h/a":
            return Response.from_wire(302, "", [(b"location", b"http://other/")], None)
        return Response.new("x")

    async def test() -> None:
        await fetch("http://h/a", headers={"Authorization": "secret"}.items())
        assert seen == [True, False]

    run(test, handler)


@pytest.mark.parametrize("when", ["before", "during"])
def test_aborting_rejects_with_the_reason_and_cancels_the_work(when: str) -> None:
    cancelled: list[None] = []

    async def handler(request: Request) -> Response:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append(None)
        return Response.new("never")

    async def test() -> None:
        controller = AbortController.new()
        signal = AbortSignal.abort() if when == "before" else controller.signal
        promise = fetch("http://h/", signal=signal)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        controller.abort()
        with pytest.raises(JsException) as caught:
            await promise
        assert caught.value.name == "AbortError"
        assert len(cancelled) == (0 if when == "before" else 1)

    run(test, handler)


class Server:
    """A small HTTP/1.1 server on the loopback interface that answers with what it is given."""

    def __init__(self, respond: Callable[[bytes], bytes]) -> None:
        self.respond = respond
        self.requests: list[bytes] = []

    async def __aenter__(self) -> Server:
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: Any) -> None:
        self.server.close()
        await self.server.wait_closed()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        body = b""
        lower = head.lower()
        if b"content-length:" in lower:
            body = await reader.readexactly(
                int(lower.split(b"content-length:")[1].split(b"\r\n")[0])
            )
        elif b"transfer-encoding: chunked" in lower:
            while size := int(await reader.readline(), 16):
                body += await reader.readexactly(size)
                await reader.readline()
        self.requests.append(head + body)
        writer.write(self.respond(head))
        await writer.drain()
        writer.close()
        await writer.wait_closed()


def answer(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    lines = [
        f"HTTP/1.1 {status}",
        *headers,
        f"content-length: {len(body)}",
        "connection: close",
        "",
        "",
    ]
    return "\r\n".join(lines).encode() + body


def test_the_network_is_used_without_a_hook() -> None:
    async def test() -> None:
        async with Server(
            lambda head: answer(b"hello", "X-A: 1", "Set-Cookie: a", "Set-Cookie: b")
        ) as server:
            response = await fetch(f"{server.url}/p?q#f", headers={"x-b": "2"}.items())
            assert (response.status, response.url) == (200, f"{server.url}/p?q")
            assert response.headers.get("x-a") == "1"
            assert list(response.headers.getSetCookie()) == ["a", "b"]
            assert await response.text() == "hello"
            head = server.requests[0].decode()
            assert head.startswith("GET /p?q HTTP/1.1\r\n")
            assert "x-b: 2" in head

    run(test)


def test_request_bodies_are_streamed() -> None:
    async def test() -> None:
        async with Server(lambda head: answer(b"")) as server:
            await fetch(server.url, method="POST", body=ReadableStream.from_([b"ab", b"c"]))
            await fetch(server.url, method="POST", body="known")
            assert server.requests[0].endswith(b"\r\n\r\nabc")
            assert b"content-length: 5" in server.requests[1].lower()
            assert server.requests[1].endswith(b"known")

    run(test)


def test_compressed_answers_are_read_decoded() -> None:
    async def test() -> None:
        async with Server(
            lambda head: answer(gzip.compress(b"plain"), "Content-Encoding: gzip")
        ) as server:
            response = await fetch(server.url)
            assert await response.text() == "plain"
            assert response.headers.has("content-length") is False

    run(test)


def test_redirects_are_followed_over_the_network() -> None:
    async def test() -> None:
        def respond(head: bytes) -> bytes:
            if head.startswith(b"GET /a "):
                return answer(b"", "Location: /b", status="302 Found")
            return answer(b"there")

        async with Server(respond) as server:
            response = await fetch(f"{server.url}/a")
            assert (await response.text(), response.url, response.redirected) == (
                "there",
                f"{server.url}/b",
                True,
            )

    run(test)


def test_a_server_that_cannot_be_reached_is_a_lost_connection() -> None:
    async def test() -> None:
        async with Server(lambda head: b"") as server:
            url = server.url
        with pytest.raises(JsException) as caught:
            await fetch(url)
        assert str(caught.value) == "Error: Network connection lost."
        assert caught.value.retryable is True

    run(test)


def test_an_answer_that_breaks_off_fails_the_body() -> None:
    async def test() -> None:
        broken = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort"
        async with Server(lambda head: broken) as server:
            response = await fetch(server.url)
            with pytest.raises(JsException, match="Network connection lost"):
                await response.text()

    run(test)


def test_aborting_while_the_body_is_read() -> None:
    async def test() -> None:
        endless = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n"
        held = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(endless)
            await writer.drain()
            await held.wait()
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        controller = AbortController.new()
        response = await fetch(
            f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", signal=controller.signal
        )
        reader = response.body.getReader()
        assert (await reader.read()).value.to_bytes() == b"ab"
        waiting = reader.read()
        await asyncio.sleep(0)
        controller.abort()
        with pytest.raises(JsException) as caught:
            await waiting
        assert caught.value.name == "AbortError"
        held.set()
        server.close()
        await server.wait_closed()

    run(test)


def test_one_transport_serves_many_requests() -> None:
    async def test() -> None:
        transport = HttpTransport()
        outbound.set(transport.send)
        async with Server(lambda head: answer(b"x")) as server:
            for _ in range(3):
                assert await (await fetch(server.url)).text() == "x"
        await transport.aclose()

    run(test)
