"""Requests that try to make the server say or do what only the Worker and its owner may."""

from pathlib import Path

import pytest

from .conftest import Serve
from .dev_server import DevServer
from .projects import write_project

SOURCE = """
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response.json({"url": request.url, "headers": dict(request.headers.items())})
"""


@pytest.fixture
def server(serve: Serve, tmp_path: Path) -> DevServer:
    return serve(write_project(tmp_path, SOURCE))


def raw(server: DevServer, head: str) -> bytes:
    with server.connect() as connection:
        connection.sendall((head + "\r\nconnection: close\r\n\r\n").encode())
        return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.parametrize(
    "name",
    ["X-Forwarded-Host", "X-Original-URL", "X-Rewrite-URL", "MF-Original-URL", "MF-Route-Override"],
)
def test_no_header_sets_the_url_that_the_worker_sees(server: DevServer, name: str) -> None:
    seen = server.get("/path", headers={"host": "good.test", name: "http://evil.test/other"}).json()

    assert seen["url"] == "http://good.test/path"


def test_the_emulators_own_headers_do_not_come_in_from_outside(server: DevServer) -> None:
    sent = {"MF-Proxy-Shared-Secret": "guess", "mf-cf-blob": "{}", "X-Own": "kept"}

    seen = server.get("/", headers=sent).json()["headers"]

    assert [name for name in seen if name.startswith("mf-")] == []
    assert seen["x-own"] == "kept"


@pytest.mark.parametrize(
    "path", ["//evil.test/x", "/..", "/%2e%2e/x", "/a//b", "/%00", "/@evil.test"]
)
def test_odd_paths_stay_paths_on_this_host(server: DevServer, path: str) -> None:
    answer = raw(server, f"GET {path} HTTP/1.1\r\nhost: good.test")

    assert answer.startswith((b"HTTP/1.1 200 ", b"HTTP/1.1 400 "))
    if answer.startswith(b"HTTP/1.1 200 "):
        assert b'"url": "http://good.test/' in answer


def test_connect_makes_no_tunnel(server: DevServer) -> None:
    answer = raw(server, "CONNECT evil.test:443 HTTP/1.1\r\nhost: evil.test:443")

    assert b"HTTP/1.1 200" not in answer
    assert server.get("/").status_code == 200


@pytest.mark.parametrize("host", ["evil.test", "localhost.evil.test", "127.0.0.1.evil.test"])
def test_internal_addresses_are_closed_to_foreign_hosts(server: DevServer, host: str) -> None:
    answer = server.get("/cdn-cgi/local/health", headers={"host": host})

    assert (answer.status_code, answer.text) == (403, "Invalid Host header")


def test_internal_addresses_are_closed_to_pages_of_foreign_origins(server: DevServer) -> None:
    answer = server.get("/cdn-cgi/local/health", headers={"origin": "http://evil.test"})

    assert (answer.status_code, answer.text) == (403, "Invalid Origin header")


def test_the_health_of_the_server_is_told_to_this_machine(server: DevServer) -> None:
    assert server.get("/cdn-cgi/local/health").status_code == 200


def test_a_request_that_cannot_be_read_is_refused_and_told_of(server: DevServer) -> None:
    answer = raw(server, "GET /caf\u00e9 HTTP/1.1\r\nhost: localhost")

    assert answer.startswith(b"HTTP/1.1 400 ")
    server.wait_for_output("characters that are not percent-encoded")
