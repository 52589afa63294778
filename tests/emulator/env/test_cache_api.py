"""`js.caches` as worker code uses it."""

from __future__ import annotations

import asyncio
import gzip
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pyflare.js.buffer import Uint8Array
from pyflare.js.readable import ReadableStream
from pyflare.workers.runtime import Runtime
from pyflare_bindings.clock import ManualClock
from pyflare_bindings.registry import BindingRegistry

URL = "http://cache.key/x?a=1"
LARGE = 200_000

Program = Callable[[Any], Awaitable[Any]]


class Bench:
    """Runs programs in a context with caches; a program is called with ``caches.default``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = ManualClock()
        self.said: list[tuple[str, str]] = []

    def __call__(self, program: Program) -> Any:
        from pyflare.env.bindings import make_cache_opener
        from pyflare.js.caches import cache_opener
        from pyflare.js.callbacks import console_sink

        async def run() -> Any:
            registry = BindingRegistry(self.root, clock=self.clock)
            cache_opener.set(make_cache_opener(registry))
            console_sink.set(lambda level, text: self.said.append((level, text)))
            try:
                from js import caches

                return await program(caches.default)
            finally:
                await registry.close()

        return asyncio.run(run())

    def error(self, program: Program) -> str:
        from pyodide.ffi import JsException

        with pytest.raises(JsException) as caught:
            self(program)
        return str(caught.value)


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Bench]:
    installed = Runtime()
    installed.install()
    yield Bench(tmp_path / "state")
    installed.uninstall()


@asynccontextmanager
async def breaking_off() -> AsyncIterator[str]:
    """The address of a server that sends less than it has promised."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncache-control: max-age=60\r\ncontent-length: 9\r\n\r\n")
        writer.write(b"short")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"


def response(body: Any = "body", control: str | None = "max-age=60", **options: Any) -> Any:
    """A JavaScript response."""
    import js

    headers = dict(options.pop("headers", {}))
    if control is not None:
        headers["Cache-Control"] = control
    if isinstance(body, bytes):
        body = Uint8Array.from_bytes(body)
    return js.Response.new(body, headers=headers.items(), **options)


def request(url: str = URL, **options: Any) -> Any:
    import js

    if "headers" in options:
        options["headers"] = options["headers"].items()
    return js.Request.new(url, **options)


class TestRoundTrip:
    def test_a_response_is_found_again(self, cache: Bench) -> None:
        async def program(cache: Any) -> Any:
            assert (
                await cache.put(URL, response("wörd", status=404, headers={"X-Mine": "1"})) is None
            )
            found = await cache.match(URL)
            return found.status, found.statusText, found.headers.get("x-mine"), await found.text()

        assert cache(program) == (404, "Not Found", "1", "wörd")

    def test_it_tells_that_it_comes_from_the_cache(self, cache: Bench) -> None:
        async def program(cache: Any) -> Any:
            await cache.put(URL, response())
            found = await cache.match(URL)
            return dict(iter(found.headers))

        headers = cache(program)
        assert headers == {
            "age": "0",
            "cache-control": "max-age=60",
            "cf-cache-status": "HIT",
            "content-length": "4",
            "content-type": "text/plain;charset=UTF-8",
            "date": "Thu, 01 Jan 2026 00:00:00 GMT",
        }

    def test_nothing_found_is_undefined(self, cache: Bench) -> None:
        assert cache(lambda cache: cache.match(URL)) is None

    def test_each_match_is_a_copy_of_its_own_with_immutable_headers(self, cache: Bench) -> None:
        async def program(cache: Any) -> Any:
            await cache.put(URL, response())
            first, second = await cache.match(URL), await cache.match(URL)
            texts = await first.text(), await second.text()
            with pytest.raises(Exception, match="Can't modify immutable headers"):
                first.headers.set("a", "b")
            return texts

        assert cache(program) == ("body", "body")

    @pytest.mark.parametrize("size", [0, 10, LARGE])
    def test_bodies_of_all_kinds_come_back(self, cache: Bench, size: int) -> None:
        async def chunks() -> AsyncIterator[bytes]:
            for at in range(0, size, 7000):
                yield b"x" * min(7000, size - at)

        async def program(cache: Any) -> Any:
            import js

            await cache.put("http://a/bytes", response(b"x" * size))
            await cache.put("http://a/stream", response(js.ReadableStream.from_(chunks())))
            found = [await cache.match("http://a/bytes"), await cache.match("http://a/stream")]
            return [(await each.arrayBuffer()).to_bytes() for each in found]

        assert cache(program) == [b"x" * size] * 2

    def test_a_large_response_can_be_streamed_on(self, cache: Bench) -> None:
        async def program(cache: Any) -> Any:
            import js

            await cache.put(URL, response(b"ab" * LARGE))
            found = await cache.match(URL)
            return await js.Response.new(found.body, found).text()

        assert cache(program) == "ab" * LARGE

    def test_putting_uses_the_body_up_and_a_clone_keeps_it(self, cache: Bench) -> None:
        async def program(cache: Any) -> Any:
            first, second = response(), response()
            await cache.put(URL, first)
            await cache.put(URL, second.clone())
            return first.bodyUsed, await second.text()

        assert cache(program) == (True, "body")

    def test_a_body_that_was_read_cannot_be_put(self, cache: Bench) -> None:
        async def program(cache: Any) -> None:
            used = response()
            await used.text()
            await cache.put(URL, used)

        assert cache.error(program).startswith("TypeError: Body has already been used.")

    def test_the_requests_and_responses_of_the_sdk_are_taken(self, cache: Bench) -> None:
        async def program(cache: Any) -> Any:
            from workers import Request, Response

            kept = Response("old", headers={"Cache-Control": "s-maxage=3600"})
            await cache.put(Request(URL), kept)
            return await Response(await cache.match(Request(URL))).text()

        assert cache(program) == "old"

    def test_entries_survive_a_restart(self, cache: Bench) -> None:
        cache(lambda cache: cache.put(URL, response()))

        async def program(cache: Any) -> Any:
            return await (await cache.match(URL)).text()

        assert cache(program) == "body"


