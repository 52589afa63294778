"""Times KV calls where a worker makes them: `GET /<what>?count=N&first=M` answers the seconds N calls took.

What is put has keys from M on, so that every put is an insert."""

import time
from urllib.parse import parse_qs, urlsplit

from workers import Response, WorkerEntrypoint

KEYS = 1000
VALUE = "v" * 100


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        url = urlsplit(request.url)
        what = url.path.strip("/")
        if not what:
            return Response("ready")
        query = {name: int(values[0]) for name, values in parse_qs(url.query).items()}
        call = getattr(self, what)(self.env.KV, query["count"], query["first"])
        return Response.json({"seconds": await call})

    async def prepare(self, kv, count, first):
        for index in range(KEYS):
            await kv.put(f"key/{index}", VALUE)
        return 0

    async def get(self, kv, count, first):
        started = time.perf_counter()
        for index in range(count):
            await kv.get(f"key/{index % KEYS}")
        return time.perf_counter() - started

    async def put(self, kv, count, first):
        started = time.perf_counter()
        for index in range(count):
            await kv.put(f"new/{first + index}", VALUE)
        return time.perf_counter() - started
