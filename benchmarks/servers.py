"""Starts and stops the servers that are compared, each as a real command in a process of its own."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
START_SECONDS = 20.0
POLL_SECONDS = 0.001


class ServerFailed(Exception):
    """A server under measurement did not start or did not answer; the text holds its output."""


@dataclass(frozen=True, slots=True)
class Server:
    """A running server: how it is called in the report, where it answers, its process."""

    name: str
    port: int
    process: subprocess.Popen[bytes]
    seconds_to_first_answer: float

    def highest_resident_bytes(self) -> int:
        """The most resident memory that the server's process has had so far, in bytes; 0 where it cannot be told."""
        return self._status("VmHWM")

    def _status(self, field: str) -> int:
        status = Path(f"/proc/{self.process.pid}/status")
        if status.exists():
            for line in status.read_text().splitlines():
                if line.startswith(f"{field}:"):
                    return int(line.split()[1]) * 1024
        return 0

    def resident_bytes(self) -> int:
        """Resident memory of the server's process, in bytes."""
        if found := self._status("VmRSS"):
            return found
        shown = subprocess.check_output(["ps", "-o", "rss=", "-p", str(self.process.pid)])
        return int(shown) * 1024

    def cpu_seconds(self) -> float:
        """Processor time that the server's process has used so far, in seconds; 0 where it cannot be told."""
        status = Path(f"/proc/{self.process.pid}/stat")
        if not status.exists():
            return 0.0
        fields = status.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    """A TCP port on 127.0.0.1 that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def uvicorn_command(app: str, port: int) -> list[str]:
    """Uvicorn as `pyflare dev` runs it: httptools, no access log, no headers of its own."""
    return [
        *(sys.executable, "-m", "uvicorn", app, "--host", "127.0.0.1", "--port", str(port)),
        *("--http", "httptools", "--loop", "auto", "--ws", "none", "--lifespan", "off"),
        *("--no-access-log", "--no-server-header", "--no-date-header", "--log-level", "warning"),
    ]


def pyflare_command(
    project: Path, port: int, state: Path, *options: str, durability: str = "process"
) -> list[str]:
    """The command a developer types, with its state in `state`."""
    script = Path(sys.executable).with_name("pyflare")
    command = [str(script)] if script.exists() else [sys.executable, "-m", "pyflare"]
    return [
        *(*command, "dev", "-c", str(project), "--ip", "127.0.0.1", "--port", str(port)),
        *("--persist-to", str(state), "--durability", durability, *options),
    ]


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")
            return connection.recv(16).startswith(b"HTTP/1.1 200")
    except OSError:
        return False


@contextmanager
def running(name: str, command: Sequence[str], port: int) -> Iterator[Server]:
    """Runs `command`, waits for its first answer on `port`, and stops it afterwards.

    Its output goes to a file, as a log would. Raises `ServerFailed` with that output when it ends or stays silent."""
    environment = os.environ | {"PYTHONPATH": str(HERE.parent)}
    with tempfile.TemporaryFile() as output:

        def failed(what: str) -> ServerFailed:
            output.seek(0)
            return ServerFailed(f"{name} {what}: {' '.join(command)}\n{output.read().decode()}")

        started = time.perf_counter()
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=environment,
        )
        try:
            while not _answers(port):
                if process.poll() is not None:
                    raise failed(f"ended with exit code {process.returncode}")
                if time.perf_counter() - started > START_SECONDS:
                    raise failed(f"did not answer within {START_SECONDS:.0f} s")
                time.sleep(POLL_SECONDS)
            yield Server(name, port, process, time.perf_counter() - started)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