class TestKeys:
    def test_request_and_url_are_the_same_key(self, cache: Bench) -> None:
        async def program(cache: Any) -> Any:
            import js

            await cache.put(request("http://a"), response())
            found = [
                await cache.match(key) for key in ("http://a", "http://A/", js.URL.new("http://a"))
            ]
            return [each is not None for each in found]

        assert cache(program) == [True, True, True]

    @pytest.mark.parametrize("url", ["http://cache.key/x", "https://cache.key/x?a=1",
                                     "http://other/x?a=1", "http://cache.key/x?a=2"])  # fmt: skip
    def test_every_part_of_the_url_counts(self, cache: Bench, url: str) -> None:
        async def program(cache: Any) -> Any:
            await cache.put(URL, response())
            return await cache.match(url)

        assert cache(program) is None

    def test_headers_of_the_request_do_not_count(self, cache: Bench) -> None:
        async def program(cache: Any) -> Any:
            varying = response(headers={"Vary": "Accept"})
            await cache.put(request(headers={"accept": "a"}), varying)
            return (await cache.match(request(headers={"accept": "b"}))).status

        assert cache(program) == 200

    def test_an_own_cache_key_takes_the_place_of_the_url(self, cache: Bench) -> None:
        async def program(cache: Any) -> Any:
            await cache.put(request("http://a/", cf={"cacheKey": "mine"}), response())
            return [
                await cache.match("http://a/"),
                (await cache.match(request("http://b/", cf={"cacheKey": "mine"}))).status,
                await cache.match(request("http://a/", cf={"cacheKey": ""})),
            ]

        assert cache(program) == [None, 200, None]

    @pytest.mark.parametrize(
        ("url", "text"),
        [
            *((url, f": {url}") for url in ("/path", "x", "", "http://")),
            (None, ": undefined"),
            *(
                (url, ". Cache API keys must be fully-qualified, valid URLs.")
                for url in ("https://u:p@x/", "https://u@x/", "data:,x", "mailto:a@b.c")
            ),
        ],
    )
    def test_a_key_is_a_whole_url(self, cache: Bench, url: Any, text: str) -> None:
        text = f"TypeError: Invalid URL{text}"
        assert cache.error(lambda cache: cache.match(url)) == text
        assert cache.error(lambda cache: cache.put(url, response())) == text
        assert cache.error(lambda cache: cache.delete(url)) == text

    def test_a_request_is_no_key_with_a_user_before_its_host(self, cache: Bench) -> None:
        text = "TypeError: Invalid URL. Cache API keys must be fully-qualified, valid URLs."
        assert cache.error(lambda cache: cache.match(request("https://u:p@x/"))) == text
        assert cache(lambda cache: cache.match(request("https://x/a@b?c@d"))) is None

    def test_what_comes_from_a_cache_is_a_hit_once(self, cache: Bench) -> None:
        async def program(cache: Any) -> Any:
            found = []
            await cache.put(URL, response(headers={"CF-Cache-Status": "DYNAMIC"}))
            for _ in range(2):
                answer = await cache.match(URL)
                found.append(answer.headers.get("cf-cache-status"))
                await cache.put(URL, answer)
            return found

        assert cache(program) == ["HIT", "HIT"]


