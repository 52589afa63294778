"""Which worker is running: the one context variable on which everything per worker depends."""

from __future__ import annotations

import contextvars
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyflare.workers.carriers import CarrierPool
    from pyflare.workers.isolation import Space


@dataclass(slots=True, eq=False)
class WorkerScope:
    """What belongs to one loaded worker and is found through `current` while its code runs.

    `compat` answers attribute look-ups for compatibility flags. `namespaces` holds, by module
    name, the object whose attributes a shared module such as `js` shows to this worker (see
    `ContextModule`). `data` is free room for the emulator. `environ` is the worker's overlay over
    the process environment, where None marks a deleted variable. `context` is the base context:
    `current` is set in it, and every event runs in a copy (`new_context`).
    """

    name: str
    space: Space
    compat: object = None
    namespaces: dict[str, object] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    environ: dict[str, str | None] = field(default_factory=dict)
    carriers: CarrierPool | None = None
    context: contextvars.Context = field(default_factory=contextvars.Context)

    def __post_init__(self) -> None:
        self.context.run(current.set, self)
        self.space.scope = self

    def new_context(self, event: object = None) -> contextvars.Context:
        """A copy of the base context in which `current_event` is `event`."""
        context = self.context.copy()
        if event is not None:
            context.run(current_event.set, event)
        return context


current: ContextVar[WorkerScope | None] = ContextVar("pyflare.current", default=None)
"""The worker whose code is running, or None in the emulator's and the host's own code."""

current_event: ContextVar[Any] = ContextVar("pyflare.current_event", default=None)
"""The event that the running code belongs to, or None (for instance while importing)."""
