"""Times D1 calls where a worker makes them: `GET /<what>?count=N` answers the seconds N calls took."""

import time
from urllib.parse import parse_qs, urlsplit

import statements
from workers import Response, WorkerEntrypoint


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        url = urlsplit(request.url)
        what = url.path.strip("/")
        if not what:
            return Response("ready")
        count = int(parse_qs(url.query).get("count", ["1"])[0])
        return Response.json({"seconds": await getattr(self, what)(self.env.DB, count)})

    async def prepare(self, db, count):
        for statement in statements.SCHEMA:
            await db.prepare(statement).run()
        fill = db.prepare(statements.FILL)
        await db.batch([fill.bind(*item) for item in statements.items()])
        return 0

    async def clear(self, db, count):
        await db.prepare(statements.CLEAR).run()
        return 0

    async def select(self, db, count):
        started = time.perf_counter()
        for index in range(count):
            await db.prepare(statements.SELECT).bind(index % statements.ROWS + 1).first()
        return time.perf_counter() - started

    async def insert(self, db, count):
        started = time.perf_counter()
        for index in range(count):
            await db.prepare(statements.INSERT).bind(index, statements.NOTE).run()
        return time.perf_counter() - started

    async def batch(self, db, count):
        started = time.perf_counter()
        for _ in range(count):
            insert = db.prepare(statements.INSERT)
            await db.batch(
                [insert.bind(index, statements.NOTE) for index in range(statements.BATCH)]
            )
        return time.perf_counter() - started

    async def scan(self, db, count):
        started = time.perf_counter()
        for _ in range(count):
            await db.prepare(statements.SCAN).all()
        return time.perf_counter() - started
