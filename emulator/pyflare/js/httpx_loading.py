"""Importing httpx without holding the event loop.

It is not imported at start, because many workers never ask another server. Its import takes a fifth of a second, and
more than twice that on a slow machine: others run between the parts.
"""

from __future__ import annotations

import asyncio
import sys
from importlib import import_module
from typing import Final

__all__ = ["load_httpx"]

#: What httpx and its parts import, some of it only where it is installed, in the order in which one needs another.
_PARTS: Final = (
    "email.parser",
    "ssl",
    "http.client",
    "urllib.request",
    "inspect",
    "certifi",
    "idna",
    "click",
    "pygments.lexers",
    "rich.text",
    "rich.console",
    "rich.progress",
    "rich.syntax",
    "rich.table",
    "h11",
    "h2.connection",
    "anyio._core._tasks",
    "anyio._core._sockets",
    "anyio",
    "anyio._backends._asyncio",
    "httpcore",
    "httpx",
)


async def load_httpx() -> None:
    """Import httpx and what it imports, to be run as nobody's code. Raises: ImportError without httpx."""
    if "httpx" in sys.modules:
        return
    for name in _PARTS[:-1]:
        if name not in sys.modules:
            try:
                import_module(name)
            except ImportError:
                continue
            await asyncio.sleep(0)
    import_module(_PARTS[-1])
