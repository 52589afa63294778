"""Redirects, links and cookies of a worker that is mounted below a path."""

import pytest

from pyflare.server.inbound import read_scope
from pyflare.server.mounted import mount_path, prefixed


@pytest.mark.parametrize(
    ("name", "value", "outside"),
    [
        ("location", "/login?next=/a", "/edge/login?next=/a"),
        ("location", "/", "/edge"),
        ("location", "/edge/login", "/edge/login"),
        ("location", "/edges", "/edge/edges"),
        ("location", "login", "login"),
        ("location", "//other.test/x", "//other.test/x"),
        ("location", "http://my.test/x", "http://my.test/edge/x"),
        ("location", "http://MY.test/edge?a", "http://MY.test/edge?a"),
        ("location", "https://other.test/x", "https://other.test/x"),
        ("content-location", "/a", "/edge/a"),
        ("link", '</a>; rel="next", </edge/b>; rel="prev"', '</edge/a>; rel="next", </edge/b>; rel="prev"'),
        ("set-cookie", "a=/b; Path=/; Secure", "a=/b; Path=/edge; Secure"),
        ("set-cookie", "a=b; path=/x", "a=b; path=/edge/x"),
        ("set-cookie", "a=b", "a=b"),
        ("x-path", "/a", "/a"),
    ],
)  # fmt: skip
def test_own_paths_get_the_mount_in_front(name: str, value: str, outside: str) -> None:
    headers = [(name.encode(), value.encode())]

    assert prefixed(headers, "/edge", b"my.test") == [(name.encode(), outside.encode())]


@pytest.mark.parametrize(
    ("root_path", "path"), [("/edge/", b"/edge"), ("", b""), ("/a b/ü", b"/a%20b/%C3%BC")]
)
def test_a_mount_is_shown_as_it_stands_in_urls(root_path: str, path: bytes) -> None:
    assert mount_path(root_path) == path


@pytest.mark.parametrize(("root_path", "seen"), [("/edge", [b"/edge"]), ("", [b"/forged"])])
def test_the_worker_is_told_the_prefix_and_nobody_else_can_say_it(
    root_path: str, seen: list[bytes]
) -> None:
    scope = {
        "type": "http",
        "path": f"{root_path}/a",
        "raw_path": f"{root_path}/a".encode(),
        "query_string": b"",
        "root_path": root_path,
        "headers": [(b"host", b"my.test"), (b"x-forwarded-prefix", b"/forged")],
    }
    inbound = read_scope(scope, None)

    assert [value for name, value in inbound.headers if name == b"x-forwarded-prefix"] == seen
    assert inbound.url == "http://my.test/a"
