"""Keeps what libraries log about the runtime's own network traffic out of ``logging``.

A worker's ``logging.basicConfig()`` listens to the whole process. In production nothing of Python carries its
requests, so that no logger tells of them, least of all with their URLs. A worker's or a host's own use of the same
libraries is logged as ever.
"""

from __future__ import annotations

import logging
from contextvars import ContextVar
from typing import Final

__all__ = ["NO_LOGGER", "keep_unlogged", "own_traffic"]

#: Whether what runs is the runtime's own traffic.
own_traffic: Final[ContextVar[bool]] = ContextVar("pyflare_own_traffic", default=False)

#: For libraries that are told where to log. It is known to no registry and says nothing.
NO_LOGGER: Final = logging.Logger("pyflare.unlogged")
NO_LOGGER.disabled = True

_LOGGERS: Final = (
    "httpx",
    "httpcore.connection",
    "httpcore.http11",
    "httpcore.http2",
    "httpcore.proxy",
    "httpcore.socks",
    "hpack.hpack",
    "hpack.table",
)


def _is_of_others(_: logging.LogRecord) -> bool:
    return not own_traffic.get()


def keep_unlogged() -> None:
    """Let the loggers of httpx and its parts say nothing where :data:`own_traffic` is set."""
    for name in _LOGGERS:
        # A logger has a filter once only.
        logging.getLogger(name).addFilter(_is_of_others)
