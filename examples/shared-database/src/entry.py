"""Two Workers, one module, one D1 database.

POST /write?round=R     200 concurrent INSERTs; answers {"written": n, "errors": [...]}
POST /batch?round=R     one batch() of 500 INSERTs
GET  /scan              a long SELECT over everything
GET  /count             rows per writer
"""

import asyncio
from urllib.parse import parse_qs, urlsplit

from workers import Response, WorkerEntrypoint

INSERTS = 200
BATCH = 500
SCHEMA = """
CREATE TABLE IF NOT EXISTS content (
    writer TEXT NOT NULL,
    round TEXT NOT NULL,
    number INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (writer, round, number)
)
"""
INSERT = "INSERT INTO content (writer, round, number, body) VALUES (?, ?, ?, ?)"


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        url = urlsplit(request.url)
        number = parse_qs(url.query).get("round", ["0"])[0]
        db = self.env.CONTENT_DB
        await db.prepare(SCHEMA).run()
        match url.path:
            case "/write":
                return Response.json(await self.write(db, number))
            case "/batch":
                return Response.json(await self.batch(db, number))
            case "/scan":
                found = await db.prepare(
                    "SELECT a.writer, count(*) AS pairs FROM content a JOIN content b"
                    " ON b.number = a.number GROUP BY a.writer"
                ).all()
                return Response.json(found.results)
            case "/count":
                found = await db.prepare(
                    "SELECT writer, count(*) AS rows FROM content GROUP BY writer"
                ).all()
                return Response.json({row.writer: row.rows for row in found.results})
        return Response("Not found", status=404)

    async def write(self, db, number):
        statement = db.prepare(INSERT)

        async def insert(index):
            return await statement.bind(self.env.WRITER, number, index, "x" * 100).run()

        outcomes = await asyncio.gather(
            *(insert(index) for index in range(INSERTS)), return_exceptions=True
        )
        errors = [str(item) for item in outcomes if isinstance(item, BaseException)]
        return {"written": INSERTS - len(errors), "errors": errors}

    async def batch(self, db, number):
        statement = db.prepare(INSERT)
        rows = [
            statement.bind(f"{self.env.WRITER}-batch", number, index, "y" * 100)
            for index in range(BATCH)
        ]
        try:
            return {"written": len(await db.batch(rows)), "errors": []}
        except Exception as error:
            return {"written": 0, "errors": [str(error)]}
