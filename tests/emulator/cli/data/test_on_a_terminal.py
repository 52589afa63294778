"""What a person sees in a terminal instead of JSON."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Cli

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")


def shown(project: Path, *words: str, keys: bytes = b"") -> str:
    """Run a command in a terminal, type ``keys``, and give what it showed."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "pyflare", *words],
        cwd=project,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100", "NO_COLOR": "1"},
    )
    os.close(slave)
    os.write(master, keys)
    data = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        data += piece
    os.close(master)
    process.wait(30)
    return data.decode()


def test_results_are_a_table(project: Path, cli: Cli) -> None:
    text = shown(project, "d1", "execute", "DB", "--command", "SELECT 1 AS one, NULL AS two")
    assert "one" in text
    assert "│ 1   │ null │" in text
    assert "🚣 1 command executed successfully." in text


def test_migrations_ask_before_they_are_applied(project: Path, cli: Cli) -> None:
    (project / "migrations").mkdir()
    (project / "migrations" / "0001_a.sql").write_text("CREATE TABLE a (v)")
    text = shown(project, "d1", "migrations", "apply", "DB", keys=b"n\n")
    assert "About to apply 1 migration(s)" in text
    assert "0001_a.sql" in cli("d1", "migrations", "list", "DB").out
    shown(project, "d1", "migrations", "apply", "DB", keys=b"y\n")
    assert "✅ No migrations to apply!" in cli("d1", "migrations", "list", "DB").out


def test_a_purge_wants_the_name_of_the_queue(project: Path, cli: Cli) -> None:
    cli("queues", "send", "jobs", "hello", "--content-type", "text")
    for keys, told in ((b"\n", "Incorrect queue name"), (b"jobs\n", "1 message deleted")):
        assert told in shown(project, "queues", "purge", "jobs", keys=keys)


def test_an_upload_shows_how_far_it_is(project: Path, cli: Cli) -> None:
    (project / "big").write_bytes(bytes(20_000_000))
    text = shown(project, "r2", "object", "put", "my-bucket/big", "--file", "big")
    assert "Uploading" in text
    assert "20.0" in text
    assert "Upload complete." in text
