"""Which classes of a main module are entrypoints, what their handlers are called and how many arguments they take.

Source: workerd ``src/pyodide/internal/introspection.py``, ``src/pyodide/python-entrypoint-helper.ts`` (behaviour) and
https://developers.cloudflare.com/workers/languages/python/
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from pyflare.js.error import TypeError_

__all__ = [
    "Entrypoints",
    "find_entrypoints",
    "find_handler",
    "handler_name",
    "no_event_handler",
    "no_handler",
    "positional_capacity",
]

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
    Raises: AttributeError where ``__all__`` has a name that the module has not.
    """
    from workers import DurableObject, WorkerEntrypoint, WorkflowEntrypoint

    found = Entrypoints()
    kinds = (
        (DurableObject, found.objects),
        (WorkerEntrypoint, found.workers),
        (WorkflowEntrypoint, found.workflows),
    )
    names = getattr(module, "__all__", None)
    if names is None:
        names = [name for name in dir(module) if not name.startswith("_")]
    for name in names:
        value = getattr(module, name)
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
    """The class as production finds it again when it makes an instance: by its own name in the main module.

    A base class that was imported under another name is listed, but making an instance raises TypeError.
    """
    again = getattr(module, cls.__name__, None)
    if isinstance(again, type):
        return again

    def refuse(*_: Any, **__: Any) -> None:
        error = TypeError_(
            f"There is no '{cls.__name__}' class defined in the Python Worker's main module"
        )
        error.add_note(
            f"{module.__name__}.py has the class under another name; it is found by its own."
        )
        raise error

    members = {
        name: inspect.getattr_static(cls, name) for name in dir(cls) if not name.startswith("_")
    }
    return type(cls.__name__, (), {**members, "__module__": cls.__module__, "__new__": refuse})


def handler_name(name: str, *, legacy: bool) -> str:
    """What a class has to call the method for an event that only the platform sends.

    In: ``name``, ``fetch``, or in an object ``alarm``, ``webSocketMessage``, ``webSocketClose``, ``webSocketError``;
    ``legacy``, whether module-level handlers count (compatibility dates before 2025-08-14).
    """
    return f"on_{name}" if legacy else name


def find_handler(instance: Any, name: str, *, legacy: bool) -> Callable[..., Any] | None:
    """The handler of such an event, None where the instance has none under either name.

    Raises: TypeError where it has one under the name of the other dates.
    """
    handler = getattr(instance, handler_name(name, legacy=legacy), None)
    if callable(handler):
        return handler  # type: ignore[no-any-return]
    if callable(getattr(instance, handler_name(name, legacy=not legacy), None)):
        raise no_handler(instance, name, legacy=legacy)
    return None


def no_handler(instance: Any, name: str, *, legacy: bool) -> TypeError_:
    """Production's error where the handler of such an event is missing, with a note when it is only misnamed."""
    wanted, other = (handler_name(name, legacy=each) for each in (legacy, not legacy))
    error = TypeError_(f"Method {wanted} does not exist")
    if callable(getattr(instance, other, None)):
        counts = "with" if legacy else "only with"
        error.add_note(
            f"Rename {type(instance).__name__}.{other} to {wanted}: the prefix on_ counts {counts} a compatibility "
            "date before 2025-08-14 (or the flag disable_python_no_global_handlers)."
        )
    return error


def no_event_handler(instance: Any, name: str) -> TypeError_:
    """The same for an event that may also come by RPC (``scheduled``, ``queue``...), which never has the prefix."""
    error = TypeError_(f"Method {name} does not exist")
    if callable(getattr(instance, f"on_{name}", None)):
        error.add_note(
            f"Rename {type(instance).__name__}.on_{name} to {name}: only functions of the module have the prefix on_."
        )
    return error


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
