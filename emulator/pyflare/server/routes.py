"""Which worker answers a request when several run in one process.

Route patterns match as they do in production: an exact host before a wildcard one, then the longer path first
(https://developers.cloudflare.com/workers/configuration/routing/routes/#matching-behavior). Requests that match no
pattern go to the first worker. Beside that every worker is reached as ``http://<name>.localhost:<port>/``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from .contracts import Router, Scope, Worker

__all__ = ["Route", "allowed_hosts", "host_name", "parse_route", "read_routes", "router"]


@dataclass(slots=True, frozen=True)
class Route:
    """A parsed pattern. ``wildcard`` hosts match by suffix; an open path matches by prefix.

    ``suffix`` is set for patterns such as ``*.example.com``, where only names below the domain count, as opposed to
    ``*example.com``, which takes the domain itself and names that end with ``.example.com``.
    """

    scheme: str | None
    host: str
    wildcard: bool
    subdomains_only: bool
    path: str
    open_path: bool

    def matches(self, scheme: str, host: str, path: str) -> bool:
        """Whether a request belongs to this route; ``host`` in lower case, without port."""
        if self.scheme is not None and self.scheme != scheme:
            return False
        if not self.matches_host(host):
            return False
        return path.startswith(self.path) if self.open_path else path == self.path

    def matches_host(self, host: str) -> bool:
        if not self.wildcard:
            return host == self.host
        if not self.host:
            return True
        # A wildcard ends at a label: "*example.com" takes "a.example.com" but not "evilexample.com".
        return host.endswith(f".{self.host}") or (not self.subdomains_only and host == self.host)


class Pattern(Protocol):
    """A route as the configuration has it."""

    @property
    def pattern(self) -> str: ...
    @property
    def custom_domain(self) -> bool: ...


def parse_route(pattern: str) -> Route:
    """Read a route pattern such as ``*.example.com/api/*``.

    Raises ``ValueError`` with the reason for a pattern that production refuses.
    """
    scheme: str | None = None
    rest = pattern
    for known in ("https", "http"):
        if rest.startswith(f"{known}://"):
            scheme, rest = known, rest[len(known) + 3 :]
    host, slash, path = rest.partition("/")
    path = f"{slash}{path}"
    wildcard = host.startswith("*")
    name = host[1:] if wildcard else host
    subdomains_only = wildcard and name.startswith(".")
    name = name.removeprefix(".")
    if not host:
        raise ValueError(f'the route "{pattern}" has no host name')
    if "*" in name:
        raise ValueError(f'the route "{pattern}" may have "*" only at the start of the host name')
    if "*" in path[:-1]:
        raise ValueError(f'the route "{pattern}" may have "*" only at the end of the path')
    if "?" in path:
        raise ValueError(f'the route "{pattern}" may not have a query')
    open_path = path.endswith("*")
    return Route(
        scheme, host_name(name), wildcard, subdomains_only, path.removesuffix("*") or "/", open_path
    )


def read_routes(configured: Iterable[Pattern], warn: Callable[[str], None]) -> list[Route]:
    """The routes of a worker's configuration. A custom domain takes every path of its host.

    What production would refuse is left out, and ``warn`` is told why: locally the worker is reached without it.
    """
    parsed = []
    for each in configured:
        try:
            parsed.append(parse_route(f"{each.pattern}/*" if each.custom_domain else each.pattern))
        except ValueError as error:
            warn(f"A route is ignored: {error}.")
    return parsed


def host_name(authority: str) -> str:
    """The host of ``host:port`` in lower case, without port, brackets kept, without a trailing dot."""
    name = authority.strip().lower()
    if name.startswith("["):
        end = name.find("]")
        return name[: end + 1]
    name = name.partition(":")[0]
    return name.removesuffix(".")


def allowed_hosts(routes: Iterable[Route]) -> tuple[frozenset[str], tuple[str, ...]]:
    """Exact host names and suffixes (``.example.com``) of the routes, for the guard of ``/cdn-cgi/``."""
    exact: set[str] = set()
    suffixes: set[str] = set()
    for route in routes:
        if not route.host:
            continue
        if not route.subdomains_only:
            exact.add(route.host)
        if route.wildcard:
            suffixes.add(f".{route.host}")
    return frozenset(exact), tuple(sorted(suffixes))


def router(workers: Sequence[tuple[Worker, Sequence[Route]]]) -> Router:
    """The function that picks the worker of a request; a constant when there is one worker."""
    if not workers:
        raise ValueError("there is no worker to route to")
    primary = workers[0][0]
    if len(workers) == 1:
        return lambda _scope: primary
    return _Table(workers)


_LOCALHOST: Final = ".localhost"


class _Table:
    __slots__ = ("_by_name", "_primary", "_routes")

    def __init__(self, workers: Sequence[tuple[Worker, Sequence[Route]]]) -> None:
        self._primary = workers[0][0]
        self._by_name = {worker.name.lower(): worker for worker, _ in workers}
        routes = [(route, worker) for worker, patterns in workers for route in patterns]
        # sorted() is stable: among equals the worker named first wins.
        self._routes = sorted(routes, key=lambda pair: _rank(pair[0]))

    def __call__(self, scope: Scope) -> Worker:
        host = ""
        for name, value in scope["headers"]:
            if name == b"host":
                host = host_name(value.decode("latin-1"))
                break
        if host.endswith(_LOCALHOST):
            named = self._by_name.get(host.removesuffix(_LOCALHOST))
            if named is not None:
                return named
        if self._routes:
            scheme = scope.get("scheme", "http")
            path = _path(scope)
            for route, worker in self._routes:
                # Patterns with a scheme are written for production; locally every request is http.
                if route.matches(route.scheme or scheme, host, path):
                    return worker
        return self._primary


def _rank(route: Route) -> tuple[bool, int, int, bool]:
    return (route.wildcard, -len(route.host), -len(route.path), route.open_path)


def _path(scope: Scope) -> str:
    path: str = scope["path"]
    root: str = scope.get("root_path", "")
    return path[len(root) :] or "/" if root and path.startswith(root) else path
