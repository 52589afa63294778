"""Which classes of a main module are entrypoints, and how many arguments their handlers take.

Source: workerd ``src/pyodide/internal/introspection.py`` (behaviour) and
https://developers.cloudflare.com/workers/languages/python/
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from pyflare.js.error import TypeError_

__all__ = ["Entrypoints", "find_entrypoints", "positional_capacity"]

LEGACY_HANDLERS = (
    "on_fetch",
    "on_alarm",
    "on_scheduled",
    "on_trace",
    "on_queue",
    "on_pubsub",
    "test",
)


@dataclass(slots=True, frozen=True)
class Entrypoints:
    """What a main module exports, by class name."""

    workers: dict[str, type] = field(default_factory=dict)
    objects: dict[str, type] = field(default_factory=dict)
    workflows: dict[str, type] = field(default_factory=dict)
    handlers: dict[str, Callable[..., Any]] = field(default_factory=dict)

    @property
    def default(self) -> type | None:
        """The class that answers requests."""
        return self.workers.get("Default")


def find_entrypoints(module: ModuleType, *, legacy: bool) -> Entrypoints:
    """Scan a main module.

    Args: ``legacy`` whether module-level handlers count (compatibility dates before 2025-08-14).
    Raises TypeError when a class is exported under another name than its own, as production does when it is used.
    """
    from workers import DurableObject, WorkerEntrypoint, WorkflowEntrypoint

    found = Entrypoints()
    kinds = (
        (DurableObject, found.objects),
        (WorkerEntrypoint, found.workers),
        (WorkflowEntrypoint, found.workflows),
    )
    exported = getattr(module, "__all__", None)
    names = exported or [name for name in dir(module) if not name.startswith("_")]
    for name in names:
        value = getattr(module, name, None)
        if not isinstance(value, type):
            continue
        for base, classes in kinds:
            if issubclass(value, base) and value is not base:
                classes[value.__name__] = _exported_class(module, value)
    if legacy:
        for name in LEGACY_HANDLERS:
            handler = getattr(module, name, None)
            if callable(handler):
                found.handlers[name] = handler
    return found


def _exported_class(module: ModuleType, cls: type) -> type:
    """The class as production finds it again: by its own name in the main module."""
    again = getattr(module, cls.__name__, None)
    if isinstance(again, type):
        return again
    raise TypeError_(
        f"There is no '{cls.__name__}' class defined in the Python Worker's main module"
    )


def positional_capacity(function: Callable[..., Any], most: int) -> int:
    """How many of ``most`` positional arguments a handler accepts; production drops the others.

    ``function`` is a bound method, or a plain function for legacy handlers.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return most
    count = 0
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            return most
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            count += 1
    return min(count, most)
