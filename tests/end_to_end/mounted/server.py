"""One of the servers that people run ASGI applications on, as a process of its own."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from tests.end_to_end.dev_server import PATIENCE, client_for, environment, eventually, free_port

SERVERS = ("uvicorn", "hypercorn", "granian")
#: Seconds that a server gives its connections when it is told to stop.
GRACE = 2
_HOSTS = "tests.end_to_end.mounted.hosts"
_ROOT = Path(__file__).parents[3]


def _command(server: str, application: str, port: int) -> list[str]:
    place = f"{_HOSTS}:{application}"
    match server:
        case "uvicorn":
            graceful = ["--timeout-graceful-shutdown", str(GRACE)]
            return ["uvicorn", "--factory", place, "--port", str(port), *graceful]
        case "hypercorn":
            bind = f"127.0.0.1:{port}"
            return ["hypercorn", f"{place}()", "-b", bind, "--graceful-timeout", str(GRACE)]
    return ["granian", "--interface", "asgi", "--factory", place, "--host", "127.0.0.1",
        "--port", str(port), "--workers-kill-timeout", str(GRACE)]  # fmt: skip


class HostServer:
    """A running server; :meth:`stop` it."""

    def __init__(self, server: str, application: str, config: Path, folder: Path) -> None:
        if importlib.util.find_spec(server) is None:
            pytest.skip(f"{server} is not installed")
        self.port = free_port()
        self.log = folder / f"{server}-{application}-{self.port}.log"
        self._output = self.log.open("wb")
        self.process = subprocess.Popen(
            [sys.executable, "-m", *_command(server, application, self.port)],
            cwd=_ROOT,
            env=environment(
                PYFLARE_TEST_CONFIG=str(config), PYFLARE_TEST_STATE=str(folder / "state")
            ),
            stdout=self._output,
            stderr=subprocess.STDOUT,
        )
        self.client = client_for(self.port)
        eventually(self._answers, f"{server} answers")

    def _answers(self) -> bool:
        assert self.process.poll() is None, self.output
        try:
            self.client.get("/nothing-of-this-name")
        except httpx.TransportError:
            return False
        return True

    @property
    def output(self) -> str:
        return self.log.read_text("utf-8", "replace")

    def get(self, path: str) -> httpx.Response:
        return self.client.get(path)

    def stop(self) -> float:
        """One SIGTERM; gives the seconds until the process has ended."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE)
        return time.monotonic() - began

    def close(self) -> None:
        self.client.close()
        try:
            if self.process.poll() is None:
                self.stop()
        finally:
            self._output.close()
        left = _mentioning(str(self.port))
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        assert not left, f"{len(left)} processes of the server are left"


def _mentioning(port: str) -> list[int]:
    """The processes of a server on this port, which its command line names."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().decode("utf-8", "replace")
        except OSError:
            continue
        if entry.name.isdigit() and _HOSTS in words and port in words:
            found.append(int(entry.name))
    return found
