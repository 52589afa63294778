"""Which address and port the server listens on, and the sockets for it.

The sockets are bound here and handed to the server, so that no other process can take the port in between.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["DEFAULT_PORT", "AddressInUse", "Listening", "PortTaken", "listen"]

DEFAULT_PORT: Final = 8787
_LAST_PORT = 8797
_BACKLOG = 2048
_RANDOM_TRIES = 5
_UNAVAILABLE: Final = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


class AddressInUse(Exception):
    """The server cannot listen where it should. ``str()`` says why and what to do."""


class PortTaken(AddressInUse):
    """Somebody else listens on the port."""


@dataclass(slots=True)
class Listening:
    """Sockets that listen; ``busy`` are the ports that were tried before and found taken."""

    sockets: list[socket.socket]
    ip: str
    port: int
    busy: tuple[int, ...] = ()

    @property
    def url(self) -> str:
        """What to type into a browser on this machine."""
        match self.ip:
            case "0.0.0.0" | "::" | "*":
                host = "localhost" if self.ip == "*" else ("0.0.0.0" if self.ip != "::" else "[::]")
            case _:
                host = f"[{self.ip}]" if ":" in self.ip else self.ip
        return f"http://{host}:{self.port}"

    @property
    def further_urls(self) -> list[str]:
        """Other ways to the same server, when it listens on every interface."""
        if self.ip not in ("0.0.0.0", "::", "*"):
            return []
        addresses = ["127.0.0.1", *_own_addresses()]
        return [f"http://{address}:{self.port}" for address in addresses]

    def close(self) -> None:
        for each in self.sockets:
            each.close()


def listen(ip: str, port: int | None, environ: Mapping[str, str] = os.environ) -> Listening:
    """Bind and listen.

    A given ``port`` is taken or refused (:class:`AddressInUse`); 0 is any free one. ``None`` tries 8787 to 8797, in a
    CI environment (``CI`` is set) only 8787, and then any free one.
    """
    if port:
        return _bind(ip, port)
    if port == 0:
        return _first_free(ip, ())
    last = DEFAULT_PORT if environ.get("CI") else _LAST_PORT
    return _first_free(ip, range(DEFAULT_PORT, last + 1))


def _first_free(ip: str, ports: Sequence[int]) -> Listening:
    busy: list[int] = []
    for port in ports:
        try:
            found = _bind(ip, port)
        except PortTaken:
            busy.append(port)
        else:
            found.busy = tuple(busy)
            return found
    for _ in range(_RANDOM_TRIES):
        # A port that the system gives for IPv4 may be taken on IPv6.
        with contextlib.suppress(PortTaken):
            found = _bind(ip, 0)
            found.busy = tuple(busy)
            return found
    raise AddressInUse(f"No free port was found on {ip}. Specify one with --port.")


def _bind(ip: str, port: int) -> Listening:
    hosts = _hosts(ip)
    sockets: list[socket.socket] = []
    try:
        for family, host in hosts:
            try:
                sockets.append(_open(family, host, port))
            except OSError as error:
                # "localhost" is both loopback addresses; a machine without IPv6 has only one of them.
                if sockets and error.errno in _UNAVAILABLE:
                    continue
                raise
            port = sockets[0].getsockname()[1]
    except OSError as error:
        for each in sockets:
            each.close()
        raise _refusal(ip, port, error) from error
    return Listening(sockets, ip, port)


def _refusal(ip: str, port: int, error: OSError) -> AddressInUse:
    match error.errno:
        case errno.EADDRINUSE:
            return PortTaken(
                f"Address already in use ({ip}:{port}). Please check that you are not already running a server on "
                "this address or specify a different port with --port."
            )
        case errno.EACCES:
            return AddressInUse(
                f"Permission denied for {ip}:{port}. Ports below 1024 belong to the system: specify another with "
                "--port."
            )
        case _:
            return AddressInUse(
                f"Cannot listen on {ip}:{port}: {error.strerror or error}. Specify an address of this machine with "
                "--ip."
            )


def _hosts(ip: str) -> Iterable[tuple[socket.AddressFamily, str]]:
    match ip:
        case "localhost":
            found = [(socket.AF_INET, "127.0.0.1")]
            return [*found, (socket.AF_INET6, "::1")] if socket.has_ipv6 else found
        case "*":
            return [(socket.AF_INET, "0.0.0.0")]
        case _ if ":" in ip:
            return [(socket.AF_INET6, ip)]
        case _:
            return [(socket.AF_INET, ip)]


def _open(family: socket.AddressFamily, host: str, port: int) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            # Otherwise a restart would have to wait for the last connections' TIME_WAIT.
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(host != "::"))
        made.bind((host, port))
        # Binding alone does not find another listener on the same port.
        made.listen(_BACKLOG)
        made.setblocking(False)
    except BaseException:
        made.close()
        raise
    return made


def _own_addresses() -> list[str]:
    """This machine's addresses in its networks, without asking anybody: no packet is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # A datagram socket's connect() only chooses the local address. 192.0.2.1 is reserved for documents.
            probe.connect(("192.0.2.1", 9))
            address = probe.getsockname()[0]
        except OSError:
            return []
    return [address] if not address.startswith("127.") else []
