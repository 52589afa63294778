"""A statement that takes long keeps nobody waiting who does not need that database."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .conftest import Serve
from .projects import DATABASE, write_project

SOURCE = """
from workers import Response, WorkerEntrypoint

SLOW = '''
WITH RECURSIVE count (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM count WHERE n < 4000000)
SELECT max(n) AS n FROM count
'''


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        if request.url.endswith("/slow"):
            return Response.json(await self.env.DB.prepare(SLOW).first("n"))
        if request.url.endswith("/other"):
            return Response.json(await self.env.OTHER.prepare("SELECT 1").first("1"))
        return Response("pong")
"""
OTHER = {"binding": "OTHER", "database_name": "other", "database_id": "other-0001"}


def test_other_requests_and_other_databases_go_on_during_a_slow_statement(
    serve: Serve, tmp_path: Path
) -> None:
    server = serve(write_project(tmp_path, SOURCE, d1_databases=[DATABASE, OTHER]))
    answered = 0

    with ThreadPoolExecutor(1) as clients:
        slow = clients.submit(server.get, "/slow")
        while not slow.done():
            assert server.get("/").text == "pong"
            assert server.get("/other").text == "1"
            answered += 1

    assert slow.result().text == "4000000"
    assert answered > 10
