"""Which of several workers answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from pyflare.server.routes import parse_route, read_routes, router


def matches(pattern: str, host: str, path: str = "/", scheme: str = "http") -> bool:
    return parse_route(pattern).matches(scheme, host, path)


@pytest.mark.parametrize(
    ("pattern", "host", "path", "expected"),
    [
        ("example.com/*", "example.com", "/", True),
        ("example.com/*", "example.com", "/a/b", True),
        ("example.com/*", "sub.example.com", "/", False),
        ("example.com/*", "example.com.evil", "/", False),
        ("example.com/api/*", "example.com", "/api/x", True),
        ("example.com/api/*", "example.com", "/api", False),
        ("example.com/api*", "example.com", "/apix", True),
        ("example.com/api", "example.com", "/api", True),
        ("example.com/api", "example.com", "/api/x", False),
        ("example.com", "example.com", "/", True),
        ("example.com", "example.com", "/x", False),
        ("*.example.com/*", "a.example.com", "/", True),
        ("*.example.com/*", "a.b.example.com", "/", True),
        ("*.example.com/*", "example.com", "/", False),
        ("*example.com/*", "example.com", "/", True),
        ("*example.com/*", "a.example.com", "/", True),
        ("*example.com/*", "evilexample.com", "/", False),
        ("*/*", "whatever.test", "/x", True),
        ("EXAMPLE.com/*", "example.com", "/", True),
    ],
)
def test_pattern_matches_as_in_production(
    pattern: str, host: str, path: str, expected: bool
) -> None:
    assert matches(pattern, host, path) is expected


def test_scheme_in_a_pattern_limits_it() -> None:
    assert matches("https://example.com/*", "example.com", scheme="https")
    assert not matches("https://example.com/*", "example.com", scheme="http")


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("", "has no host name"),
        ("/path", "has no host name"),
        ("a*.example.com/", "only at the start of the host name"),
        ("example.com/*/x", "only at the end of the path"),
        ("example.com/?a=b", "may not have a query"),
    ],
)
def test_pattern_that_production_refuses_is_refused(pattern: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason.replace("(", r"\(")):
        parse_route(pattern)


@dataclass
class Configured:
    pattern: str
    custom_domain: bool = False


def test_custom_domain_takes_every_path() -> None:
    [route] = read_routes([Configured("shop.example.com", True)], pytest.fail)
    assert route.matches("http", "shop.example.com", "/any/path")


def test_refused_pattern_is_left_out_with_a_warning() -> None:
    told: list[str] = []
    routes = read_routes([Configured("a*b.com/*"), Configured("c.com/*")], told.append)
    assert [route.host for route in routes] == ["c.com"]
    assert told == [
        'A route is ignored: the route "a*b.com/*" may have "*" only at the start of the host name.'
    ]


class TestRouter:
    def pick(self, program: Any, host: str, path: str = "/", **patterns: list[str]) -> str:
        workers = [
            (program(lambda _: None, name), [parse_route(each) for each in own])
            for name, own in patterns.items()
        ]
        scope = {"headers": [(b"host", host.encode())], "path": path, "scheme": "http"}
        return router(workers)(scope).name

    def test_single_worker_gets_everything(self, program: Any) -> None:
        assert self.pick(program, "any.test", a=["example.com/*"]) == "a"

    def test_first_worker_gets_what_matches_nothing(self, program: Any) -> None:
        assert self.pick(program, "any.test", a=[], b=["example.com/*"]) == "a"

    def test_route_of_a_later_worker_wins_over_the_first_worker(self, program: Any) -> None:
        assert self.pick(program, "example.com:8787", a=[], b=["example.com/*"]) == "b"

    def test_exact_host_goes_before_wildcard(self, program: Any) -> None:
        chosen = self.pick(program, "a.example.com", a=["*.example.com/*"], b=["a.example.com/*"])
        assert chosen == "b"

    def test_longer_path_goes_first(self, program: Any) -> None:
        chosen = self.pick(
            program, "example.com", "/api/v1/x", a=["example.com/api/*"], b=["example.com/api/v1/*"]
        )
        assert chosen == "b"

    def test_scheme_of_a_pattern_does_not_matter_locally(self, program: Any) -> None:
        assert self.pick(program, "example.com", a=[], b=["https://example.com/*"]) == "b"

    def test_every_worker_has_a_host_of_its_own(self, program: Any) -> None:
        assert self.pick(program, "B.localhost:8787", a=[], b=[]) == "b"

    def test_unknown_name_goes_to_the_first(self, program: Any) -> None:
        assert self.pick(program, "c.localhost", a=[], b=[]) == "a"

    def test_no_worker_at_all_is_refused(self) -> None:
        with pytest.raises(ValueError, match="no worker"):
            router([])

    def test_mount_point_is_not_part_of_the_path(self, program: Any) -> None:
        workers = [
            (program(lambda _: None, "a"), []),
            (program(lambda _: None, "b"), [parse_route("example.com/api/*")]),
        ]
        scope = {
            "headers": [(b"host", b"example.com")],
            "path": "/edge/api/x",
            "root_path": "/edge",
        }
        assert router(workers)(scope).name == "b"
