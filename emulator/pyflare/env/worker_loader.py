"""``env.LOADER``: a binding that loads dynamic Workers.

Source: https://developers.cloudflare.com/dynamic-workers/api-reference/
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyflare.js.error import Error, TypeError_
from pyflare.js.structured_clone import structured_clone
from pyflare.js.value import JsInstance, get_property, is_nullish
from pyflare.js.webidl import scalar_text

from .service import ServiceFetcher

__all__ = ["WorkerLoader", "WorkerStub"]


class WorkerLoader(JsInstance, js_name="WorkerLoader"):
    """The binding.

    In: ``get`` and ``load`` give the way to an entrypoint of a dynamic Worker: a function of (entrypoint, props).
    """

    def __init__(self, get: Callable[..., Any], load: Callable[[Any], Any]) -> None:
        self._get = get
        self._load = load

    def get(self, id: Any = None, get_code: Any = None, *_: Any) -> WorkerStub:
        """The Worker with this id. ``get_code`` gives its code, or a promise of it, where it is not loaded yet."""
        if not callable(get_code):
            raise TypeError_(
                "Failed to execute 'get' on 'WorkerLoader': parameter 2 is not of type 'Function'."
            )
        name = None if is_nullish(id) else scalar_text(id)
        return WorkerStub._make(self._get(name, get_code))  # type: ignore[no-any-return]

    def load(self, code: Any = None, *_: Any, **fields: Any) -> WorkerStub:
        """A new Worker with this code. Raises: TypeError and Error for code that cannot be loaded."""
        return WorkerStub._make(self._load(fields if code is None else code))  # type: ignore[no-any-return]


class WorkerStub(JsInstance, js_name="WorkerStub"):
    """A dynamic Worker, which is loaded by the first call to one of its entrypoints."""

    def __init__(self, channel: Callable[[str | None, Any], Any]) -> None:
        self._channel = channel

    def getEntrypoint(
        self, name: Any = None, options: Any = None, *_: Any, **named: Any
    ) -> ServiceFetcher:
        """A binding to the default entrypoint or a named one, called with ``props``."""
        given = named if options is None else options
        props = None if is_nullish(given) else get_property(given, "props")
        entrypoint = None if is_nullish(name) else scalar_text(name)
        channel = self._channel(entrypoint, structured_clone(_plain(props)))
        return ServiceFetcher._make(channel)  # type: ignore[no-any-return]

    def getDurableObjectClass(self, *_: Any, **__: Any) -> Any:
        """Refused."""
        raise Error("Durable Object classes of dynamic Workers are not emulated.")


def _plain(props: Any) -> Any:
    from workers import python_to_rpc

    return None if is_nullish(props) else python_to_rpc(props)
