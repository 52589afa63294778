"""Loads workers again when their files change, and keeps the server up whatever was saved."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pyflare.config.diagnostics import ConfigError
from pyflare.server.log import LogSink

from .watch import Watched, changes

if TYPE_CHECKING:
    from pyflare.config import LoadedConfig

__all__ = ["reload_on_change"]


class Worker(Protocol):
    """The part of a worker that says whether its last loading failed."""

    @property
    def failure(self) -> BaseException | None: ...


class Reloadable(Protocol):
    """The part of :class:`pyflare.embed.Pyflare` that a reload needs."""

    @property
    def configurations(self) -> Sequence[LoadedConfig]: ...

    @property
    def workers(self) -> Sequence[Worker]: ...

    def reload(self, path: Path) -> Awaitable[None]:
        """Load the workers again to which a changed file belongs."""
        ...


async def reload_on_change(
    flare: Reloadable, log: LogSink, since_ns: int, after: Callable[[], None] = lambda: None
) -> None:
    """Watch for ever. A worker whose new version cannot be used is reported; the server goes on.

    ``since_ns``: changes after this system time, in nanoseconds, count. ``after`` is called after each reload, also a
    failed one.
    """
    async for changed in changes(lambda: _watched(flare.configurations), since_ns):
        log.say("⎔ Reloading local server...")
        if await _reload(flare, changed, log):
            log.say("⎔ Local server updated and ready")
        after()


async def _reload(flare: Reloadable, changed: set[Path], log: LogSink) -> bool:
    good = True
    for path in _one_for_each_worker(flare.configurations, changed):
        try:
            await flare.reload(path)
            good = good and all(worker.failure is None for worker in flare.workers)
        except ConfigError as error:
            good = False
            log.prepared("error", error.render())
        except Exception as error:
            # Whatever a half-saved file does to loading, the next save gets its chance.
            good = False
            log.uncaught("pyflare", error, where="a reload")
    return good


def _watched(configurations: Sequence[LoadedConfig]) -> Watched:
    return Watched(
        trees=tuple(each.worker.base_dir for each in configurations),
        files=tuple(file for each in configurations for file in each.files),
        loaded=tuple(each.worker.main for each in configurations if each.worker.main is not None),
        # Assets are looked at when they are asked for; a change of them is no reason to load a worker again.
        apart=tuple(
            each.worker.assets.directory
            for each in configurations
            if each.worker.assets is not None and each.worker.assets.directory is not None
        ),
    )


def _one_for_each_worker(configurations: Sequence[LoadedConfig], changed: set[Path]) -> list[Path]:
    """Of the changed files as few as name every worker concerned; a configuration before a module."""
    chosen: list[Path] = []
    for each in configurations:
        own = sorted(path for path in changed if path in each.files)
        own += sorted(path for path in changed if path.is_relative_to(each.worker.base_dir))
        if own and own[0] not in chosen:
            chosen.append(own[0])
    return chosen
