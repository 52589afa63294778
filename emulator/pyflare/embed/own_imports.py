"""Packages that the emulator imports when they are first needed, and workers that have files of the same names.

What the process has imported before a worker comes is kept apart from the worker's own modules. So where a worker has
an `httpx.py`, the emulator's own httpx is imported first, with everything that it would import later.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from importlib import import_module
from typing import Final

from pyflare.workers.isolation import Space

__all__ = ["import_own"]

_HTTP: Final = (
    "httpx",
    "httpcore._async.http2",
    "httpcore._backends.anyio",
    "httpcore._backends.auto",
    "anyio._backends._asyncio",
    "sniffio",
    "certifi",
    "idna",
    "h11",
    "h2.connection",
)
_WEBSOCKETS: Final = (
    "pyflare.js.websocket_handshake",
    "pyflare.js.websocket_wire",
    "pyflare.server.websocket_protocol",
)
_HTTP_NAMES: Final = frozenset(
    ("anyio", "certifi", "h11", "h2", "hpack", "httpcore", "httpx", "hyperframe", "idna", "sniffio")
)


def import_own(spaces: Iterable[Space]) -> None:
    """Import what these workers have files of the same name for. To be called before they are taken in."""
    names = frozenset[str]().union(*(space.names for space in spaces))
    wanted = [
        *(_HTTP if names & _HTTP_NAMES else ()),
        *(_WEBSOCKETS if "websockets" in names else ()),
    ]
    for module in wanted:
        # Some are optional: nobody asks for those later either.
        with contextlib.suppress(ImportError):
            import_module(module)
