"""``env`` as the SDK hands it to Python classes.

The SDK wraps the raw object in ``_EnvWrapper``; both it and this subclass are left alone when wrapped again, so pyflare
passes its own, which knows the direct wrappers.
"""

from __future__ import annotations

from typing import Any

from workers.rpc import _EnvWrapper

from pyflare.js.value import JsObject

__all__ = ["wrap_environment"]


class Environment(_EnvWrapper):  # type: ignore[misc]
    """``self.env`` of one event."""

    def _getattr_helper(self, name: str) -> Any:
        try:
            binding = getattr(self._env, name)
        except AttributeError as error:
            if not name.startswith("_"):
                error.add_note(_known(name, self._env))
            raise
        direct = getattr(binding, "_direct_wrapper", None)
        return super()._getattr_helper(name) if direct is None else direct()


def _known(name: str, environment: JsObject) -> str:
    from difflib import get_close_matches

    names = sorted(vars(environment))
    close = get_close_matches(name, names, 1)
    listed = f"env has {', '.join(names)}" if names else "env is empty"
    return f"{listed}; did you mean {close[0]}?" if close else f"{listed}."


def wrap_environment(environment: JsObject) -> Any:
    """The environment for one event's class; what the worker sets on it is gone with the event."""
    return Environment(environment)
