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


def _silent(_: str) -> None:
    pass


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
    #: (entry of the binding) -> the objects of a class.
    objects: Callable[..., Any] = _nowhere

    #: (user worker, outbound worker or None, its parameters) -> the channel of a dispatch namespace.
    dispatch: Callable[..., Any] = _nowhere

    #: (name of the binding) -> the loader of dynamic workers.
    dynamic: Callable[[str], Any] = _nowhere

    #: Told of what a person may want to see in the terminal, such as an email that was kept.
    notice: Callable[[str], None] = _silent

    #: The static assets of this worker, a :class:`pyflare.assets.site.Site`; None without any.
    assets: Any = None

    @property
    def clock(self) -> Clock:
        """Where every time comes from."""
        return self.registry.clock
