"""``DurableObjectState``: the ``ctx`` of an object.

Source: https://developers.cloudflare.com/durable-objects/api/state/
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol

from pyflare.js.error import Error, TypeError_
from pyflare.js.promise import JsPromise
from pyflare.js.value import JsInstance, JsObject, get_property, is_nullish
from pyflare.js.webidl import text
from pyflare_bindings.objects.ids import ObjectId

from .id import DurableObjectId
from .session import NO_SNAPSHOTS
from .websockets import WebSockets

if TYPE_CHECKING:
    from .storage import DurableObjectStorage

__all__ = ["DurableObjectState", "Life"]

#: Longer names do not reach the object.
_LONGEST_NAME: Final = 1024


class Life(Protocol):
    """The instance that a ``ctx`` belongs to."""

    @property
    def id(self) -> ObjectId: ...

    def block_concurrency_while(self, function: Callable[[], Any]) -> JsPromise: ...

    def wait_until(self, awaitable: Any) -> asyncio.Future[Any]: ...

    def abort(self, reason: str | None, *, retry_alarm: bool = True) -> None: ...


class DurableObjectState(WebSockets, JsInstance, js_name="DurableObjectState"):
    """``ctx``."""

    _storage: DurableObjectStorage | None = None
    _id: DurableObjectId | None = None

    def __init__(self, life: Any) -> None:
        self._life = life

    @property
    def id(self) -> DurableObjectId:
        """The object's id; its name is there when whoever called first knew it."""
        shown = self._id
        if shown is None:
            id = self._life.id
            name = id.name
            if name is not None and len(name.encode("utf-8", "surrogatepass")) > _LONGEST_NAME:
                name = None
            shown = self._id = DurableObjectId._make(id, name)
        return shown

    @property
    def storage(self) -> DurableObjectStorage:
        storage = self._storage
        if storage is None:
            from .storage import DurableObjectStorage

            storage = self._storage = DurableObjectStorage._make(self._life)
        return storage

    @property
    def props(self) -> JsObject:
        return JsObject.adopt({})

    @property
    def exports(self) -> Any:
        """The worker's own entrypoints as bindings; not there before the compatibility date that brings it."""
        exports = self._life.exports
        if exports is None:
            raise AttributeError("exports")
        return exports

    def waitUntil(self, *promise: Any) -> None:
        """Keep the object in memory until a promise or any awaitable is done. Any other value is done already.

        Raises: TypeError without an argument.
        """
        if not promise:
            raise TypeError_(
                "Failed to execute 'waitUntil' on 'DurableObjectState': parameter 1 is not of type 'Promise'."
            )
        if hasattr(promise[0], "__await__"):
            self._life.wait_until(promise[0])

    def blockConcurrencyWhile(self, callback: Any = None, *_: Any) -> JsPromise:
        """Run a function while the object receives nothing else. When it fails, the object is reset.

        Raises: TypeError for what is no function, Error for more than 64 levels.
        """
        if not callable(callback):
            raise TypeError_(
                "Failed to execute 'blockConcurrencyWhile' on 'DurableObjectState': parameter 1 is not of type "
                "'function'."
            )
        return self._life.block_concurrency_while(callback)  # type: ignore[no-any-return]

    def abort(self, reason: Any = None, options: Any = None, *_: Any, **named: Any) -> None:
        """End the instance at once: everybody who waits for it gets ``Error(reason)``."""
        retry = get_property(named if is_nullish(options) else options, "retryAlarm")
        self._life.abort(
            None if is_nullish(reason) else text(reason), retry_alarm=retry is not False
        )
        # Ends the code that called this, as far as it can be ended.
        raise asyncio.CancelledError("the Durable Object was aborted")

    @property
    def container(self) -> None:
        """Containers are not emulated: undefined, as for a class without one."""

    @property
    def facets(self) -> Any:
        raise Error("Durable Object facets are not emulated.")

    def onNextSessionRestore(self, *_: Any, **__: Any) -> None:
        """Refused: not emulated."""
        raise Error(NO_SNAPSHOTS)
