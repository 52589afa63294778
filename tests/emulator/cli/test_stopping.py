"""The end of ``pyflare dev``: within seconds, whatever is going on, and the port is free again."""

from __future__ import annotations

import signal
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from .conftest import SECONDS

BUSY = """\
import asyncio
from js import ReadableStream
from workers import Response, WorkerEntrypoint


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        match request.url.rsplit("/", 1)[1]:
            case "wait":
                await asyncio.Event().wait()
            case "background":
                self.ctx.waitUntil(asyncio.sleep(3600))
            case "stream":
                async def pull(controller):
                    controller.enqueue(b"data: tick\\n\\n")
                    await asyncio.sleep(0.05)

                return Response(ReadableStream.new(pull=pull))
            case "hold":
                print("holding the loop", flush=True)
                while True:
                    pass
        return Response("done")
"""

#: Two seconds for responses, two for background work, and room for a loaded machine.
WITHIN = 15


def open_request(port: int, path: str) -> socket.socket:
    """A request whose answer is not waited for."""
    client = socket.create_connection(("127.0.0.1", port), timeout=SECONDS)
    client.sendall(f"GET /{path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
    return client


@pytest.mark.parametrize(
    ("number", "path"),
    [
        (signal.SIGINT, ""),
        (signal.SIGHUP, ""),
        (signal.SIGTERM, "wait"),
        (signal.SIGTERM, "background"),
        (signal.SIGINT, "stream"),
    ],
)
def test_one_signal_ends_the_process(
    dev: Any, project: Any, tmp_path: Path, number: int, path: str
) -> None:
    project(tmp_path / "busy", BUSY)
    running = dev(tmp_path / "busy").ready()
    port = running.port
    with open_request(port, path) as client:
        if path in ("", "background", "stream"):
            assert client.recv(15).startswith(b"HTTP/1.1 200")
        else:
            assert running.get("/")[0] == 200
        assert running.stop(number, within=WITHIN) == 0
    assert "Traceback" not in running.err
    again = dev(tmp_path / "busy", "--port", str(port)).ready()
    assert again.get("/") == (200, "done")


def test_idle_server_stops_at_once(dev: Any, project: Any, tmp_path: Path) -> None:
    project(tmp_path / "busy", BUSY)
    running = dev(tmp_path / "busy").ready()
    began = time.monotonic()
    assert running.stop() == 0
    assert time.monotonic() - began < 2.5


def test_second_interrupt_ends_a_worker_that_holds_the_loop(
    dev: Any, project: Any, tmp_path: Path
) -> None:
    project(tmp_path / "busy", BUSY)
    running = dev(tmp_path / "busy").ready()
    with open_request(running.port, "hold"):
        running.until(lambda: "holding the loop" in running.out)
        running.process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        assert running.stop(signal.SIGINT, within=5) == 130
