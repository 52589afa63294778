"""A worker that runs its host's copies of its modules, so that the host's code reaches into it, as tests do."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import ModuleType

from .finder import owner_of
from .isolation import Isolation
from .space import Space

__all__ = ["other_names", "share", "unshare"]


def share(isolation: Isolation, space: Space, main: str) -> None:
    """Let a worker that is to come run those of its modules that the host has imported by now.

    Where its ``main`` module is among them, the modules that it imports itself stay as the host's. The private
    packages that the host's copies have imported go with them.
    """
    space.shares = True
    found = _of_the_host(isolation, space.names)
    space.shared = {name: module for name, module in found.items() if space.holds_module(module)}
    space.stays = main in space.shared
    if space.shared:
        space.shared |= _of_the_host(isolation, space.private_packages)
    space.host_modules = dict(space.shared)


def _of_the_host(isolation: Isolation, tops: Iterable[str]) -> dict[str, ModuleType]:
    """The host's modules with these top-level names."""
    modules = {**sys.modules, **isolation.host.modules}
    loaded = modules.keys() & tops
    return {
        name: module
        for name, module in (modules.items() if loaded else ())
        if name.partition(".")[0] in loaded and owner_of(module) in (None, isolation.host)
    }


def unshare(isolation: Isolation, space: Space) -> None:
    """From its next import on the worker has modules of its own. The host's come back with ``Isolation.remove``."""
    if space in isolation.spaces:
        modules = space.modules if isolation.swapping else sys.modules
        for name in space.shared:
            modules.pop(name, None)
    space.shared = {}
    space.shares = space.stays = False


def other_names(space: Space) -> dict[str, str]:
    """Modules of the worker that the host has imported under another name, with the worker's name of each.

    That is a copy which the worker does not run: ``src.entry`` where the worker's folder is ``src``.
    """
    if space.root is None or space.root.name not in sys.modules:
        return {}
    folder = space.root.name
    return {
        f"{folder}.{name}": name
        for name in sorted(space.names)
        if (module := sys.modules.get(f"{folder}.{name}")) is not None
        and space.holds_module(module)
    }
