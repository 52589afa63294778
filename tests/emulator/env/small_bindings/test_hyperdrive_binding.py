"""`env.HYPERDRIVE`: the address of a database, and a real one behind it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.emulator.conftest import request

from .conftest import Bench, Surroundings


def hyperdrive(address: str | None) -> Any:
    entry = {"binding": "DB", "id": "x"}
    return [entry if address is None else {**entry, "localConnectionString": address}]


@pytest.mark.parametrize(
    ("address", "parts"),
    [
        ("postgres://u:p@db.test:6543/name", ("u", "p", "db.test", 6543, "name")),
        ("postgresql://u:p@db.test/name", ("u", "p", "db.test", 5432, "name")),
        ("mysql://u:p@db.test/name", ("u", "p", "db.test", 3306, "name")),
        ("postgres://u%40x:p%2F%3A@[::1]/n%20m", ("u@x", "p/:", "::1", 5432, "n m")),
        ("postgres://u:p@h/name?sslmode=require", ("u", "p", "h", 5432, "name")),
    ],
)
def test_it_has_the_parts_of_the_local_connection_string(
    bench: Bench, address: str, parts: Any
) -> None:
    async def program(around: Surroundings) -> Any:
        db = around.env.DB
        assert db.connectionString == address
        return db.user, db.password, db.host, db.port, db.database

    assert bench(program, hyperdrive=hyperdrive(address)) == parts


def test_the_environment_variable_wins(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "CLOUDFLARE_HYPERDRIVE_LOCAL_CONNECTION_STRING_DB", "postgres://u:p@fromenv/name"
    )

    async def program(around: Surroundings) -> Any:
        return around.env.DB.host

    assert bench(program, hyperdrive=hyperdrive("postgres://u:p@h/name")) == "fromenv"


@pytest.mark.parametrize("part", ["connectionString", "host", "connect"])
def test_without_an_address_the_first_use_asks_for_one(bench: Bench, part: str) -> None:
    async def program(around: Surroundings) -> Any:
        value = getattr(around.env.DB, part)
        value()

    text = bench.error(program, hyperdrive=hyperdrive(None))
    assert 'The Hyperdrive binding "DB" has no local database' in text
    assert '"localConnectionString"' in text
    assert "CLOUDFLARE_HYPERDRIVE_LOCAL_CONNECTION_STRING_DB" in text


def test_without_an_address_the_start_warns(bench: Bench) -> None:
    async def program(_: Surroundings) -> Any:
        return None

    bench(program, hyperdrive=hyperdrive(None))
    assert 'the Hyperdrive binding "DB" has no local database' in bench.err.text


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("http://u:p@h/n", "Only PostgreSQL-compatible or MySQL-compatible databases"),
        ("u:p@h/n", "Only PostgreSQL-compatible or MySQL-compatible databases"),
        ("postgres://u:p@/n", "You must provide a hostname or IP address"),
        ("postgres://u:p@h", "You must provide a database name as the path component"),
        ("postgres://:p@h/n", "You must provide a username"),
        ("postgres://u@h/n", "You must provide a password"),
        ("postgres://u:p@h:port/n", "The connection string is no URL"),
    ],
)
def test_a_connection_string_that_lacks_something_says_what(
    bench: Bench, address: str, text: str
) -> None:
    async def program(around: Surroundings) -> Any:
        return around.env.DB.host

    assert text in bench.error(program, hyperdrive=hyperdrive(address))


def test_connect_says_what_to_use_instead(bench: Bench) -> None:
    async def program(around: Surroundings) -> Any:
        around.env.DB.connect()

    text = bench.error(program, hyperdrive=hyperdrive("postgres://u:p@h/n"))
    assert 'asyncio.open_connection("h", 5432)' in text


# A real database


def _free_port() -> int:
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _unprivileged_user() -> str | None:
    """PostgreSQL refuses to run as root."""
    if os.name != "posix" or os.geteuid() != 0:
        return None
    import pwd

    for name in ("postgres", "nobody"):
        try:
            pwd.getpwnam(name)
        except KeyError:
            continue
        return name
    return pytest.skip("there is no user to run PostgreSQL as")


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """The connection string of a server that runs for these tests alone."""
    pytest.importorskip("asyncpg")
    initdb, server = shutil.which("initdb"), shutil.which("postgres")
    if initdb is None or server is None:
        pytest.skip("PostgreSQL is not installed")
    user = _unprivileged_user()
    folder = Path(tempfile.mkdtemp(prefix="pyflare-postgres-"))
    port = _free_port()
    data = folder / "data"
    (folder / "password").write_text("s3cret/")
    if user is not None:
        for path in (folder, folder / "password"):
            shutil.chown(path, user)
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
    run: dict[str, Any] = {"user": user, "cwd": folder, "env": environment}
    process = None
    try:
        created = subprocess.run(
            [initdb, "-D", data, "-U", "owner", "-A", "scram-sha-256", "--no-sync",
             "--pwfile", folder / "password"],
            capture_output=True, text=True, check=False, **run,
        )  # fmt: skip
        if created.returncode != 0:
            pytest.skip(f"initdb failed: {created.stderr}")
        process = subprocess.Popen(
            [server, "-D", data, "-p", str(port), "-h", "127.0.0.1", "-k", folder, "-F"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **run,
        )  # fmt: skip
        assert process.stderr is not None
        for line in process.stderr:
            if "ready to accept connections" in line:
                break
        else:
            pytest.skip("PostgreSQL did not start")
        yield f"postgres://owner:s3cret%2F@127.0.0.1:{port}/postgres"
    finally:
        if process is not None:
            process.terminate()
            process.communicate(timeout=20)
        shutil.rmtree(folder, ignore_errors=True)


QUERY = """
import asyncpg
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        db = self.env.DB
        if request.url.endswith("/parts"):
            connection = await asyncpg.connect(
                host=db.host, port=db.port, user=db.user, password=db.password, database=db.database
            )
        else:
            connection = await asyncpg.connect(db.connectionString)
        try:
            await connection.execute("CREATE TEMP TABLE t (n int)")
            await connection.executemany("INSERT INTO t VALUES ($1)", [(1,), (41,)])
            return Response(str(await connection.fetchval("SELECT sum(n) FROM t")))
        finally:
            await connection.close()
"""


@pytest.mark.parametrize("path", ["/string", "/parts"])
def test_a_worker_queries_a_real_database(bench: Bench, postgres: str, path: str) -> None:
    async def program(around: Surroundings) -> Any:
        answer = await request(around.flare, path)
        return answer.status, answer.text

    assert bench(program, source=QUERY, hyperdrive=hyperdrive(postgres)) == (200, "42")
