"""The real command in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

SECONDS = 30

HELLO = """\
from workers import Response, WorkerEntrypoint


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response("hello")
"""


def write_project(directory: Path, source: str = HELLO, **settings: Any) -> Path:
    """A worker's project: the configuration and its one module. Gives the configuration's path."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "src").mkdir(exist_ok=True)
    (directory / "src" / "entry.py").write_text(source)
    config = directory / "wrangler.json"
    base = {
        "name": directory.name,
        "main": "src/entry.py",
        "compatibility_date": "2026-01-01",
        "compatibility_flags": ["python_workers"],
    }
    config.write_text(json.dumps(base | settings))
    return config


class Dev:
    """A running ``pyflare dev``."""

    def __init__(
        self, cwd: Path, words: tuple[str, ...], environ: dict[str, str], *, read: bool = True
    ) -> None:
        self.ready_file = cwd / "ready.json"
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "pyflare",
                "dev",
                "--ready-file",
                str(self.ready_file),
                *words,
            ],
            cwd=cwd,
            env=os.environ | environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.texts: dict[str, str] = {"out": "", "err": ""}
        self._readers = [
            threading.Thread(target=self._read, args=("out", self.process.stdout)),
            threading.Thread(target=self._read, args=("err", self.process.stderr)),
        ]
        if read:
            for reader in self._readers:
                reader.start()

    def _read(self, name: str, stream: Any) -> None:
        for line in stream:
            self.texts[name] += line

    @property
    def out(self) -> str:
        return self.texts["out"]

    @property
    def err(self) -> str:
        return self.texts["err"]

    def ready(self) -> Dev:
        """Wait until requests are answered."""
        self.until(self.ready_file.exists)
        return self

    def until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + SECONDS
        while not condition():
            if self.process.poll() is not None and not condition():
                self._join()
                raise AssertionError(f"pyflare dev ended: {self.out}\n{self.err}")
            assert time.monotonic() < deadline, f"waited in vain:\n{self.out}\n{self.err}"
            time.sleep(0.02)

    @property
    def port(self) -> int:
        port: int = json.loads(self.ready_file.read_text())["port"]
        return port

    def get(self, path: str = "/", *, host: str | None = None, **headers: str) -> tuple[int, str]:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", headers=headers)
        if host is not None:
            request.add_header("host", host)
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def stop(self, number: int = signal.SIGTERM, *, within: float = SECONDS) -> int:
        """Send a signal and give the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.wait(within)

    def wait(self, within: float = SECONDS) -> int:
        code = self.process.wait(within)
        self._join()
        return code

    def _join(self) -> None:
        for reader in self._readers:
            if reader.ident is not None:
                reader.join(SECONDS)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._join()


@pytest.fixture
def project() -> Callable[..., Path]:
    return write_project


@pytest.fixture
def dev(tmp_path: Path) -> Iterator[Callable[..., Dev]]:
    """``dev(cwd, *words)`` starts the command; what is still running at the end of the test is killed."""
    started: list[Dev] = []

    def start(cwd: Path, *words: str, read: bool = True, **environ: str) -> Dev:
        port = () if "--port" in words else ("--port", "0")
        each = Dev(cwd, (*port, "--ip", "127.0.0.1", *words), {"CI": "", **environ}, read=read)
        started.append(each)
        return each

    yield start
    for each in started:
        each.kill()
