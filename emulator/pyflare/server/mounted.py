"""An application mounted below a path: redirects, links and cookies of a worker, which does not know the path."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

from .contracts import HeaderPairs

__all__ = ["PREFIX_HEADER", "mount_path", "prefixed"]

#: Tells a worker where it is mounted, for links in its bodies.
PREFIX_HEADER: Final = b"x-forwarded-prefix"

_ABSOLUTE: Final = re.compile(rb"(https?://([^/?#]*))(.*)", re.IGNORECASE | re.DOTALL)
_TARGETS: Final = re.compile(rb"<([^>]*)>")
_COOKIE_PATH: Final = re.compile(rb"(;\s*path=)(/[^;]*)", re.IGNORECASE)
_CHANGED: Final = frozenset({b"location", b"content-location", b"link", b"set-cookie"})


def mount_path(root_path: str) -> bytes:
    """The ``root_path`` of an ASGI scope as it stands in URLs, without a slash at its end."""
    return quote(root_path.rstrip("/"), safe="/!$&'()*+,;=:@~").encode("ascii")


def prefixed(headers: HeaderPairs, root_path: str, host: bytes) -> HeaderPairs:
    """The headers with the mount's path put in front of the worker's own paths.

    In: ``host``, the client's own ``Host``. Paths of ``Location``, ``Content-Location`` and ``Link`` and of cookies;
    those that have the path already, those of other hosts and relative ones stay as they are.
    """
    root = mount_path(root_path)
    if not root:
        return headers
    return [
        (name, _changed(name, value, root, host)) if name in _CHANGED else (name, value)
        for name, value in headers
    ]


def _changed(name: bytes, value: bytes, root: bytes, host: bytes) -> bytes:
    match name:
        case b"link":
            return _TARGETS.sub(lambda found: b"<%b>" % _target(found[1], root, host), value)
        case b"set-cookie":
            return _COOKIE_PATH.sub(lambda found: found[1] + _below(found[2], root), value)
    return _target(value, root, host)


def _target(url: bytes, root: bytes, host: bytes) -> bytes:
    if url.startswith(b"/"):
        # Two slashes begin a host.
        return url if url[1:2] in (b"/", b"\\") else _below(url, root)
    absolute = _ABSOLUTE.fullmatch(url)
    if absolute is None or absolute[2].lower() != host.lower():
        return url
    return absolute[1] + _below(absolute[3], root)


def _below(path: bytes, root: bytes) -> bytes:
    if path.startswith(root) and path[len(root) : len(root) + 1] in (b"", b"/", b"?", b"#"):
        return path
    return root if path == b"/" else root + path
