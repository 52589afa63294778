"""Fixtures of the tests that start the real command."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from .dev_server import DevServer


class Serve(Protocol):
    """Starts `pyflare dev` and waits until it is ready (or not, with `ready=False`)."""

    def __call__(
        self,
        *configurations: Path,
        arguments: tuple[str | Path, ...] = ...,
        port: str | None = ...,
        ready: bool = ...,
        persist: bool = ...,
    ) -> DevServer: ...


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts any number of servers, all on the state directory `tmp_path/state`, and ends them after the test.

    A server that still runs at the end must stop by one Ctrl-C with exit code 0."""
    servers: list[DevServer] = []

    def start(
        *configurations: Path,
        arguments: tuple[str | Path, ...] = (),
        port: str | None = "0",
        ready: bool = True,
        persist: bool = True,
    ) -> DevServer:
        if port and "--port" not in arguments:
            arguments = (*arguments, "--port", port)
        if persist:
            arguments = (*arguments, "--persist-to", tmp_path / "state")
        options = [part for path in configurations for part in ("-c", path)]
        server = DevServer(
            [*options, *arguments],
            cwd=tmp_path,
            log=tmp_path / f"server-{len(servers)}.log",
        )
        servers.append(server)
        if ready:
            server.wait_until_ready()
        return server

    yield start
    try:
        for server in servers:
            if server.process.poll() is None:
                assert server.stop() == 0, server.output()
            server.check_output()
    finally:
        for server in servers:
            server.kill()
