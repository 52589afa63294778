"""``self.ctx`` of a Python class: the SDK's wrapper of ``DurableObjectState``, with a shorter way to the storage.

The SDK leaves a context that is wrapped already alone, so pyflare passes its own.
"""

from __future__ import annotations

from typing import Any

from workers.entrypoints import DurableObjectContext

__all__ = ["wrap_state"]


class Context(DurableObjectContext):  # type: ignore[misc]
    """What the constructor of a class gets."""

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
