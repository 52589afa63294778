"""Help for tests of workers. ``plugin.py`` holds the fixtures; the functions here are for the tests themselves.

What is imported from here is loaded when it is asked for, so that pytest starts no slower.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .asyncio_loops import new_event_loop
    from .log import ConsoleLine, RecordingLog, UncaughtError
    from .migrations import apply_d1_migrations, read_d1_migrations
    from .objects import (
        abort_all_objects,
        evict_object,
        list_object_ids,
        run_in_object,
        run_object_alarm,
    )
    from .outside import Outside
    from .pyflare_in_test import BlockingPyflare

__all__ = [
    "BlockingPyflare",
    "ConsoleLine",
    "Outside",
    "RecordingLog",
    "UncaughtError",
    "abort_all_objects",
    "apply_d1_migrations",
    "evict_object",
    "list_object_ids",
    "new_event_loop",
    "read_d1_migrations",
    "run_in_object",
    "run_object_alarm",
]

_HOMES = {
    "BlockingPyflare": "pyflare_in_test",
    "ConsoleLine": "log",
    "Outside": "outside",
    "RecordingLog": "log",
    "UncaughtError": "log",
    "apply_d1_migrations": "migrations",
    "new_event_loop": "asyncio_loops",
    "read_d1_migrations": "migrations",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES.get(name, 'objects')}", __name__), name)
