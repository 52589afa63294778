"""The bindings of a worker for a program that is none: a script, a notebook, another server.

Source: https://developers.cloudflare.com/workers/wrangler/api/#getplatformproxy
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from pyflare.env.cache import Cache, open_cache
from pyflare.js.timers import Timers
from pyflare.server.cf import cf_properties
from pyflare.workers.event import Background, ExecutionContext
from pyflare_bindings.registry import BindingRegistry

from .configurations import Configs
from .emulator import GRACE
from .pyflare import Pyflare

__all__ = ["Platform", "PlatformCaches", "platform_proxy"]


class PlatformCaches:
    """The Cache API, as ``js.caches`` is to a worker."""

    def __init__(self, registry: BindingRegistry) -> None:
        self._registry = registry

    @property
    def default(self) -> Cache:
        """The default cache."""
        return open_cache(self._registry, None)

    async def open(self, name: str) -> Cache:
        """A cache of its own for each name."""
        return open_cache(self._registry, name)


@dataclass(frozen=True, slots=True)
class Platform:
    """What a worker would get: its bindings, ``request.cf``, its execution context, its caches."""

    env: Any
    cf: Any
    ctx: ExecutionContext
    caches: PlatformCaches
    flare: Pyflare


@asynccontextmanager
async def platform_proxy(
    configs: Configs = None, *, worker: str | None = None, **options: Any
) -> AsyncIterator[Platform]:
    """The bindings of a configuration's worker, without running its code.

    Args: ``configs`` and ``options`` as those of :class:`pyflare.Pyflare`; ``worker`` whose bindings, by default the
    primary one's. State is where ``pyflare dev`` keeps it unless ``persist_to`` says otherwise. Durable Object classes
    of the worker itself are code, so their objects cannot be used here; messages of queues and alarms wait for a
    process that runs the code. What ``ctx.waitUntil`` was given is waited for at the end.
    """
    async with Pyflare(configs, with_code=False, cron=False, **options) as flare:
        assert flare.registry is not None
        name = flare.loaded(worker).name
        background = Background(lambda where, error: flare.log.uncaught(name, error, where=where))
        context: ExecutionContext = ExecutionContext._make(background, Timers())
        yield Platform(
            env=flare.env(worker),
            cf=cf_properties("gzip, br", "1.1"),
            ctx=context,
            caches=PlatformCaches(flare.registry),
            flare=flare,
        )
        await background.drain(GRACE)
