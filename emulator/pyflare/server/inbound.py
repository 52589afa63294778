"""From an ASGI scope to the URL and the headers that a worker sees.

Sources: https://developers.cloudflare.com/fundamentals/reference/http-headers/ for the headers,
https://url.spec.whatwg.org/ for the form of the URL.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from random import getrandbits
from typing import Any, Final
from urllib.parse import quote

from .cf import FIXED
from .contracts import HeaderPairs, Scope
from .routes import Route, host_name

__all__ = ["BadRequest", "Inbound", "Upstream", "inbound_path", "read_scope"]


_LOCAL: Final = frozenset(("localhost", "127.0.0.1", "[::1]"))


class BadRequest(Exception):
    """A request that no URL can be made of; the text is sent to the client with status 400."""


@dataclass(slots=True, frozen=True)
class Upstream:
    """The host that workers see in place of the one the client used (``--host``, or the first route's host).

    ``host`` may carry a port; ``protocol`` is ``http`` or ``https``. A host that one of ``routes`` names is seen as it
    was asked for.
    """

    host: str
    protocol: str = "http"
    routes: tuple[Route, ...] = ()

    def of(self, scope: Scope) -> Upstream | None:
        """What stands in for the host of one request, None where that is seen as it is.

        A program that embeds the workers says in the URL which host it means.
        """
        embedded = "pyflare.embedded" in scope
        if not embedded and not self.routes:
            return self
        for name, value in scope["headers"]:
            if name == b"host":
                return _instead_of(self, value, embedded)
        return self


@lru_cache(maxsize=512)
def _instead_of(upstream: Upstream, host: bytes, embedded: bool) -> Upstream | None:
    name = host_name(host.decode("latin-1"))
    if embedded and name not in _LOCAL and not name.endswith(".localhost"):
        return None
    if any(route.host and route.matches_host(name) for route in upstream.routes):
        return Upstream(name, upstream.protocol)
    return upstream


class Inbound:
    """What :func:`read_scope` found: the URL and its path without the query, the headers, the client's own Host and
    Accept-Encoding. ``length`` is -1 without a body, ``None`` for a body of unknown length.
    """

    __slots__ = ("accept", "headers", "host", "length", "path", "url")

    def __init__(
        self,
        origin: str,
        path: str,
        query: str,
        host: bytes,
        headers: HeaderPairs,
        length: int | None,
        accept: bytes,
    ) -> None:
        self.path = path
        self.url = f"{origin}{path}?{query}" if query else origin + path
        self.host = host
        self.headers = headers
        self.length = length
        self.accept = accept


# Cloudflare offers these two to every worker, whatever the client said; the client's own value is in `request.cf`.
_ACCEPT_ENCODING: Final = (b"accept-encoding", b"br, gzip")

# The headers of Cloudflare's that say where a request comes from. Other than in production a client may set them (but
# for the address), so that a Worker can be tried with another country, say.
_SCHEMES: Final = {
    scheme: (
        (b"x-forwarded-proto", scheme.encode()),
        (b"cf-visitor", b'{"scheme":"%s"}' % scheme.encode()),
    )
    for scheme in ("http", "https")
}
_COUNTRY: Final = (b"cf-ipcountry", FIXED["country"].encode())
_COLO: Final = b"-" + FIXED["colo"].encode()

_HOST, _ACCEPT, _LENGTH, _CHUNKED, _DROPPED, _FORWARDED, _OURS = range(1, 8)
_SPECIAL: Final = {
    b"host": _HOST,
    b"accept-encoding": _ACCEPT,
    b"content-length": _LENGTH,
    b"transfer-encoding": _CHUNKED,
    b"cf-connecting-ip": _DROPPED,
    b"x-forwarded-for": _FORWARDED,
    b"x-forwarded-proto": _OURS,
    b"cf-visitor": _OURS,
    b"cf-ipcountry": _OURS,
    b"cf-ray": _OURS,
}

# Bytes that a URL's path and query keep as they are. A path with dot segments takes the slow way as well.
_PATH_PLAIN: Final = (
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@/%"
)
_QUERY_PLAIN: Final = _PATH_PLAIN.replace(b"'", b"") + b"?"
_DOT_SEGMENT: Final = re.compile(rb"/(?:\.|%2e){1,2}(?:/|$)", re.IGNORECASE)
_HOST_FORM: Final = re.compile(
    rb"(?P<name>[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{0,6}))?"
)


def read_scope(scope: Scope, upstream: Upstream | None) -> Inbound:
    """Read the scope of one HTTP request. Raises :class:`BadRequest` for a host that is none and for two."""
    host = accept = forwarded = b""
    given: list[bytes] | None = None
    has_host = False
    length: int | None = -1
    headers: HeaderPairs = []
    keep = headers.append
    for pair in scope["headers"]:
        name = pair[0]
        special = _SPECIAL.get(name)
        if special is None:
            # Internal headers of the JavaScript emulator mean something to code written for it: never from outside.
            if name[0:1] != b"m" or name[:3] != b"mf-":
                keep(pair)
            continue
        if special == _DROPPED:
            continue
        if special == _ACCEPT:
            accept = pair[1]
            continue
        if special == _FORWARDED:
            forwarded += pair[1] + b", "
            continue
        keep(pair)
        if special == _OURS:
            given = [name] if given is None else [*given, name]
            continue
        if special == _HOST:
            if has_host:
                raise BadRequest("The request has more than one Host header.")
            host, has_host = pair[1], True
        elif special == _CHUNKED:
            length = None
        elif length == -1:
            length = _length(pair[1])
    if scope.get("root_path"):
        headers[:] = _with_prefix(headers, scope["root_path"])
    client = scope.get("client")
    address = client[0].encode("latin-1") if client else b"127.0.0.1"
    if upstream is None:
        scheme = scope.get("scheme", "http")
        origin = _origin(scheme, host or _server(scope))
    else:
        scheme = upstream.protocol
        headers = _mapped_inward(headers, host, upstream.host.encode("latin-1"))
        origin = _origin(scheme, upstream.host.encode("latin-1"))
    added = _added(scheme, address)
    if forwarded or "pyflare.cf" in scope:
        added = _changed(added, forwarded + address, scope)
    if given is None:
        headers += added
    else:
        headers += [pair for pair in added if pair[0] not in given]
    if given is None or b"cf-ray" not in given:
        headers.append((b"cf-ray", b"%016x%b" % (getrandbits(64), _COLO)))
    path, query = _target(scope)
    return Inbound(origin, path, query, host, headers, length, accept)


@lru_cache(maxsize=64)
def _added(scheme: str, address: bytes) -> tuple[tuple[bytes, bytes], ...]:
    """What every request of a client gets, but for the ray of each."""
    return (
        _ACCEPT_ENCODING,
        (b"cf-connecting-ip", address),
        (b"x-forwarded-for", address),
        *_SCHEMES.get(scheme, _SCHEMES["http"]),
        _COUNTRY,
    )


def _changed(
    added: tuple[tuple[bytes, bytes], ...], forwarded: bytes, scope: Scope
) -> tuple[tuple[bytes, bytes], ...]:
    """The same for a request that came through others, or whose `request.cf` was given."""
    country = _country(scope["pyflare.cf"]) if "pyflare.cf" in scope else _COUNTRY
    return (*added[:2], (b"x-forwarded-for", forwarded), *added[3:5], country)


def _country(cf: Mapping[str, Any]) -> tuple[bytes, bytes]:
    country = cf.get("country")
    return (b"cf-ipcountry", country.encode() if isinstance(country, str) else b"XX")


def inbound_path(scope: Scope) -> str:
    """The decoded path below the place where the application is mounted."""
    path: str = scope["path"]
    root: str = scope.get("root_path", "")
    if root and path.startswith(root):
        return path[len(root) :] or "/"
    return path


def _with_prefix(headers: HeaderPairs, root_path: str) -> HeaderPairs:
    from .mounted import PREFIX_HEADER, mount_path

    kept = [pair for pair in headers if pair[0] != PREFIX_HEADER]
    prefix = mount_path(root_path)
    return [*kept, (PREFIX_HEADER, prefix)] if prefix else kept


def _length(value: bytes) -> int | None:
    try:
        return int(value)
    except ValueError:
        return None


def _server(scope: Scope) -> bytes:
    """What stands in for a missing Host header (HTTP/1.0): the address the request came to."""
    server = scope.get("server")
    if not server:
        return b"localhost"
    name, port = server
    host: bytes = (f"[{name}]" if ":" in name else name).encode("latin-1")
    # Some servers give the port as text.
    return host + b":%d" % int(port) if port else host


@lru_cache(maxsize=512)
def _origin(scheme: str, host: bytes) -> str:
    """``scheme://host`` as a URL has it: lower case, without the default port."""
    match = _HOST_FORM.fullmatch(host)
    if match is None:
        raise BadRequest("The Host header is not a valid host name.")
    name = match["name"].decode("ascii").lower()
    port = match["port"]
    if port:
        number = int(port)
        if number > 65535:
            raise BadRequest("The Host header has a port above 65535.")
        if number != (443 if scheme == "https" else 80):
            return f"{scheme}://{name}:{number}"
    return f"{scheme}://{name}"


def _target(scope: Scope) -> tuple[str, str]:
    raw: bytes | None = scope.get("raw_path")
    root: str = scope.get("root_path", "")
    if raw is None:
        raw = quote(inbound_path(scope), safe="/!$&'()*+,;=:@~").encode("ascii")
    elif root:
        mount = quote(root, safe="/!$&'()*+,;=:@~").encode("ascii")
        if raw.startswith(mount):
            raw = raw[len(mount) :] or b"/"
    return _as_url(raw, scope["query_string"])


@lru_cache(maxsize=512)
def _as_url(raw: bytes, query: bytes) -> tuple[str, str]:
    # `OPTIONS *` has no path.
    if raw[:1] != b"/" or raw.translate(None, _PATH_PLAIN) or query.translate(None, _QUERY_PLAIN):
        return _normalised(raw, query)
    if (b"/." in raw or b"/%" in raw) and _DOT_SEGMENT.search(raw):
        return _normalised(raw, query)
    return raw.decode("ascii"), query.decode("ascii") if query else ""


def _normalised(raw: bytes, query: bytes) -> tuple[str, str]:
    """The rare way: dot segments are resolved and stray characters percent-encoded, as ``new URL`` does."""
    import ada_url

    text = raw.decode("latin-1") if raw.isascii() else quote(raw, safe="/%!$&'()*+,;=:@~")
    if query:
        tail = query.decode("latin-1") if query.isascii() else quote(query, safe="%!$&()*+,;=:@/?~")
        text = f"{text}?{tail}"
    url = ada_url.URL(f"http://host{text if text.startswith('/') else '/' + text}")
    return url.pathname, url.search.removeprefix("?")


def _mapped_inward(headers: HeaderPairs, outer: bytes, inner: bytes) -> HeaderPairs:
    if not outer or outer == inner:
        return headers
    mapped = [
        (name, value.replace(outer, inner)) if outer in value else (name, value)
        for name, value in headers
    ]
    mapped.append((b"mf-original-hostname", outer))
    return mapped
