"""``/cdn-cgi/``: the local endpoints, and the guard before them.

A web page can make a browser send requests to this machine, and a DNS name under an attacker's control can be pointed
at it. So requests to these paths are answered only when ``Host``, and ``Origin`` when it is sent, name this machine or
a host that the configuration names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from .contracts import ASGIApplication, Receive, Scope, Send
from .outbound import send_text
from .routes import Route, allowed_hosts, host_name

__all__ = ["PREFIX", "Guard", "local_endpoint"]

PREFIX: Final = "/cdn-cgi/"

#: Paths of the endpoints' earlier names, which most tutorials still have.
_EARLIER_NAMES: Final = {
    "/cdn-cgi/handler/": "/cdn-cgi/local/",
    "/cdn-cgi/mf/scheduled": "/cdn-cgi/local/scheduled",
    "/cdn-cgi/explorer": "/cdn-cgi/local/explorer",
}
_LOCAL_NAMES: Final = frozenset(("localhost", "127.0.0.1", "[::1]"))
_ADDRESS: Final = re.compile(r"\d{1,3}(\.\d{1,3}){3}|\[[0-9a-f:.]+\]")
_EVERY_ADDRESS: Final = ("0.0.0.0", "::", "*")


class Guard:
    """Which values of ``Host`` and ``Origin`` may use the local endpoints.

    Args: ``hosts`` further names, with or without port (the bound address, the upstream host); ``routes`` the
    workers' routes: an exact route allows exactly its host, a wildcard one its subdomains at a label's border.
    When an address that stands for every interface is among ``hosts``, a Host that is an IP address is allowed too:
    no DNS answer can forge one.
    """

    __slots__ = ("_any_address", "_exact", "_suffixes")

    def __init__(self, hosts: Iterable[str] = (), routes: Iterable[Route] = ()) -> None:
        names = list(hosts)
        exact, suffixes = allowed_hosts(routes)
        self._any_address = any(name in _EVERY_ADDRESS for name in names)
        self._exact = exact | _LOCAL_NAMES | {_bracketed(name) for name in names}
        self._suffixes = (*suffixes, ".localhost")

    def refusal(self, scope: Scope) -> str | None:
        """The text of the 403 answer, or ``None`` when the request may pass."""
        host = origin = None
        for name, value in scope["headers"]:
            if name == b"host":
                host = host_name(value.decode("latin-1"))
            elif name == b"origin":
                origin = value.decode("latin-1")
        if host is None or not self._allows(host, address=self._any_address):
            return "Invalid Host header"
        if origin is not None:
            scheme, separator, authority = origin.partition("://")
            name = host_name(authority)
            if not separator or scheme not in ("http", "https") or "/" in authority:
                return "Invalid Origin header"
            if name != host and not self._allows(name, address=False):
                return "Invalid Origin header"
        return None

    def _allows(self, host: str, *, address: bool) -> bool:
        if host in self._exact or host.endswith(self._suffixes):
            return True
        return address and _ADDRESS.fullmatch(host) is not None


def _bracketed(name: str) -> str:
    bare = name.count(":") > 1 and not name.startswith("[")
    return host_name(f"[{name}]" if bare else name)


def local_endpoint(path: str, endpoints: Mapping[str, ASGIApplication]) -> ASGIApplication | None:
    """The endpoint of a path, old names included; ``None`` when the worker should see the request.

    ``endpoints`` maps the first path segment after ``/cdn-cgi/local/``, or a whole path, to an ASGI application.
    """
    if path in endpoints and path.startswith("/"):
        return endpoints[path]
    for earlier, now in _EARLIER_NAMES.items():
        if path.startswith(earlier):
            path = now + path[len(earlier) :]
            break
    if not path.startswith("/cdn-cgi/local/"):
        return None
    name = path.removeprefix("/cdn-cgi/local/").partition("/")[0]
    return endpoints.get(name)


async def health(scope: Scope, receive: Receive, send: Send) -> None:
    """Says that the server answers; used by the health check of the container image."""
    await send_text(send, 200, "ok")
