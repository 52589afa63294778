"""What a worker sees of an HTTP request: its URL and its headers."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pyflare.server.inbound import BadRequest, Upstream, read_scope


def scope(**changes: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "type": "http",
        "method": "GET",
        "scheme": "http",
        "path": "/",
        "raw_path": b"/",
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"localhost:8787")],
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 8787),
    }
    return base | changes


def headers(
    *pairs: tuple[bytes, bytes], client: Any = ("10.1.2.3", 4), **changes: Any
) -> dict[bytes, bytes]:
    given = scope(headers=[(b"host", b"localhost"), *pairs], client=client, **changes)
    return dict(read_scope(given, None).headers)


@pytest.mark.parametrize(
    ("raw_path", "query", "expected"),
    [
        (b"/", b"", "http://localhost:8787/"),
        (b"/a/b.css", b"", "http://localhost:8787/a/b.css"),
        (b"/a", b"x=1&y=%20", "http://localhost:8787/a?x=1&y=%20"),
        (b"/a%20b", b"", "http://localhost:8787/a%20b"),
        (b"/a/../b", b"", "http://localhost:8787/b"),
        (b"/a/./b", b"", "http://localhost:8787/a/b"),
        (b"/a/%2e%2E/b", b"", "http://localhost:8787/b"),
        (b"/a/..", b"", "http://localhost:8787/"),
        (b"/.well-known/x", b"", "http://localhost:8787/.well-known/x"),
        (b'/a"b', b"", "http://localhost:8787/a%22b"),
        (b"/a", b"q='x'", "http://localhost:8787/a?q=%27x%27"),
        (b"/caf\xc3\xa9", b"", "http://localhost:8787/caf%C3%A9"),
        (b"//evil.example/x", b"", "http://localhost:8787//evil.example/x"),
        (b"/@evil.example", b"", "http://localhost:8787/@evil.example"),
        (b"*", b"", "http://localhost:8787/*"),
        (b"", b"", "http://localhost:8787/"),
    ],
)
def test_url_is_the_host_and_the_normalised_target(
    raw_path: bytes, query: bytes, expected: str
) -> None:
    assert read_scope(scope(raw_path=raw_path, query_string=query), None).url == expected


@pytest.mark.parametrize("second", [b"localhost:8787", b"my.test", b""])
def test_a_second_host_is_refused(second: bytes) -> None:
    given = scope(headers=[(b"host", b"localhost:8787"), (b"accept", b"*"), (b"host", second)])
    with pytest.raises(BadRequest, match="more than one Host header"):
        read_scope(given, None)


@pytest.mark.parametrize(
    ("scheme", "host", "origin"),
    [
        ("http", b"LOCALHOST:8787", "http://localhost:8787"),
        ("http", b"example.com:80", "http://example.com"),
        ("http", b"example.com:443", "http://example.com:443"),
        ("https", b"example.com:443", "https://example.com"),
        ("http", b"example.com:", "http://example.com"),
        ("http", b"[::1]:8787", "http://[::1]:8787"),
        ("http", b"[::1]", "http://[::1]"),
    ],
)
def test_origin_is_lower_case_without_the_default_port(
    scheme: str, host: bytes, origin: str
) -> None:
    given = scope(scheme=scheme, headers=[(b"host", host)])
    assert read_scope(given, None).url == f"{origin}/"


@pytest.mark.parametrize(
    "host",
    [b"user@evil.example", b"a b", b"evil/x", b"evil?x", b"a:b:c", b"example.com:70000", b"\xff"],
)
def test_host_that_is_none_is_refused(host: bytes) -> None:
    with pytest.raises(BadRequest, match="Host header"):
        read_scope(scope(headers=[(b"host", host)]), None)


@pytest.mark.parametrize("port", [8787, "8787"])
def test_missing_host_falls_back_to_the_address_of_the_server(port: int | str) -> None:
    found = read_scope(scope(headers=[], server=("127.0.0.1", port)), None)
    assert found.url == "http://127.0.0.1:8787/"


def test_forwarding_headers_do_not_set_the_url() -> None:
    forged = [
        (b"host", b"localhost"),
        (b"x-forwarded-host", b"evil.example"),
        (b"x-original-url", b"http://evil.example/"),
    ]
    assert read_scope(scope(headers=forged), None).url == "http://localhost/"


@pytest.mark.parametrize(
    ("root_path", "raw_path", "expected"),
    [
        ("/edge", b"/edge/items", "http://localhost:8787/items"),
        ("/edge", b"/edge", "http://localhost:8787/"),
        ("/ed ge", b"/ed%20ge/items", "http://localhost:8787/items"),
    ],
)
def test_mounted_application_does_not_see_the_path_of_its_mount(
    root_path: str, raw_path: bytes, expected: str
) -> None:
    assert read_scope(scope(root_path=root_path, raw_path=raw_path), None).url == expected


def test_target_is_made_from_the_decoded_path_when_the_host_gives_no_raw_one() -> None:
    given = scope(path="/edge/a b/é", raw_path=None, root_path="/edge")
    assert read_scope(given, None).url == "http://localhost:8787/a%20b/%C3%A9"


def test_own_headers_pass_unchanged() -> None:
    seen = headers((b"x-own", b"1"), (b"user-agent", b"test"))
    assert (seen[b"x-own"], seen[b"user-agent"]) == (b"1", b"test")


def test_accept_encoding_is_always_what_the_network_offers() -> None:
    assert headers((b"accept-encoding", b"zstd"))[b"accept-encoding"] == b"br, gzip"


def test_accept_encoding_of_the_client_is_kept_for_cf() -> None:
    given = scope(headers=[(b"host", b"x"), (b"accept-encoding", b"zstd")])
    assert read_scope(given, None).accept == b"zstd"


def test_connecting_ip_is_the_peer_whatever_the_client_says() -> None:
    assert headers((b"cf-connecting-ip", b"6.6.6.6"))[b"cf-connecting-ip"] == b"10.1.2.3"


def test_connecting_ip_is_the_loopback_address_without_a_peer() -> None:
    assert headers(client=None)[b"cf-connecting-ip"] == b"127.0.0.1"


@pytest.mark.parametrize(
    "name", [b"mf-original-url", b"mf-proxy-shared-secret", b"mf-cf-blob", b"mf-anything"]
)
def test_internal_headers_from_outside_are_removed(name: bytes) -> None:
    assert name not in headers((name, b"x"))


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_headers_of_the_network_are_added(scheme: str) -> None:
    seen = headers(scheme=scheme)
    assert seen[b"x-forwarded-for"] == b"10.1.2.3"
    assert seen[b"x-forwarded-proto"] == scheme.encode()
    assert seen[b"cf-visitor"] == b'{"scheme":"%s"}' % scheme.encode()
    assert seen[b"cf-ipcountry"] == b"US"
    assert re.fullmatch(rb"[0-9a-f]{16}-DFW", seen[b"cf-ray"])


def test_every_request_has_a_ray_of_its_own() -> None:
    assert headers()[b"cf-ray"] != headers()[b"cf-ray"]


def test_the_protocol_is_that_of_the_upstream() -> None:
    upstream = Upstream("shop.test", "https")
    seen = dict(read_scope(scope(), upstream).headers)
    assert (seen[b"x-forwarded-proto"], seen[b"cf-visitor"]) == (b"https", b'{"scheme":"https"}')


@pytest.mark.parametrize(
    "name", [b"cf-ray", b"cf-ipcountry", b"cf-visitor", b"x-forwarded-proto", b"x-real-ip"]
)
def test_headers_of_the_network_may_be_sent(name: bytes) -> None:
    pairs = [(b"host", b"x"), (name, b"v")]
    seen = read_scope(scope(headers=pairs), None).headers
    assert [value for known, value in seen if known == name] == [b"v"]


def test_the_peer_is_added_to_the_addresses_that_were_sent() -> None:
    pairs = [(b"x-forwarded-for", b"6.6.6.6"), (b"x-forwarded-for", b"7.7.7.7")]
    seen = read_scope(scope(headers=pairs), None).headers
    forwarded = [value for name, value in seen if name == b"x-forwarded-for"]
    assert forwarded == [b"6.6.6.6, 7.7.7.7, 127.0.0.1"]


@pytest.mark.parametrize(
    ("cf", "country"), [({"country": "DE"}, b"DE"), ({}, b"XX"), ({"country": None}, b"XX")]
)
def test_the_country_is_that_of_the_request_s_cf(cf: dict[str, object], country: bytes) -> None:
    given = {**scope(), "pyflare.cf": cf}
    assert dict(read_scope(given, None).headers)[b"cf-ipcountry"] == country


@pytest.mark.parametrize(
    ("pairs", "length"),
    [
        ([], -1),
        ([(b"content-length", b"12")], 12),
        ([(b"content-length", b"0")], 0),
        ([(b"transfer-encoding", b"chunked")], None),
    ],
)
def test_body_is_announced_by_its_headers(
    pairs: list[tuple[bytes, bytes]], length: int | None
) -> None:
    assert read_scope(scope(headers=[(b"host", b"x"), *pairs]), None).length == length


class TestUpstream:
    upstream = Upstream("example.com:444")

    def read(self, *pairs: tuple[bytes, bytes]) -> Any:
        given = scope(headers=[(b"host", b"localhost:8787"), *pairs], raw_path=b"/a")
        return read_scope(given, self.upstream)

    def test_url_has_the_upstream_host(self) -> None:
        assert self.read().url == "http://example.com:444/a"

    def test_protocol_can_be_https(self) -> None:
        assert read_scope(scope(), Upstream("example.com", "https")).url == "https://example.com/"

    def test_host_header_follows_and_the_original_is_kept(self) -> None:
        seen = dict(self.read().headers)
        assert seen[b"host"] == b"example.com:444"
        assert seen[b"mf-original-hostname"] == b"localhost:8787"

    def test_every_header_with_the_outer_host_is_mapped(self) -> None:
        seen = dict(
            self.read(
                (b"origin", b"http://localhost:8787"), (b"referer", b"http://localhost:8787/x")
            ).headers
        )
        assert seen[b"origin"] == b"http://example.com:444"
        assert seen[b"referer"] == b"http://example.com:444/x"