GZIPPED = gzip.compress(b"plain text", mtime=0)


def encoded(body: bytes, coding: str) -> Any:
    """A response whose body the worker has compressed itself."""
    return response(body, headers={"Content-Encoding": coding}, encodeBody="manual")


class TestEncodedBodies:
    @pytest.mark.parametrize("size", [10, LARGE], ids=["in the row", "in a file"])
    def test_what_was_compressed_is_read_as_it_was_before(self, cache: Bench, size: int) -> None:
        plain = random.Random(1).randbytes(size // 2).hex()

        async def program(cache: Any) -> Any:
            await cache.put(URL, encoded(gzip.compress(plain.encode()), "gzip"))
            found = await cache.match(URL)
            return found.headers.get("content-encoding"), await found.text()

        assert cache(program) == ("gzip", plain)

    def test_it_is_passed_on_as_it_is(self, cache: Bench) -> None:
        async def program(cache: Any) -> Any:
            await cache.put(URL, encoded(GZIPPED, "gzip"))
            found = await cache.match(URL)
            _, _, pairs, body = found.take_payload(as_sent=True)
            return found.encodeBody, dict(pairs)[b"content-length"], await collected(body)

        assert cache(program) == ("manual", str(len(GZIPPED)).encode(), GZIPPED)

    def test_it_stays_compressed_after_a_restart(self, cache: Bench) -> None:
        cache(lambda cache: cache.put(URL, encoded(GZIPPED, "gzip")))

        async def program(cache: Any) -> Any:
            found = await cache.match(URL)
            return await found.text(), ":encoded" in dict(iter(found.headers))

        assert cache(program) == ("plain text", False)

    def test_a_copy_can_be_put_again(self, cache: Bench) -> None:
        async def program(cache: Any) -> Any:
            await cache.put(URL, encoded(GZIPPED, "gzip"))
            await cache.put(URL + "2", await cache.match(URL))
            return await (await cache.match(URL + "2")).text()

        assert cache(program) == "plain text"

    def test_a_coding_that_python_does_not_have_is_passed_on(self, cache: Bench) -> None:
        async def program(cache: Any) -> Any:
            await cache.put(URL, encoded(b"not really Brotli", "br"))
            found = await cache.match(URL)
            return found.encodeBody, found.headers.get("content-encoding"), await found.text()

        assert cache(program) == ("manual", "br", "not really Brotli")

    def test_a_range_is_one_of_the_compressed_bytes(self, cache: Bench) -> None:
        async def program(cache: Any) -> Any:
            await cache.put(URL, encoded(GZIPPED, "gzip"))
            found = await cache.match(request(headers={"Range": "bytes=0-1"}))
            return found.status, found.encodeBody, (await found.arrayBuffer()).to_bytes()

        assert cache(program) == (206, "manual", GZIPPED[:2])

    def test_what_is_compressed_on_its_way_out_has_no_length(self, cache: Bench) -> None:
        async def program(cache: Any) -> Any:
            await cache.put(URL, response("text", headers={"Content-Encoding": "gzip"}))
            found = await cache.match(URL)
            return found.encodeBody, found.headers.has("content-length"), await found.text()

        assert cache(program) == ("automatic", False, "text")

    def test_what_is_not_gzip_fails_when_it_is_read(self, cache: Bench) -> None:
        async def program(cache: Any) -> Any:
            await cache.put(URL, encoded(b"no gzip at all", "gzip"))
            await (await cache.match(URL)).text()

        assert cache.error(program) == "TypeError: Decompression failed."


async def collected(body: Any) -> bytes:
    return bytes(body) if isinstance(body, bytes) else b"".join([bytes(c) async for c in body])


class TestMethods:
    def test_another_method_finds_nothing_unless_it_is_ignored(self, cache: Bench) -> None:
        async def program(cache: Any) -> Any:
            await cache.put(URL, response())
            head = request(method="HEAD")
            return [
                await cache.match(head),
                (await cache.match(head, ignoreMethod=True)).status,
                (await cache.match(head, {"ignoreMethod": True})).status,
                await cache.delete(head),
                await cache.delete(head, ignoreMethod=True),
                await cache.delete(URL),
            ]

        assert cache(program) == [None, 200, 200, False, True, False]

    def test_only_an_answer_to_get_can_be_put(self, cache: Bench) -> None:
        assert cache.error(lambda cache: cache.put(request(method="POST"), response())) == (
            "TypeError: Cannot cache response to non-GET request."
        )


class TestDelete:
    def test_a_response_is_gone_once_and_stays_gone(self, cache: Bench) -> None:
        async def program(cache: Any) -> Any:
            await cache.put(URL, response("old", "s-maxage=3600"))
            first = await cache.delete(URL)
            second = await cache.delete(URL)
            return first, second, await cache.match(URL)

        assert cache(program) == (True, False, None)

    def test_named_caches_are_apart_from_the_default_one(self, cache: Bench) -> None:
        async def program(cache: Any) -> Any:
            from js import caches

            named = await caches.open("default")
            await cache.put(URL, response("of the default"))
            before = await named.match(URL)
            await named.put(URL, response("of the named"))
            deleted = await named.delete(URL)
            return before, deleted, await (await cache.match(URL)).text()

        assert cache(program) == (None, True, "of the default")


class TestRefusals:
    @pytest.mark.parametrize(
        ("make", "text"),
        [
            (
                lambda: response(status=206),
                "Cannot cache response to a range request (206 Partial Content).",
            ),
            (
                lambda: response(headers={"Vary": "*"}),
                "Cannot cache response with 'Vary: *' header.",
            ),
            (
                lambda: response(headers={"Vary": "Accept, *"}),
                "Cannot cache response with 'Vary: *' header.",
            ),
            (lambda: "no response", "Failed to execute 'put' on 'Cache': parameter 2 is not of type "
                "'Response'."),
        ],
    )  # fmt: skip
    def test_what_cannot_be_put(self, cache: Bench, make: Any, text: str) -> None:
        assert cache.error(lambda cache: cache.put(URL, make())) == f"TypeError: {text}"

    def test_an_error_response_cannot_be_put(self, cache: Bench) -> None:
        async def program(cache: Any) -> None:
            import js

            await cache.put(URL, js.Response.error())

        assert cache.error(program) == "TypeError: Cache is unable to store an error response"

    def test_a_not_modified_answer_is_ignored_with_a_warning(self, cache: Bench) -> None:
        async def program(cache: Any) -> Any:
            await cache.put(URL, response("kept"))
            await cache.put(URL, response(None, status=304))
            return await (await cache.match(URL)).text()

        assert cache(program) == "kept"
        ((level, text),) = cache.said
        assert level == "warn"
        assert text.startswith("Ignoring attempt to Cache.put() a 304 status response.")

    def test_a_fetched_body_that_breaks_off_is_not_stored_and_no_error(self, cache: Bench) -> None:
        async def program(cache: Any) -> Any:
            import js

            await cache.put(URL, response("kept"))
            async with breaking_off() as origin:
                await cache.put(URL, await js.fetch(origin))
            return await (await cache.match(URL)).text()

        assert cache(program) == "kept"

    def test_a_body_that_a_worker_fails_is_an_error(self, cache: Bench) -> None:
        async def program(cache: Any) -> Any:
            import js

            async def chunks() -> AsyncIterator[Any]:
                yield b"abc"
                raise js.Error.new("Network connection lost.")

            body = ReadableStream.from_async_iterator(chunks())
            await cache.put(URL, response(body))

        assert cache.error(program) == "Error: Network connection lost."

    def test_a_body_that_somebody_else_reads_is_refused(self, cache: Bench) -> None:
        async def program(cache: Any) -> Any:
            given = response()
            given.body.getReader()
            await cache.put(URL, given)

        text = "TypeError: The ReadableStream has been locked to a reader."
        assert cache.error(program) == text

    def test_a_response_with_a_websocket_is_refused(self, cache: Bench) -> None:
        async def program(cache: Any) -> Any:
            import js

            ours, _ = js.WebSocketPair.new().object_values()
            await cache.put(URL, response(None, status=101, webSocket=ours))

        assert cache.error(program) == (
            "TypeError: Worker tried to return a WebSocket in a response to a request which did not contain the "
            'header "Upgrade: websocket".'
        )

    @pytest.mark.parametrize("status", [200, 201, 203, 204, 301, 302, 404, 410, 418, 500])
    def test_every_other_status_is_found_again(self, cache: Bench, status: int) -> None:
        async def program(cache: Any) -> Any:
            body = None if status == 204 else "body"
            await cache.put(URL, response(body, "public, max-age=60", status=status))
            return (await cache.match(URL)).status

        assert cache(program) == status

    @pytest.mark.parametrize("control", ["no-store", "private", "max-age=0", "no-cache"])
    def test_what_may_not_be_stored_is_passed_over(self, cache: Bench, control: str) -> None:
        async def program(cache: Any) -> Any:
            await cache.put(URL, response("body", control))
            return await cache.match(URL)

        assert cache(program) is None

    def test_an_answer_to_an_authorized_request_has_to_allow_it(self, cache: Bench) -> None:
        async def program(cache: Any) -> Any:
            asked = request(headers={"authorization": "secret"})
            await cache.put(asked, response())
            private = await cache.match(URL)
            await cache.put(asked, response("body", "public, max-age=60"))
            return private, (await cache.match(URL)).status

        assert cache(program) == (None, 200)

    def test_cookies_are_kept_only_by_leave_and_never_found(self, cache: Bench) -> None:
        async def program(cache: Any) -> Any:
            cookie = {"Set-Cookie": "a=1"}
            await cache.put(URL, response(headers=cookie))
            without_leave = await cache.match(URL)
            await cache.put(URL, response("b", "max-age=60, private=Set-Cookie", headers=cookie))
            found = await cache.match(URL)
            return (
                without_leave,
                found.headers.has("set-cookie"),
                found.headers.get("cache-control"),
            )

        assert cache(program) == (None, False, "max-age=60")

    def test_a_stream_that_is_not_stored_is_cancelled(self, cache: Bench) -> None:
        reasons = []

        async def program(cache: Any) -> None:
            import js

            stream = js.ReadableStream.new({"cancel": reasons.append})
            await cache.put(URL, response(stream, "no-store"))

        cache(program)
        assert [str(reason) for reason in reasons] == ["AbortError: The response was not stored."]

    def test_a_stream_that_fails_rejects_and_leaves_what_was_there(self, cache: Bench) -> None:
        async def program(cache: Any) -> Any:
            import js

            async def pull(controller: Any) -> None:
                controller.error(js.Error.new("the source is gone"))

            await cache.put(URL, response("old"))
            try:
                await cache.put(URL, response(js.ReadableStream.new({"pull": pull})))
            except Exception as error:
                return str(error), await (await cache.match(URL)).text()

        assert cache(program) == ("Error: the source is gone", "old")


class TestLifetime:
    @pytest.mark.parametrize("status", [200, 301, 404])
    def test_a_response_without_headers_is_found_for_its_default_time(
        self, cache: Bench, status: int
    ) -> None:
        seconds = 180 if status == 404 else 7200

        async def program(cache: Any) -> Any:
            await cache.put(URL, response("body", None, status=status))
            seen = []
            for step in (seconds - 1, 1):
                await clock.advance(step)
                seen.append(await cache.match(URL) is not None)
            return seen

        clock = cache.clock
        assert cache(program) == [True, False]

    def test_s_maxage_wins_over_max_age(self, cache: Bench) -> None:
        async def program(cache: Any) -> Any:
            await cache.put(URL, response("body", "max-age=1000, s-maxage=10"))
            await clock.advance(10)
            return await cache.match(URL), await cache.delete(URL)

        clock = cache.clock
        assert cache(program) == (None, False)


class TestConditionsAndRanges:
    @pytest.mark.parametrize(
        ("asked", "status", "body"),
        [
            ({"range": "bytes=2-4"}, 206, "234"),
            ({"range": "bytes=-2"}, 206, "89"),
            ({"range": "bytes=10-"}, 416, ""),
            ({"if-none-match": 'W/"v1"'}, 304, ""),
            ({"if-none-match": '"v2"'}, 200, "0123456789"),
            ({"range": "bytes=2-4", "if-none-match": '"v1"'}, 304, ""),
            ({"range": "bytes=10-", "if-none-match": '"v1"'}, 416, ""),
        ],
    )
    def test_the_headers_of_the_request_decide(
        self, cache: Bench, asked: dict[str, str], status: int, body: str
    ) -> None:
        async def program(cache: Any) -> Any:
            await cache.put(URL, response("0123456789", headers={"ETag": '"v1"'}))
            found = await cache.match(request(headers=asked))
            return found.status, await found.text(), found.headers.get("cf-cache-status")

        assert cache(program) == (status, body, "HIT")

    def test_a_part_of_a_large_response_is_read_alone(self, cache: Bench) -> None:
        async def program(cache: Any) -> Any:
            await cache.put(URL, response(b"ab" * LARGE))
            found = await cache.match(request(headers={"range": "bytes=100001-100003"}))
            return found.headers.get("content-range"), await found.text()

        assert cache(program) == (f"bytes 100001-100003/{2 * LARGE}", "bab")

    def test_several_parts_of_a_large_response_come_as_one_body(self, cache: Bench) -> None:
        async def program(cache: Any) -> Any:
            await cache.put(URL, response(b"ab" * LARGE))
            found = await cache.match(request(headers={"range": "bytes=0-1,5-6"}))
            return int(found.headers.get("content-length")), await found.text()

        length, text = cache(program)
        assert length == len(text)
        assert text.count("Content-Range: bytes") == 2

    def test_a_stream_of_parts_can_be_cancelled(self, cache: Bench) -> None:
        async def program(cache: Any) -> None:
            await cache.put(URL, response(b"ab" * LARGE))
            found = await cache.match(request(headers={"range": "bytes=0-1,5-6"}))
            reader = found.body.getReader()
            await reader.read()
            await reader.cancel()

        cache(program)


class TestStorage:
    def test_the_default_cache_is_one_object(self, cache: Bench) -> None:
        async def program(cache: Any) -> Any:
            from js import caches

            return caches.default is cache, cache.constructor.name, caches.constructor.name

        assert cache(program) == (True, "Cache", "CacheStorage")

    def test_a_cache_is_an_instance_of_the_global_class(self, cache: Bench) -> None:
        async def program(cache: Any) -> Any:
            import js

            return isinstance(cache, js.Cache)

        assert cache(program)

    @pytest.mark.parametrize(("name", "accepted"), [("x" * 1023, True), ("x" * 1024, False)])
    def test_the_name_of_a_cache_has_a_limit(self, cache: Bench, name: str, accepted: bool) -> None:
        async def program(_: Any) -> Any:
            from js import caches

            return await caches.open(name)

        if accepted:
            assert cache(program) is not None
        else:
            assert cache.error(program) == "TypeError: Cache name is too long."

    @pytest.mark.parametrize("name", ["add", "addAll", "keys", "matchAll"])
    def test_what_production_does_not_implement(self, cache: Bench, name: str) -> None:
        async def program(cache: Any) -> Any:
            getattr(cache, name)(URL)

        assert cache.error(program) == (
            f"Error: Failed to execute '{name}' on 'Cache': the method is not implemented."
        )

    @pytest.mark.parametrize("name", ["match", "has", "delete", "keys"])
    def test_what_production_does_not_implement_of_all_caches(
        self, cache: Bench, name: str
    ) -> None:
        async def program(_: Any) -> Any:
            from js import caches

            getattr(caches, name)(URL)

        assert cache.error(program) == (
            f"Error: Failed to execute '{name}' on 'CacheStorage': the method is not implemented."
        )

    def test_a_cache_needs_a_name(self, cache: Bench) -> None:
        async def program(_: Any) -> Any:
            from js import caches

            await caches.open()

        assert cache.error(program) == (
            "TypeError: Failed to execute 'open' on 'CacheStorage': parameter 1 is not of type 'string'."
        )

    def test_outside_a_worker_there_are_no_caches(self, cache: Bench) -> None:
        from js import caches

        with pytest.raises(Exception, match="The caches belong to a worker"):
            _ = caches.default

    def test_a_damaged_entry_is_an_error_that_names_the_file(self, cache: Bench) -> None:
        cache(lambda cache: cache.put(URL, response(b"x" * LARGE)))
        (blob,) = cache.root.glob("**/*.blobs/*")
        blob.unlink()
        assert str(blob) in cache.error(lambda cache: cache.match(URL))
