"""Where the server listens."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

import pytest

from pyflare.cli import ports
from pyflare.cli.ports import AddressInUse, Listening, listen


@contextlib.contextmanager
def taken(count: int = 1) -> Iterator[list[int]]:
    """Ports on which somebody listens already."""
    with contextlib.ExitStack() as stack:
        found = []
        for _ in range(count):
            each = stack.enter_context(socket.socket())
            each.bind(("127.0.0.1", 0))
            each.listen()
            found.append(each.getsockname()[1])
        yield found


@contextlib.contextmanager
def listening(ip: str, port: int | None) -> Iterator[Listening]:
    found = listen(ip, port, {})
    try:
        yield found
    finally:
        found.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_given_port_is_taken() -> None:
    port = free_port()
    with listening("127.0.0.1", port) as found:
        assert found.port == port
        assert found.url == f"http://127.0.0.1:{port}"
        socket.create_connection(("127.0.0.1", port)).close()


def test_busy_port_is_refused_with_advice() -> None:
    with taken() as [port], pytest.raises(AddressInUse) as refused:
        listen("127.0.0.1", port)
    assert str(refused.value) == (
        f"Address already in use (127.0.0.1:{port}). Please check that you are not already running a server on this "
        "address or specify a different port with --port."
    )


def test_port_zero_is_any_free_one() -> None:
    with listening("127.0.0.1", 0) as one, listening("127.0.0.1", 0) as two:
        assert one.port != two.port


def test_localhost_answers_on_both_loopback_addresses() -> None:
    with listening("localhost", 0) as found:
        assert found.url == f"http://localhost:{found.port}"
        socket.create_connection(("127.0.0.1", found.port)).close()
        if len(found.sockets) == 2:
            socket.create_connection(("::1", found.port)).close()


def test_address_of_another_machine_is_refused_with_advice() -> None:
    with pytest.raises(AddressInUse, match=r"Cannot listen on 192\.0\.2\.1:[0-9]+: .*--ip"):
        listen("192.0.2.1", free_port())


def test_without_a_port_the_first_free_one_of_the_range_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with taken() as [busy]:
        monkeypatch.setattr(ports, "DEFAULT_PORT", busy)
        monkeypatch.setattr(ports, "_LAST_PORT", busy + 200)
        with listening("127.0.0.1", None) as found:
            assert found.port > busy
            assert found.busy[0] == busy


def test_when_the_whole_range_is_taken_any_free_port_serves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with taken() as [busy]:
        monkeypatch.setattr(ports, "DEFAULT_PORT", busy)
        monkeypatch.setattr(ports, "_LAST_PORT", busy)
        with listening("127.0.0.1", None) as found:
            assert found.busy == (busy,)
            assert found.port != busy


def test_ci_tries_only_the_default_port_before_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    with taken() as [busy]:
        monkeypatch.setattr(ports, "DEFAULT_PORT", busy)
        found = listen("127.0.0.1", None, {"CI": "true"})
        found.close()
    assert found.busy == (busy,)


def test_port_can_be_taken_again_at_once() -> None:
    with listening("127.0.0.1", 0) as first:
        client = socket.create_connection(("127.0.0.1", first.port))
        first.sockets[0].setblocking(True)
        connection, _ = first.sockets[0].accept()
        connection.close()
        client.close()
    with listening("127.0.0.1", first.port) as again:
        assert again.port == first.port


@pytest.mark.parametrize(
    ("ip", "url"),
    [
        ("localhost", "http://localhost:8787"),
        ("127.0.0.1", "http://127.0.0.1:8787"),
        ("::1", "http://[::1]:8787"),
        ("0.0.0.0", "http://0.0.0.0:8787"),
        ("*", "http://localhost:8787"),
    ],
)
def test_url_is_what_one_types_into_a_browser(ip: str, url: str) -> None:
    assert Listening([], ip, 8787).url == url


def test_further_urls_are_told_when_every_interface_is_served() -> None:
    assert Listening([], "0.0.0.0", 8787).further_urls[0] == "http://127.0.0.1:8787"
    assert Listening([], "127.0.0.1", 8787).further_urls == []
