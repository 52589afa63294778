"""Times calls of the Cache API where a worker makes them.

`GET /<what>?count=N&first=M` answers the seconds N calls took. What is put has keys from M on, so that every put is an
insert.
"""

import time
from urllib.parse import parse_qs, urlsplit

from js import Response as JsResponse
from js import caches
from workers import Response, WorkerEntrypoint

BODY = "b" * 10_000
HEADERS = {"Cache-Control": "max-age=3600"}.items()
URL = "http://cache.key/"


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        url = urlsplit(request.url)
        what = url.path.strip("/")
        if not what:
            return Response("ready")
        query = {name: int(values[0]) for name, values in parse_qs(url.query).items()}
        call = getattr(self, what)(caches.default, query["count"], query["first"])
        return Response.json({"seconds": await call})

    async def prepare(self, cache, count, first):
        await cache.put(URL, JsResponse.new(BODY, headers=HEADERS))
        return 0

    async def match(self, cache, count, first):
        started = time.perf_counter()
        for _ in range(count):
            await cache.match(URL)
        return time.perf_counter() - started

    async def put(self, cache, count, first):
        started = time.perf_counter()
        for index in range(count):
            await cache.put(f"{URL}{first + index}", JsResponse.new(BODY, headers=HEADERS))
        return time.perf_counter() - started
