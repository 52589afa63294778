"""A guest book: `GET /` shows the entries, `POST /` adds one, `GET /api` gives them as JSON."""

from html import escape
from urllib.parse import parse_qs, urlsplit

from workers import Response, WorkerEntrypoint

SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    message TEXT NOT NULL,
    written TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
)
"""

PAGE = """<!doctype html>
<meta charset="utf-8">
<title>{title}</title>
<h1>{title}</h1>
<form method="post">
  <input name="name" placeholder="Your name" required>
  <input name="message" placeholder="Your message" required>
  <button>Sign</button>
</form>
<ul>{entries}</ul>
"""


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        db = self.env.DB
        await db.prepare(SCHEMA).run()
        path = urlsplit(request.url).path

        if request.method == "POST" and path == "/":
            form = parse_qs(await request.text())
            if not {"name", "message"} <= form.keys():
                return Response("name and message, please", status=400)
            await (
                db.prepare("INSERT INTO entries (name, message) VALUES (?, ?)")
                .bind(form["name"][0], form["message"][0])
                .run()
            )
            return Response("", status=303, headers={"Location": "/"})

        found = await db.prepare("SELECT * FROM entries ORDER BY id DESC LIMIT 50").all()
        if path == "/api":
            return Response.json(found.results)
        if path != "/":
            return Response("Not found", status=404)
        entries = "".join(
            f"<li><b>{escape(row.name)}</b>: {escape(row.message)} <small>{row.written}</small></li>"
            for row in found.results
        )
        page = PAGE.format(title=escape(self.env.TITLE), entries=entries)
        return Response(page, headers={"Content-Type": "text/html;charset=utf-8"})
