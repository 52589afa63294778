"""The module ``pyodide.webloop``: the names of the runtime's event loop, over the loop that really runs.

Source: https://pyodide.org/en/stable/usage/api/python-api/webloop.html
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from ..js.calling import by_keywords_too
from ..js.promise import JsPromise

__all__ = ["PyodideFuture", "PyodideTask", "WebLoop"]

PyodideFuture = JsPromise


@by_keywords_too
class PyodideTask(asyncio.Task[Any]):
    """A task with a promise's methods."""

    def then(
        self,
        onfulfilled: Callable[[Any], Any] | None = None,
        onrejected: Callable[[Any], Any] | None = None,
    ) -> JsPromise:
        """Chain, as :meth:`JsPromise.then`."""
        return JsPromise.then(self, onfulfilled, onrejected)  # type: ignore[arg-type]

    def catch(self, onrejected: Callable[[Any], Any]) -> JsPromise:
        return self.then(None, onrejected)

    def finally_(self, onfinally: Callable[[], Any]) -> JsPromise:
        return JsPromise.finally_(self, onfinally)  # type: ignore[arg-type]


class WebLoop(asyncio.SelectorEventLoop):
    """Stands for the runtime's loop class, which libraries name and patch. Workers run on the host's loop."""
