from pathlib import Path
from urllib.parse import parse_qs, urlparse

from workers import Response, WorkerEntrypoint

SCHEMA = (Path(__file__).parent / "schema.sql").read_text()


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        url = urlparse(request.url)
        if request.method == "POST":
            await self.env.DB.exec(SCHEMA.strip())
            quotes = await request.json()
            insert = self.env.DB.prepare("INSERT INTO quotes (quote, author) VALUES (?, ?)")
            done = await self.env.DB.batch(
                [insert.bind(each["quote"], each["author"]) for each in quotes]
            )
            return Response.json([each.meta.changes for each in done], status=201)
        author = parse_qs(url.query).get("author", [None])[0]
        if author is None:
            result = await self.env.DB.prepare(
                "SELECT quote, author FROM quotes ORDER BY id DESC LIMIT 1"
            ).first()
            return Response.json(result)
        result = (
            await self.env.DB.prepare("SELECT quote FROM quotes WHERE author = ? ORDER BY id")
            .bind(author)
            .all()
        )
        return Response.json([row.quote for row in result.results])
