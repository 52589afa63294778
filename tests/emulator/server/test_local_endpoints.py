"""``/cdn-cgi/``: who may ask, and what answers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyflare.js.response import Response
from pyflare.server.local import Guard
from pyflare.server.outbound import send_text
from pyflare.server.routes import parse_route


def refusal(guard: Guard, host: str | None, origin: str | None = None) -> str | None:
    headers = []
    if host is not None:
        headers.append((b"host", host.encode()))
    if origin is not None:
        headers.append((b"origin", origin.encode()))
    return guard.refusal({"headers": headers})


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost:8787",
        "LOCALHOST",
        "127.0.0.1:1",
        "[::1]",
        "[::1]:8787",
        "localhost.",
        "a.localhost",
    ],
)
def test_this_machine_is_allowed(host: str) -> None:
    assert refusal(Guard(), host) is None


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "evillocalhost", "127.0.0.2", "10.0.0.1", "", None],
)
def test_other_hosts_are_refused(host: str | None) -> None:
    assert refusal(Guard(), host) == "Invalid Host header"


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("my.test", True),
        ("MY.test:1", True),
        ("my.test.", True),
        ("sub.my.test", False),
        ("my.test.evil", False),
        ("xmy.test", False),
    ],
)
def test_exact_route_allows_exactly_its_host(host: str, allowed: bool) -> None:
    guard = Guard(routes=[parse_route("my.test/*")])
    assert (refusal(guard, host) is None) is allowed


@pytest.mark.parametrize(
    ("host", "allowed"),
    [("sub.my.test", True), ("a.b.my.test", True), ("my.test", False), ("xmy.test", False)],
)
def test_wildcard_route_allows_subdomains_at_a_labels_border(host: str, allowed: bool) -> None:
    guard = Guard(routes=[parse_route("*.my.test/*")])
    assert (refusal(guard, host) is None) is allowed


@pytest.mark.parametrize("ip", ["192.168.0.7", "fe80::1"])
def test_bound_address_is_allowed(ip: str) -> None:
    host = f"[{ip}]:8787" if ":" in ip else f"{ip}:8787"
    assert refusal(Guard([ip]), host) is None


def test_every_address_of_the_machine_is_allowed_when_all_are_bound() -> None:
    guard = Guard(["0.0.0.0"])
    assert refusal(guard, "10.0.0.1:8787") is None
    assert refusal(guard, "evil.example") == "Invalid Host header"


@pytest.mark.parametrize("origin", ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:9"])
def test_origins_of_this_machine_are_allowed(origin: str) -> None:
    assert refusal(Guard(), "localhost", origin) is None


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "file://",
        "http://localhost.evil.example",
        "localhost",
        "http://localhost/x",
    ],
)
def test_other_origins_are_refused(origin: str) -> None:
    assert refusal(Guard(), "localhost", origin) == "Invalid Origin header"


def test_foreign_address_as_origin_is_refused_even_when_all_are_bound() -> None:
    assert refusal(Guard(["0.0.0.0"]), "10.0.0.1", "http://6.6.6.6") == "Invalid Origin header"


def get(serving: Any, path: str, **options: Any) -> Any:
    headers = options.pop("headers", {})

    async def go() -> Any:
        async with serving(lambda _: Response.new("the worker"), **options) as client:
            return await client.get(path, **headers)

    return asyncio.run(go())


def test_health_answers_without_the_worker(serving: Any) -> None:
    answer = get(serving, "/cdn-cgi/local/health")
    assert (answer.status, answer.text) == (200, "ok")


@pytest.mark.parametrize("path", ["/cdn-cgi/local/health", "/cdn-cgi/anything"])
def test_foreign_host_gets_403(serving: Any, path: str) -> None:
    answer = get(serving, path, headers={"host": "evil.example"})
    assert (answer.status, answer.text) == (403, "Invalid Host header")


def test_foreign_origin_gets_403(serving: Any) -> None:
    answer = get(serving, "/cdn-cgi/local/health", headers={"origin": "http://evil.example"})
    assert (answer.status, answer.text) == (403, "Invalid Origin header")


@pytest.mark.parametrize(
    "path", ["/cdn-cgi/local/unknown", "/cdn-cgi/trace", "/x/cdn-cgi/local/health"]
)
def test_unknown_paths_go_to_the_worker(serving: Any, path: str) -> None:
    assert get(serving, path).text == "the worker"


@pytest.mark.parametrize(
    "path",
    ["/cdn-cgi/local/scheduled", "/cdn-cgi/handler/scheduled", "/cdn-cgi/mf/scheduled?cron=x"],
)
def test_further_endpoints_answer_under_all_their_names(serving: Any, path: str) -> None:
    async def scheduled(scope: Any, receive: Any, send: Any) -> None:
        await send_text(send, 200, "scheduled")

    assert get(serving, path, endpoints={"scheduled": scheduled}).text == "scheduled"


def test_local_requests_are_not_logged(serving: Any) -> None:
    async def go() -> str:
        async with serving(lambda _: Response.new("x")) as client:
            await client.get("/cdn-cgi/local/health")
            client.log.flush()
            return client.out.getvalue()

    assert asyncio.run(go()) == ""
