"""A server that may open no further file says so once, in one line, and goes on when it may again."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import resource
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyflare.cli.file_shortage import FileShortage

from .conftest import write_project

on_linux = pytest.mark.skipif(
    not hasattr(resource, "prlimit"), reason="only Linux lets a limit be set from outside"
)


def answered(dev: Any) -> bool:
    try:
        return dev.get()[0] == 200
    except OSError:
        return False


@on_linux
@pytest.mark.parametrize("workers", [1, 2])
def test_a_server_without_descriptors_for_connections_says_so_once(
    tmp_path: Path, dev: Callable[..., Any], workers: int
) -> None:
    """Two Workers share a module's name, and so are run on asyncio's loop instead of uvloop."""
    words: list[str] = []
    for number in range(workers):
        words += ["-c", str(write_project(tmp_path / f"w{number}"))]
    server = dev(tmp_path, *words, "--no-watch")
    server.ready()
    assert answered(server)
    limit = len(os.listdir(f"/proc/{server.process.pid}/fd")) + 8
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (limit, limit))

    with contextlib.ExitStack() as clients:
        for _ in range(30):
            clients.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=5))
        server.until(lambda: "Too many open files" in server.err)
    server.until(lambda: answered(server))

    told = [line for line in server.err.splitlines() if line]
    assert len(told) == 1
    assert f"this process may have {limit} open at a time" in told[0]
    assert "ulimit -n" in told[0]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (errno.EMFILE, "this process may have"),
        (errno.ENFILE, "the system allows no further ones"),
        (errno.ENOMEM, "short of memory for connections (Cannot allocate memory)"),
    ],
)
def test_a_shortage_is_told_once_with_its_cause(number: int, text: str) -> None:
    told: list[str] = []
    shortage = FileShortage(told.append)
    assert all(shortage.explains(OSError(number, os.strerror(number))) for _ in range(2048))
    assert len(told) == 1
    assert text in told[0]


def test_other_failures_are_left_to_others() -> None:
    told: list[str] = []
    shortage = FileShortage(told.append)
    assert not shortage.explains(ConnectionResetError(errno.ECONNRESET, "reset"))
    assert not shortage.explains(None)
    assert told == []


def test_nothing_is_told_while_files_can_be_opened() -> None:
    told: list[str] = []

    async def run() -> None:
        shortage = FileShortage(told.append)
        shortage.start()
        await asyncio.sleep(0)
        shortage.stop()

    asyncio.run(run())
    assert told == []


PROGRAM = """
import os, resource
from pyflare.server.log import LogSink
from pyflare.server import tracebacks
import pyflare.js.error, pyflare.config.diagnostics, pyflare_bindings

def failing():
    raise LookupError("its own")

log = LogSink()
resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
try:
    while True:
        os.open(os.devnull, os.O_RDONLY)
except OSError:
    pass
try:
    failing()
except LookupError as error:
    log.uncaught("worker", error)
"""


def test_a_failure_can_be_told_when_no_file_can_be_opened() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert "Uncaught LookupError: its own" in done.stderr
    assert "in failing" in done.stderr
    assert done.returncode == 0
