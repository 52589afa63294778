"""``breakpoint()`` in a Worker under ``pyflare dev``, in a terminal."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")

SOURCE = """
from js import console
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        console.log("before it")
        value = 6 * 7
        breakpoint()
        return Response(f"value {value}")
"""


class Terminal:
    """A command in a terminal of its own."""

    def __init__(self, folder: Path) -> None:
        self.ready_file = folder / "ready.json"
        self.text = ""
        self._master, slave = pty.openpty()
        words = ["dev", "--port", "0", "--ready-file", str(self.ready_file)]
        environ = {k: v for k, v in os.environ.items() if k != "PYTHONBREAKPOINT"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pyflare", *words],
            cwd=folder,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**environ, "NO_COLOR": "1", "TERM": "dumb"},
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._master, 65536)
            except OSError:
                return
            self.text += data.decode("utf-8", "replace")

    def until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 30
        while not condition():
            assert time.monotonic() < deadline, self.text
            assert self.process.poll() is None, self.text
            time.sleep(0.02)

    def types(self, text: str) -> None:
        os.write(self._master, text.encode())

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join()
        os.close(self._master)


@pytest.fixture
def terminal(project: Any, tmp_path: Path) -> Iterator[Terminal]:
    project(tmp_path, SOURCE)
    made = Terminal(tmp_path)
    yield made
    made.end()


def test_it_prompts_goes_on_and_leaves_ctrl_c_as_it_was(terminal: Terminal) -> None:
    terminal.until(terminal.ready_file.exists)
    port = json.loads(terminal.ready_file.read_text())["port"]
    answers: list[bytes] = []

    def ask() -> None:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30) as answer:
            answers.append(answer.read())

    asking = threading.Thread(target=ask)
    asking.start()
    terminal.until(lambda: "(Pdb)" in terminal.text)
    assert "before it" in terminal.text.partition("(Pdb)")[0]
    terminal.types("p value\nc\n")
    asking.join(30)
    terminal.process.send_signal(signal.SIGINT)

    assert answers == [b"value 42"]
    assert terminal.process.wait(30) == 0, terminal.text
