"""Times queues where a worker uses them: `GET /<what>?count=N` answers the seconds that N messages took.

`send` sends them one by one to a queue that nobody consumes; `flow` sends them in batches of 100 and ends when this
worker's own consumer has read the body of the last one."""

import asyncio
import time
from urllib.parse import parse_qs, urlsplit

from workers import Response, WorkerEntrypoint

BODY = {"order": 4711, "customer": "somebody", "items": ["a", "b"]}
seen = 0
wanted = 0
done = None


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        url = urlsplit(request.url)
        what = url.path.strip("/")
        if not what:
            return Response("ready")
        count = int(parse_qs(url.query)["count"][0])
        return Response.json({"seconds": await getattr(self, what)(count)})

    async def send(self, count):
        queue = self.env.KEPT
        started = time.perf_counter()
        for _ in range(count):
            await queue.send(BODY)
        return time.perf_counter() - started

    async def flow(self, count):
        global seen, wanted, done
        seen, wanted, done = 0, count, asyncio.Event()
        queue = self.env.ORDERS
        started = time.perf_counter()
        for _ in range(count // 100):
            await queue.sendBatch([{"body": BODY} for _ in range(100)])
        await done.wait()
        return time.perf_counter() - started

    async def queue(self, batch):
        global seen
        for message in batch.messages:
            if message.body["order"] == 4711:
                seen += 1
        if seen == wanted:
            done.set()
