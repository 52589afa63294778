"""Three Workers share one bucket, one namespace and one cache at the same time."""

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

from js import Response as JsResponse
from js import caches
from workers import Response, WorkerEntrypoint

MIB = 1024 * 1024


def text_of(number, size):
    return f"{number:04}" * (size // 4)


def whole(text):
    return text == text[:4] * (len(text) // 4)


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        url = urlsplit(request.url)
        number = int(parse_qs(url.query)["round"][0])
        match url.path:
            case "/small":
                for index in range(10):
                    await self.put(f"small/{index}", text_of(number, 1024))
            case "/large":
                await self.put("large", text_of(number, MIB))
            case "/reader":
                return Response.json(await self.read(number))
        return Response("done")

    async def put(self, name, text):
        kept = JsResponse.new(text, headers={"Cache-Control": "s-maxage=3600"}.items())
        await asyncio.gather(
            self.env.BUCKET.put(name, text),
            self.env.KV.put(name, text),
            caches.default.put(f"http://cache.key/{name}", kept),
        )

    async def read(self, number):
        errors = []
        names = [each.key for each in (await self.env.BUCKET.list(prefix="small/")).objects]
        if names != sorted(names):
            errors.append(f"out of order: {names}")
        listed = [each.name for each in (await self.env.KV.list(prefix="small/"))["keys"]]
        if listed != sorted(listed):
            errors.append(f"out of order: {listed}")
        for name in (*(f"small/{index}" for index in range(10)), "large"):
            stored = await self.env.BUCKET.get(name)
            value = await self.env.KV.get(name)
            cached = await caches.default.match(f"http://cache.key/{name}")
            for where, text in (
                ("bucket", None if stored is None else await stored.text()),
                ("namespace", value),
                ("cache", None if cached is None else await cached.text()),
            ):
                if text is not None and not whole(text):
                    errors.append(f"{name} in the {where} is torn")
        part = await self.env.BUCKET.get("large", range={"offset": 4000, "length": 4})
        if part is not None and not (await part.text()).isdigit():
            errors.append("the part is wrong")
        victim = f"small/{number % 10}"
        await self.env.BUCKET.delete(victim)
        await self.env.KV.delete(victim)
        await caches.default.delete(f"http://cache.key/{victim}")
        await self.env.BUCKET.put("small/0", text_of(number, 1024))
        return errors
"""


def configurations(directory: Path) -> list[Path]:
    return [
        write_project(
            directory / name,
            SOURCE,
            name=name,
            r2_buckets=[{"binding": "BUCKET", "bucket_name": "shared-bucket"}],
            kv_namespaces=[{"binding": "KV", "id": "shared-0001"}],
        )
        for name in NAMES
    ]


def ask(server: DevServer, worker: str, number: int) -> str:
    answer = server.get(f"/{worker}?round={number}", headers={"host": f"{worker}.localhost"})
    assert answer.status_code == 200, answer.text
    return answer.text


def test_fifty_rounds_on_three_stores_at_once_show_no_error(serve: Serve, tmp_path: Path) -> None:
    server = serve(*configurations(tmp_path))
    with ThreadPoolExecutor(len(NAMES)) as clients:
        for number in range(ROUNDS):
            answers = clients.map(lambda name, n=number: ask(server, name, n), NAMES)
            assert list(answers) == ["done", "done", "[]"]
    # With nobody writing any more, what was written last is what everybody reads.
    assert ask(server, "large", ROUNDS) == "done"
    assert ask(server, "reader", ROUNDS) == "[]"
    assert server.stop() == 0
