"""However the command is stopped: soon, with a fitting code, the port free, nothing half written."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import httpx
import pytest

from .conftest import Serve
from .databases import as_left_behind, integrity
from .dev_server import DevServer, client_for, environment, eventually, free_port, pyflare
from .projects import DATABASE, write_project

Process: TypeAlias = "subprocess.Popen[bytes]"

SOURCE = """
import asyncio

from js import ReadableStream
from pyodide.ffi import to_js
from workers import Response, WorkerEntrypoint


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        match request.url.split("/", 3)[3]:
            case "stream":
                return Response(ReadableStream.new(pull=self.pull))
            case "sleep":
                await asyncio.sleep(3600)
            case "wait-until":
                self.ctx.waitUntil(asyncio.sleep(3600))
            case "soon":
                self.ctx.waitUntil(self.write_soon())
            case "write":
                await self.env.DB.prepare("CREATE TABLE IF NOT EXISTS t (x)").run()
                await self.env.DB.prepare("INSERT INTO t VALUES (1)").run()
        return Response("fine")

    async def pull(self, controller):
        controller.enqueue(to_js(b"tick\\n"))
        await asyncio.sleep(0.05)

    async def write_soon(self):
        await self.env.DB.prepare("CREATE TABLE IF NOT EXISTS t (x)").run()
        await asyncio.sleep(0.2)
        await self.env.DB.prepare("INSERT INTO t VALUES (2)").run()
"""
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
BUSY = ["idle", "keep-alive", "stream", "sleep", "wait-until"]


@contextmanager
def kept_busy(server: DevServer, how: str) -> Iterator[None]:
    with ExitStack() as stack:
        if how != "idle":
            path = "" if how == "keep-alive" else how
            connection = stack.enter_context(server.connect())
            connection.sendall(f"GET /{path} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
            if how != "sleep":
                assert connection.recv(65536).startswith(b"HTTP/1.1 200 OK")
            else:
                assert server.get("/").text == "fine"
        yield


def project(directory: Path) -> Path:
    return write_project(directory, SOURCE, d1_databases=[DATABASE])


@pytest.mark.parametrize("how", BUSY)
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_signal_ends_the_command_soon_and_the_port_is_free_at_once(
    serve: Serve, tmp_path: Path, number: signal.Signals, how: str
) -> None:
    configuration = project(tmp_path)
    port = str(free_port())
    server = serve(configuration, arguments=("--port", port))
    server.post("/write")
    with kept_busy(server, how):
        assert server.stop(number, seconds=6) == 0
        assert "Traceback" not in server.output()

        again = serve(configuration, arguments=("--port", port))
        assert again.get("/").text == "fine"


def test_stopping_leaves_no_write_ahead_log_behind(serve: Serve, tmp_path: Path) -> None:
    server = serve(project(tmp_path))
    server.post("/write")
    server.stop()

    state = tmp_path / "state"
    assert len(list(state.glob("**/*.sqlite"))) == 1
    assert list(state.glob("**/*.sqlite-wal")) == []
    with as_left_behind(state, tmp_path / "copy") as connection:
        assert integrity(connection) == ["ok"]


def test_work_in_waituntil_that_ends_soon_is_waited_for(serve: Serve, tmp_path: Path) -> None:
    server = serve(project(tmp_path))
    assert server.get("/soon").text == "fine"
    server.stop()

    with as_left_behind(tmp_path / "state", tmp_path / "copy") as connection:
        assert list(connection.execute("SELECT x FROM t")) == [(2,)]


def test_a_second_ctrl_c_ends_it_at_once(serve: Serve, tmp_path: Path) -> None:
    server = serve(project(tmp_path))
    with kept_busy(server, "wait-until"):
        server.process.send_signal(signal.SIGINT)
        server.wait_for_output("Shutting down", seconds=3)
        server.stop(signal.SIGINT, seconds=1.5)


@contextmanager
def started(configuration: Path, state: Path, **pipes: Any) -> Iterator[tuple[Process, int]]:
    """The command with pipes of the test's own; must end with 0 on Ctrl-C."""
    port = free_port()
    process: Process = subprocess.Popen(
        pyflare("dev", "-c", configuration, "--port", str(port), "--persist-to", state),
        env=environment(),
        **pipes,
    )
    try:
        yield process, port
        process.send_signal(signal.SIGINT)
        assert process.wait(6) == 0
    finally:
        process.kill()
        process.wait()


def answers(port: int) -> bool:
    with client_for(port) as client:
        try:
            return client.get("/").text == "fine"
        except httpx.TransportError:
            return False


def test_a_closed_standard_input_does_not_stop_it(tmp_path: Path) -> None:
    configuration = project(tmp_path)
    with (
        (tmp_path / "log").open("wb") as log,
        started(
            configuration,
            tmp_path / "state",
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
        ) as (process, port),
    ):
        eventually(lambda: answers(port), "the first answer")
        assert process.stdin
        process.stdin.close()

        assert [answers(port) for _ in range(20)] == [True] * 20


def test_a_closed_standard_output_does_not_stop_it_from_answering(tmp_path: Path) -> None:
    configuration = project(tmp_path)
    reading, writing = os.pipe()
    pipes = {"stdin": subprocess.DEVNULL, "stdout": writing, "stderr": subprocess.STDOUT}
    with started(configuration, tmp_path / "state", **pipes) as (_, port):
        os.close(writing)
        with os.fdopen(reading, "rb") as output:
            eventually(lambda: b"Ready on" in output.readline(), "the Ready line")

        assert [answers(port) for _ in range(20)] == [True] * 20
