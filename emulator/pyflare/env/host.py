"""What a face may reach beyond its own entry in the configuration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyflare_bindings.clock import Clock
from pyflare_bindings.registry import BindingRegistry

__all__ = ["Host"]


def _nowhere(*_: Any) -> Any:
    raise RuntimeError("This environment stands alone: there are no workers to reach.")


@dataclass(slots=True, kw_only=True)
class Host:
    """The surroundings of one worker's ``env``.

    The callables are filled in by the floors above, and find what they name when it is used, not before: workers may
    refer to each other in a circle, and come and go.
    """

    registry: BindingRegistry
    worker_name: str
    #: (worker, entrypoint or None, props) -> the channel of an entrypoint.
    channel: Callable[..., Any] = _nowhere
    #: (identity of the namespace, class, worker that defines it) -> the objects of a class.
    objects: Callable[..., Any] = _nowhere

    @property
    def clock(self) -> Clock:
        """Where every time comes from."""
        return self.registry.clock
