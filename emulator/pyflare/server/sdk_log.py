"""What Cloudflare's SDK logs about a worker's ASGI or WSGI application, in the terms of our own log.

The SDK answers a framework's failures by itself and hands them to ``logging``, where Python prints them whole, with
every frame of the framework, and with no word on the worker.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from .log import LogSink

__all__ = ["SdkLog"]

_LOGGERS: Final = ("asgi", "wsgi", "workers.asgi", "workers.wsgi")


class SdkLog(logging.Handler):
    """Takes the SDK's records from :meth:`install` to :meth:`uninstall`.

    Args: ``log`` where they go; ``worker`` gives the name of the worker that is running.
    """

    def __init__(self, log: LogSink, worker: Callable[[], str]) -> None:
        super().__init__()
        self._log = log
        self._worker = worker

    def install(self) -> None:
        for name in _LOGGERS:
            logging.getLogger(name).addHandler(self)

    def uninstall(self) -> None:
        for name in _LOGGERS:
            logging.getLogger(name).removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and record.levelno >= logging.ERROR:
            self._log.uncaught(self._worker(), error, where="the application")
            # Handlers further up, such as pytest's, need not print all of it once more.
            record.msg = f"{record.getMessage()}: {type(error).__name__}: {error}"
            record.args = record.exc_info = record.exc_text = None
        elif record.levelno >= logging.WARNING:
            self._log.warning(f"{self._worker()}: {record.getMessage()}")
        else:
            self._log.debug(record.getMessage())
