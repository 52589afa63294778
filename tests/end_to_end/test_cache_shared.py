"""The Cache API through the real command: one cache for three Workers, and background deletes."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .conftest import Serve
from .dev_server import DevServer
from .projects import write_project

ROUNDS = 50
NAMES = ("small", "large", "reader")
SOURCE = """
import asyncio
from urllib.parse import parse_qs, urlsplit

from js import Request as JsRequest
from js import Response as JsResponse
from js import caches
from workers import Response, WorkerEntrypoint

MIB = 1024 * 1024


def kept(body):
    return JsResponse.new(body, headers={"Cache-Control": "s-maxage=3600"}.items())


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        cache = caches.default
        url = urlsplit(request.url)
        number = int(parse_qs(url.query).get("round", ["0"])[0])
        match url.path:
            case "/small":
                for index in range(20):
                    await cache.put(f"http://cache.key/small/{index}", kept(f"{number:04}" * 256))
            case "/large":
                await cache.put("http://cache.key/large", kept(f"{number:04}" * (MIB // 4)))
            case "/reader":
                return Response.json(await self.read(cache, number))
            case "/page":
                return await self.page(cache, request)
            case "/forget":
                await cache.put("http://cache.key/old", kept("old"))
                self.ctx.waitUntil(self.forget(cache))
                return Response("kept" if await cache.match("http://cache.key/old") else "gone")
            case "/forgotten":
                while await cache.match("http://cache.key/done") is None:
                    await asyncio.sleep(0.01)
                return Response("kept" if await cache.match("http://cache.key/old") else "gone")
            case "/named":
                named = await caches.open("mine")
                await named.put("http://cache.key/named", kept("named"))
                return Response.json([
                    await (await named.match("http://cache.key/named")).text(),
                    await cache.match("http://cache.key/named"),
                ])
        return Response("done")

    async def read(self, cache, number):
        errors = []
        for index in range(20):
            key = f"http://cache.key/small/{index}"
            found = await cache.match(key)
            text = None if found is None else await found.text()
            if text is not None and text != text[:4] * 256:
                errors.append(f"{key} is torn")
            if (number + index) % 7 == 0:
                await cache.delete(key)
        asked = JsRequest.new("http://cache.key/large", headers={"range": "bytes=4000-4003"}.items())
        part, whole = await cache.match(asked), await cache.match("http://cache.key/large")
        if part is not None and (part.status != 206 or not (await part.text()).isdigit()):
            errors.append("the part is wrong")
        if whole is not None:
            text = await whole.text()
            if text != text[:4] * (MIB // 4):
                errors.append("the large one is torn")
        return errors

    async def page(self, cache, request):
        found = await cache.match(request)
        if found is not None:
            return Response(found)
        made = JsResponse.new("made", headers={"Cache-Control": "max-age=60"}.items())
        self.ctx.waitUntil(cache.put(request, made.clone()))
        return Response(made)

    async def forget(self, cache):
        await asyncio.sleep(0.02)
        await cache.delete("http://cache.key/old")
        await cache.put("http://cache.key/done", kept("yes"))
"""


def configurations(directory: Path) -> list[Path]:
    return [write_project(directory / name, SOURCE, name=name) for name in NAMES]


def ask(server: DevServer, worker: str, path: str) -> str:
    answer = server.get(path, headers={"host": f"{worker}.localhost"})
    assert answer.status_code == 200, answer.text
    return answer.text


def test_fifty_rounds_of_writers_and_a_reader_show_no_error(serve: Serve, tmp_path: Path) -> None:
    server = serve(*configurations(tmp_path))
    with ThreadPoolExecutor(3) as clients:
        for number in range(ROUNDS):
            small = clients.submit(ask, server, "small", f"/small?round={number}")
            large = clients.submit(ask, server, "large", f"/large?round={number}")
            reader = clients.submit(ask, server, "reader", f"/reader?round={number}")
            assert (small.result(), large.result(), reader.result()) == ("done", "done", "[]")


def test_a_page_is_made_once_and_then_comes_from_the_cache_also_after_a_restart(
    serve: Serve, tmp_path: Path
) -> None:
    first = serve(*configurations(tmp_path))
    made = first.get("/page")
    assert (made.text, made.headers.get("cf-cache-status")) == ("made", None)
    again = first.get("/page")
    assert (again.text, again.headers.get("cf-cache-status")) == ("made", "HIT")
    part = first.get("/page", headers={"range": "bytes=1-2"})
    assert (part.status_code, part.text) == (206, "ad")
    port = first.port
    assert first.stop() == 0

    second = serve(*configurations(tmp_path), port=str(port))
    assert second.get("/page").headers.get("cf-cache-status") == "HIT"


def test_a_delete_in_the_background_is_seen_by_requests_that_begin_after_it(
    serve: Serve, tmp_path: Path
) -> None:
    server = serve(*configurations(tmp_path))
    assert ask(server, "small", "/forget") == "kept"
    assert ask(server, "large", "/forgotten") == "gone"


def test_a_named_cache_is_apart_from_the_default_one(serve: Serve, tmp_path: Path) -> None:
    server = serve(*configurations(tmp_path))
    assert ask(server, "reader", "/named") == '["named", null]'
