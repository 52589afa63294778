"""Durable Objects, timed inside the worker: what HTTP costs is not in the figures."""

import json
import time
from urllib.parse import parse_qs, urlsplit

from object_statements import INSERT, NOTE, ROWS, SCHEMA, SELECT
from workers import DurableObject, Response, WorkerEntrypoint


class Counter(DurableObject):
    async def fetch(self, request):
        storage = self.ctx.storage
        count = (await storage.get("count") or 0) + 1
        await storage.put("count", count)
        return Response(str(count))

    async def sql(self, what, count):
        exec = self.ctx.storage.sql.exec
        exec(SCHEMA)
        if exec("SELECT count(*) AS n FROM rows").one().n == 0:
            for index in range(ROWS):
                exec(INSERT, index, NOTE)
        started = time.perf_counter()
        if what == "insert":
            for index in range(count):
                exec(INSERT, index, NOTE)
        else:
            for index in range(count):
                exec(SELECT, index % ROWS + 1).one()
        seconds = time.perf_counter() - started
        if what == "insert":
            exec("DELETE FROM rows WHERE id > ?", ROWS)
        return seconds


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        address = urlsplit(request.url)
        given = {key: values[0] for key, values in parse_qs(address.query).items()}
        count = int(given.get("count", 1))
        match address.path:
            case "/counter":
                stub = self.env.COUNTER.getByName("counter")
                started = time.perf_counter()
                for _ in range(count):
                    await (await stub.fetch("http://counter/")).text()
                seconds = time.perf_counter() - started
            case "/new":
                started = time.perf_counter()
                for index in range(count):
                    stub = self.env.COUNTER.getByName(f"{given['round']}-{index}")
                    await (await stub.fetch("http://counter/")).text()
                seconds = time.perf_counter() - started
            case path:
                seconds = await self.env.COUNTER.getByName("sql").sql(path[1:], count)
        return Response(json.dumps({"seconds": seconds}))
