"""Loads workers again when their files change, and keeps the server up whatever was saved."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pyflare.config.diagnostics import ConfigError
from pyflare.server.log import LogSink

from .watch import Watched, changes

if TYPE_CHECKING:
    from pyflare.config import LoadedConfig, Rule, WorkerConfig

    from .custom_build import CustomBuilds

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
    flare: Reloadable, builds: CustomBuilds, log: LogSink, since_ns: int
) -> None:
    """Watch for ever. A worker whose new version cannot be used is reported; the server goes on.

    ``builds`` are run before; ``since_ns``: changes after this system time, in nanoseconds, count.
    """
    async for changed in changes(lambda: _watched(flare.configurations), since_ns):
        log.say("⎔ Reloading local server...")
        if await _reload(flare, builds, changed, log):
            log.say("⎔ Local server updated and ready")


async def _reload(
    flare: Reloadable, builds: CustomBuilds, changed: set[Path], log: LogSink
) -> bool:
    good = True
    chosen: list[Path] = []
    for each in flare.configurations:
        built = await builds.again(each, changed)
        good = good and built is not False
        # What a failed build has left is not loaded.
        path = None if built is False else _concerned(each, changed, was_built=bool(built))
        if path is not None and path not in chosen:
            chosen.append(path)
    for path in chosen:
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
        rules=_rules(configurations),
        sources=tuple(folder for each in configurations for folder in each.worker.build.watch_dirs),
        files=tuple(file for each in configurations for file in each.files),
        loaded=tuple(each.worker.main for each in configurations if each.worker.main is not None),
        apart=tuple(folder for each in configurations for folder in _apart(each.worker)),
    )


def _apart(worker: WorkerConfig) -> Iterator[Path]:
    """Folders that are read when they are needed: a change there is no reason to load a worker again."""
    if worker.assets is not None and worker.assets.directory is not None:
        yield worker.assets.directory
    for database in worker.d1_databases:
        folder = (worker.directory / database.migrations_dir).resolve()
        # Python has packages of this name too.
        if folder != worker.base_dir and not any(folder.glob("**/*.py")):
            yield folder


def _rules(configurations: Sequence[LoadedConfig]) -> dict[Path, list[Rule]]:
    """What is deployed beside Python's modules, by the folder of a worker's modules."""
    found: dict[Path, list[Rule]] = {}
    for each in configurations:
        rules = [rule for rule in each.worker.rules if rule.type != "PythonModule"]
        if rules:
            found.setdefault(each.worker.base_dir, []).extend(rules)
    return found


def _concerned(each: LoadedConfig, changed: set[Path], *, was_built: bool) -> Path | None:
    """A file that stands for all changes of a worker, a configuration before a module; None without any."""
    own = sorted(path for path in changed if path in each.files)
    own += sorted(path for path in changed if path.is_relative_to(each.worker.base_dir))
    if own:
        return own[0]
    return (each.worker.main or each.user_path or each.path) if was_built else None
