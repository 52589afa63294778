"""``self.ctx`` of a Python class: the SDK's wrapper of ``DurableObjectState``, with a shorter way to the storage.

The SDK leaves a context that is wrapped already alone, so pyflare passes its own.
"""

from __future__ import annotations

from typing import Any, Final

from workers.entrypoints import DurableObjectAbort, DurableObjectContext

__all__ = ["wrap_state"]

#: The SDK's text.
_NO_REASON: Final = "Durable Object abort requested"


class Context(DurableObjectContext):  # type: ignore[misc]
    """What the constructor of a class gets."""

    def abort(self, reason: str | None = None) -> None:
        """The SDK's, which ends the instance in a microtask; here at once, before the event can be answered."""
        self._ctx._life.abort(reason)
        raise DurableObjectAbort(reason or _NO_REASON)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._ctx, name)
        direct = getattr(value, "_direct_wrapper", None)
        if direct is None:
            return super().__getattr__(name)
        value = direct()
        setattr(self, name, value)
        return value


def wrap_state(state: Any) -> Any:
    """The context for one instance."""
    return Context(state)
