"""Which port is taken, and what is said when it is not to be had."""

import json
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from .conftest import Serve
from .dev_server import eventually, free_port
from .projects import write_project

SOURCE = """
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response("fine")
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_project(tmp_path, SOURCE)


def test_a_port_that_was_asked_for_and_is_busy_ends_the_command(
    serve: Serve, project: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        server = serve(project, arguments=("--port", str(port)), ready=False)

        assert server.process.wait(20) == 1

    output = server.output()
    assert "Address already in use" in output
    assert str(port) in output
    assert "specify a different port with --port." in output
    assert "Traceback" not in output


def test_the_port_of_the_configuration_is_used(serve: Serve, tmp_path: Path) -> None:
    port = free_port()
    project = write_project(tmp_path, SOURCE, dev={"port": port})
    server = serve(project, port=None)

    assert server.port == port


def test_the_flag_wins_over_the_configuration(serve: Serve, tmp_path: Path) -> None:
    port = free_port()
    project = write_project(tmp_path, SOURCE, dev={"port": free_port()})
    server = serve(project, arguments=("--port", str(port)))

    assert server.port == port


def test_without_a_port_a_busy_one_is_skipped_and_named(serve: Serve, project: Path) -> None:
    with ExitStack() as stack:
        try:
            stack.enter_context(socket.create_server(("127.0.0.1", 8787)))
        except OSError:
            pass  # somebody else holds it, which is as good
        server = serve(project, port=None)

        assert server.port != 8787
        assert server.get("/").text == "fine"
    assert "8787" in server.output().partition("[wrangler:info] Ready on")[0]


def test_only_this_machine_is_served_unless_an_address_is_given(
    serve: Serve, project: Path
) -> None:
    server = serve(project)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing; chooses the address others would see
        except OSError:
            pytest.skip("this machine has no address that others could reach")
        address = probe.getsockname()[0]

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((address, server.port), timeout=2)


def test_the_ready_file_tells_address_and_process(
    serve: Serve, project: Path, tmp_path: Path
) -> None:
    ready = tmp_path / "ready"
    server = serve(project, arguments=("--ready-file", ready))
    eventually(ready.exists, "the ready file")

    told = json.loads(ready.read_text())
    assert (told["port"], told["pid"]) == (server.port, server.process.pid)
    assert told["url"] == f"http://localhost:{server.port}"
