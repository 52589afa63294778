"""`pyflare dev` as a person starts it: the real command in a process of its own, on 127.0.0.1."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import httpx

T = TypeVar("T")

READY = re.compile(r"^\[wrangler:info\] Ready on (http://\S+):(\d+)$", re.MULTILINE)
PATIENCE = 20.0
"""Seconds after which something that should have happened long ago counts as a failure."""

NEVER_PRINTED = (
    "Task was destroyed but it is pending",
    "was never awaited",
    "Exception ignored in",
    "exception was never retrieved",
    "Fatal Python error",
)


def eventually(probe: Callable[[], T | None], what: str, seconds: float = PATIENCE) -> T:
    """Asks `probe` until it gives something true, and returns that.

    Raises AssertionError naming `what` when that does not happen within `seconds`."""
    until = time.monotonic() + seconds
    while not (found := probe()):
        assert time.monotonic() < until, f"{what}: not within {seconds} s"
        time.sleep(0.005)
    return found


def free_port() -> int:
    """A TCP port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def pyflare(*arguments: str | Path) -> list[str]:
    """The command line of `pyflare` as it was installed beside this interpreter."""
    return [str(Path(sys.executable).with_name("pyflare")), *map(str, arguments)]


def environment(**changes: str) -> dict[str, str]:
    """The process environment without what would change the command's choices."""
    ignored = ("CLOUDFLARE_", "WRANGLER_", "FORCE_COLOR", "NO_COLOR", "PYFLARE_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ignored)}
    kept.pop("CI", None)
    return kept | changes


def client_for(port: int) -> httpx.Client:
    """A client of 127.0.0.1 that no proxy setting of this machine leads elsewhere."""
    return httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE, trust_env=False)


class DevServer:
    """One running `pyflare dev`; ends with the test that started it."""

    def __init__(self, arguments: Sequence[str | Path], cwd: Path, log: Path) -> None:
        self.log = log
        self._output = log.open("wb")
        self.process = subprocess.Popen(
            pyflare("dev", *arguments),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            env=environment(),
        )
        self.port = 0
        self.client = client_for(0)

    def output(self) -> str:
        """Everything the command has printed so far, both streams together."""
        return self.log.read_text(errors="replace")

    def wait_until_ready(self) -> None:
        """Returns at the line that scripts wait for. Fails with the output when the command ends before it."""

        def ready() -> re.Match[str] | None:
            found = READY.search(self.output())
            assert found or self.process.poll() is None, (
                f"pyflare dev ended with exit code {self.process.returncode}:\n{self.output()}"
            )
            return found

        self.port = int(eventually(ready, "the Ready line").group(2))
        self.client.base_url = httpx.URL(f"http://127.0.0.1:{self.port}")

    def wait_for_output(self, text: str, seconds: float = PATIENCE) -> str:
        """The whole output, as soon as `text` is in it."""

        def found() -> str:
            output = self.output()
            assert self.process.poll() is None or text in output, output
            return output if text in output else ""

        return eventually(found, f"{text!r} in the output", seconds)

    def get(self, path: str, **options: object) -> httpx.Response:
        return self.client.get(path, **options)  # type: ignore[arg-type]

    def post(self, path: str, **options: object) -> httpx.Response:
        return self.client.post(path, **options)  # type: ignore[arg-type]

    def connect(self) -> socket.socket:
        """A raw connection, for what no proper client sends."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def memory(self, field: str = "VmRSS") -> int:
        """Memory of the process in bytes: `VmRSS` now, `VmHWM` at its highest."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) * 1024
        raise LookupError(field)

    def stop(self, with_signal: int = signal.SIGINT, seconds: float = 6.0) -> int:
        """Sends the signal, waits for the end and returns the exit code."""
        self.client.close()
        if self.process.poll() is None:
            self.process.send_signal(with_signal)
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"still running {seconds} s after signal {with_signal}") from None
        self._output.close()
        return code

    def kill(self) -> None:
        """Ends the process the way a crash does: nothing of it runs any more."""
        self.client.close()
        self.process.kill()
        self.process.wait()
        self._output.close()

    def check_output(self) -> None:
        """Nothing was printed that tells of a task, coroutine or exception nobody looked after."""
        output = self.output()
        assert not [text for text in NEVER_PRINTED if text in output], output
