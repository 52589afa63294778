"""`kill -9` in the middle of concurrent writes: what was acknowledged is there, once, and nothing is half there."""

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import httpx

from .conftest import Serve
from .databases import as_left_behind, integrity
from .dev_server import DevServer
from .projects import write_project

KILLS = 20
BATCH = 500
# No key on the table: a row that were written twice would be seen.
LEDGER = """
import asyncio
from urllib.parse import parse_qs, urlsplit

from workers import Response, WorkerEntrypoint

INSERT = "INSERT INTO ledger (writer, round, number) VALUES (?, ?, ?)"


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        db = self.env.LEDGER
        url = urlsplit(request.url)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        insert = db.prepare(INSERT)
        if url.path == "/write":
            rows = [insert.bind(self.env.WRITER, query["round"], n) for n in range(200)]
            await asyncio.gather(*(row.run() for row in rows))
        elif url.path == "/batch":
            await db.batch([insert.bind("batch", query["round"], n) for n in range(500)])
        else:
            await db.prepare("CREATE TABLE IF NOT EXISTS ledger (writer, round, number)").run()
        return Response("acknowledged")
"""


class Writers:
    """Three clients that write until the server is gone, and remember what it acknowledged."""

    def __init__(self, server: DevServer, attempt: int) -> None:
        self._server = server
        self._attempt = attempt
        self.acknowledged: dict[tuple[str, str], int] = {}
        self.begun = Event()

    def write(self, path: str, writer: str, rows: int, host: str) -> None:
        with httpx.Client(base_url=self._server.client.base_url, trust_env=False) as client:
            for number in range(1_000_000):
                name = f"{self._attempt}.{number}"
                try:
                    answer = client.post(
                        f"{path}?round={name}", headers={"host": f"{host}.localhost"}
                    )
                except httpx.TransportError:
                    return
                assert answer.text == "acknowledged"
                self.acknowledged[writer, name] = rows
                self.begun.set()

    def all(self) -> list[Callable[[], None]]:
        return [
            lambda: self.write("/write", "people", 200, "people"),
            lambda: self.write("/write", "publisher", 200, "publisher"),
            lambda: self.write("/batch", "batch", BATCH, "people"),
        ]


def ledgers(directory: Path) -> list[Path]:
    database = {"binding": "LEDGER", "database_name": "ledger", "database_id": "ledger-0001"}
    return [
        write_project(
            directory / name, LEDGER, name=name, vars={"WRITER": name}, d1_databases=[database]
        )
        for name in ("people", "publisher")
    ]


def test_twenty_kills_amid_writes_lose_no_acknowledged_row_and_tear_no_batch(
    serve: Serve, tmp_path: Path
) -> None:
    configurations = ledgers(tmp_path)
    moments = random.Random(20)
    acknowledged: dict[tuple[str, str], int] = {}
    for attempt in range(KILLS):
        server = serve(*configurations)
        assert server.get("/").text == "acknowledged"
        writers = Writers(server, attempt)
        with ThreadPoolExecutor(3) as clients:
            running = [clients.submit(write) for write in writers.all()]
            assert writers.begun.wait(20)
            Event().wait(moments.uniform(0.0, 0.15))  # the kill is to land anywhere in a round
            server.kill()
            for client in running:
                client.result()
        acknowledged |= writers.acknowledged

        with as_left_behind(tmp_path / "state", tmp_path / "copy") as connection:
            assert integrity(connection) == ["ok"]
            found = {
                (writer, name): (rows, different)
                for writer, name, rows, different in connection.execute(
                    "SELECT writer, round, count(*), count(DISTINCT number)"
                    " FROM ledger GROUP BY writer, round"
                )
            }
        missing = {key: found.get(key) for key, rows in acknowledged.items()
                   if found.get(key) != (rows, rows)}  # fmt: skip
        assert not missing
        assert not [key for key, (rows, different) in found.items() if rows != different]
        torn = [rows for (writer, _), (rows, _) in found.items()
                if writer == "batch" and rows != BATCH]  # fmt: skip
        assert not torn

    assert len(acknowledged) >= KILLS
    # Otherwise no kill came amid a round, and all of the above says nothing.
    assert found.keys() - acknowledged.keys()


def test_the_server_that_starts_after_a_kill_serves_what_was_acknowledged(
    serve: Serve, tmp_path: Path
) -> None:
    source = """
    from workers import Response, WorkerEntrypoint

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            await self.env.DB.prepare("CREATE TABLE IF NOT EXISTS visits (id INTEGER PRIMARY KEY)").run()
            await self.env.DB.prepare("INSERT INTO visits DEFAULT VALUES").run()
            return Response.json(await self.env.DB.prepare("SELECT count(*) AS n FROM visits").first("n"))
    """
    project = write_project(
        tmp_path / "visits",
        source,
        d1_databases=[{"binding": "DB", "database_name": "visits", "database_id": "visits"}],
    )
    first = serve(project)
    assert [first.get("/").json() for _ in range(3)] == [1, 2, 3]
    first.kill()

    assert serve(project).get("/").json() == 4
