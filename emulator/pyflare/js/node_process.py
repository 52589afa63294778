"""``js.process``: what Workers have of Node's global object with the flag ``nodejs_compat``.

Source: https://developers.cloudflare.com/workers/runtime-apis/nodejs/process/
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any, Final

from .array import JsArray
from .number import to_string
from .timers import queueMicrotask
from .value import JsInstance, JsObject

__all__ = ["process"]

#: The version of Node whose API the runtime follows.
_NODE: Final = "22.19.0"
_START: Final = time.monotonic_ns()


class Environment(JsInstance, js_name="Object"):
    """``process.env``: the running Worker's ``os.environ`` as properties."""

    def __getattr__(self, name: str) -> Any:
        try:
            return os.environ[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        os.environ[name] = to_string(value)

    def __delattr__(self, name: str) -> None:
        os.environ.pop(name, None)

    def _own_items(self) -> Iterator[tuple[str, Any]]:
        yield from list(os.environ.items())


class Process(JsInstance, js_name="process"):
    """The object ``process``."""

    title = "workerd"
    version = f"v{_NODE}"
    platform = "linux"
    arch = "x64"
    pid = 1
    exitCode = None

    def __init__(self) -> None:
        self.env = Environment._make()
        self.argv = JsArray.adopt(["workerd"])
        self.versions = JsObject.adopt({"node": _NODE})

    def cwd(self) -> str:
        return "/bundle"

    def nextTick(self, function: Any = None, *args: Any) -> None:
        """Call a function once the running code has come to its end or its next wait."""
        queueMicrotask((lambda: function(*args)) if args and callable(function) else function)

    def uptime(self) -> float:
        """Seconds since the process began."""
        return (time.monotonic_ns() - _START) / 1e9

    def hrtime(self, earlier: Any = None) -> Any:
        """Seconds and nanoseconds, since an earlier result or some time in the past."""
        now = time.monotonic_ns() - _START
        if earlier is not None:
            now -= int(earlier[0]) * 1_000_000_000 + int(earlier[1])
        return JsArray.adopt([now // 1_000_000_000, now % 1_000_000_000])

    def emitWarning(self, warning: Any = None) -> None:
        from .console import console

        console.warn(warning)


process: Process = Process._make()
