"""The host that a Worker sees in `request.url` when its configuration has routes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.emulator.conftest import Runner, request, write_worker

SOURCE = """
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        to = request.headers.get("x-to")
        if to is not None:
            return Response(None, status=302, headers={"Location": to})
        return Response(f"{self.env.NAME} {request.url} {request.headers['host']}")
"""


def make(folder: Path, name: str, routes: list[Any], **config: Any) -> Path:
    return write_worker(
        folder / name, {f"src/{name}.py": SOURCE}, main=f"src/{name}.py",
        routes=routes, vars={"NAME": name}, **config,
    )  # fmt: skip


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    domain = {"pattern": "shop.example", "custom_domain": True}
    return make(tmp_path, "a", [domain, "*.shop.example/*"])


@pytest.mark.parametrize(
    ("asked", "seen"),
    [
        ("t1.shop.example", "t1.shop.example"),
        ("T2.shop.example", "t2.shop.example"),
        ("t1.shop.example:8787", "t1.shop.example"),
        ("shop.example", "shop.example"),
        ("localhost:8787", "shop.example"),
        ("127.0.0.1", "shop.example"),
        ("a.localhost", "shop.example"),
        ("other.example", "shop.example"),
        ("evilshop.example", "shop.example"),
    ],
)
def test_is_the_one_that_was_asked_for_where_a_route_names_it(
    run: Runner, shop: Path, asked: str, seen: str
) -> None:
    async def program(flare: Any) -> str:
        return (await request(flare, "/p", host=asked)).text

    assert run(program, shop).lower() == f"a http://{seen}/p {seen}"


def test_is_that_of_the_worker_s_own_routes(run: Runner, tmp_path: Path) -> None:
    configs = [
        make(tmp_path, "a", ["a.example.com/*", "www.example.com/api/*"]),
        make(tmp_path, "b", ["b.example.com/*", "*.wild.com/*"]),
    ]

    async def program(flare: Any) -> list[str]:
        asked = [("/api/x", "www.example.com"), ("/p", "foo.wild.com"), ("/p", "c.example.com")]
        return [(await request(flare, path, host=host)).text for path, host in asked]

    assert run(program, *configs) == [
        "a http://www.example.com/api/x www.example.com",
        "b http://foo.wild.com/p foo.wild.com",
        "a http://a.example.com/p a.example.com",
    ]


@pytest.mark.parametrize(
    ("asked", "to", "got"),
    [
        ("t1.shop.example", "http://t1.shop.example/x", "http://t1.shop.example/x"),
        ("t1.shop.example:8787", "http://t1.shop.example/x", "http://t1.shop.example:8787/x"),
        ("t1.shop.example", "http://shop.example/x", "http://shop.example/x"),
        ("localhost:8787", "http://shop.example/x", "http://localhost:8787/x"),
    ],
)
def test_is_turned_back_in_redirects(
    run: Runner, shop: Path, asked: str, to: str, got: str
) -> None:
    async def program(flare: Any) -> Any:
        answer = await request(flare, "/", host=asked, headers={"x-to": to})
        return dict(answer.headers)["location"]

    assert run(program, shop) == got


def test_has_the_protocol_of_the_configuration(run: Runner, tmp_path: Path) -> None:
    config = make(tmp_path, "a", ["*.shop.example/*"], dev={"upstream_protocol": "https"})

    async def program(flare: Any) -> str:
        return (await request(flare, "/p", host="t1.shop.example")).text

    assert run(program, config) == "a https://t1.shop.example/p t1.shop.example"


def test_is_that_of_dev_host_whatever_was_asked_for(run: Runner, tmp_path: Path) -> None:
    config = make(tmp_path, "a", ["*.shop.example/*"], dev={"host": "my.test"})

    async def program(flare: Any) -> str:
        return (await request(flare, "/p", host="t1.shop.example")).text

    assert run(program, config) == "a http://my.test/p my.test"


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("https://t1.shop.example/p", "https://t1.shop.example/p t1.shop.example"),
        ("http://t1.shop.example/p", "http://t1.shop.example/p t1.shop.example"),
        ("https://other.test:8443/p", "https://other.test:8443/p other.test:8443"),
        ("/p", "http://shop.example/p shop.example"),
    ],
)
def test_is_that_of_the_url_in_an_embedding_program(
    run: Runner, shop: Path, url: str, seen: str
) -> None:
    async def program(flare: Any) -> str:
        return (await flare.fetch(url)).text

    assert run(program, shop) == f"a {seen}"
