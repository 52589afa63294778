"""Notices that files of a worker have changed.

The operating system's notices only wake the watcher; what has changed is found by comparing a list of the files with
the list from before. So a notice that is lost, doubled or late does no harm, and editors that save by renaming need no
special case.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from pyflare.config import Rule

__all__ = ["Watched", "changes"]

#: How long nothing may happen before changes count, in milliseconds, and how often that is waited for at most.
QUIET_MS: Final = 60
_MOST_ROUNDS: Final = 10
#: Time in which the operating system's notices are gathered, and the step in which they are looked for.
_GATHER_MS: Final = 50
_STEP_MS: Final = 20
#: How often files are looked at where the operating system gives no notices.
POLL_MS: Final = 500

_SUFFIXES: Final = (".py", ".txt", ".html", ".sql", ".json", ".toml", ".bin", ".wasm")
_IGNORED: Final = frozenset(("node_modules", "__pycache__", "venv", "python_modules"))
_MOST_FILES: Final = 20_000

#: The state of a file that was loaded and has been deleted since.
_GONE: Final = (0, 0, 0)
#: File systems stamp with the kernel's coarse clock, which may be one tick behind.
_COARSE_NS: Final = 10_000_000

_Snapshot: TypeAlias = dict[str, tuple[int, int, int]]


@dataclass(slots=True, frozen=True)
class Watched:
    """What to watch: ``trees`` are directories with all their modules, ``files`` single files, existing or not,
    ``loaded`` files that are known to have been there; ``apart`` folders in the trees that somebody else looks after;
    ``sources`` directories with all their files, whatever their kind; ``rules`` which further files of a tree count,
    because they are deployed with its modules.
    """

    trees: tuple[Path, ...] = ()
    files: tuple[Path, ...] = ()
    loaded: tuple[Path, ...] = ()
    apart: tuple[Path, ...] = ()
    sources: tuple[Path, ...] = ()
    rules: Mapping[Path, Sequence[Rule]] = field(default_factory=dict)

    def directories(self) -> list[str]:
        """Every directory in which something may happen. Hidden and vendored ones are left out."""
        found = {directory for directory, _, _, _ in self._walk()}
        found.update(str(file.parent) for file in self.files)
        return sorted(path for path in found if os.path.isdir(path))

    def snapshot(self) -> _Snapshot:
        """Time, size and inode of every watched file there is."""
        paths = (
            os.path.join(directory, name)
            for directory, names, all_kinds, rules in self._walk()
            for name in names
            if all_kinds
            or name.endswith(_SUFFIXES)
            or (rules is not None and rules.hold(directory, name))
        )
        found: _Snapshot = {}
        for path in _first(paths, _MOST_FILES):
            _note(found, path)
        for file in self.files:
            _note(found, str(file))
        return found

    def _walk(self) -> Iterator[tuple[str, list[str], bool, _Rules | None]]:
        apart = frozenset(map(str, self.apart))
        trees = {**dict.fromkeys(self.trees, False), **dict.fromkeys(self.sources, True)}
        for tree, all_kinds in trees.items():
            given = self.rules.get(tree)
            rules = _Rules(str(tree), given) if given else None
            for directory, below, names in os.walk(tree):
                below[:] = sorted(
                    name
                    for name in below
                    if name not in _IGNORED
                    and not name.startswith(".")
                    and os.path.join(directory, name) not in apart
                    and not os.path.exists(os.path.join(directory, name, "pyvenv.cfg"))
                )
                yield directory, names, all_kinds, rules


@dataclass(slots=True, frozen=True)
class _Rules:
    root: str
    rules: Sequence[Rule]

    def hold(self, directory: str, name: str) -> bool:
        path = os.path.join(directory, name)[len(self.root) + 1 :].replace(os.sep, "/")
        return any(rule.holds(path) for rule in self.rules)


def _first(paths: Iterable[str], limit: int) -> Iterator[str]:
    for index, path in enumerate(paths):
        if index == limit:
            return
        yield path


def _note(found: _Snapshot, path: str) -> None:
    try:
        status = os.stat(path)
    except OSError:
        return
    found[path] = (status.st_mtime_ns, status.st_size, status.st_ino)


async def changes(watched: Callable[[], Watched], since_ns: int) -> AsyncIterator[set[Path]]:
    """Yield the files that were changed, added or deleted, gathered over a short quiet time; never an empty set.

    ``since_ns``: the system's time, in nanoseconds, from which on changes count; earlier ones have been read.

    ``watched`` is asked again after every round, since a new configuration may name other files. The waiting happens
    on a thread, which ends when the iterator is closed.
    """
    now = watched()
    first = await asyncio.to_thread(now.snapshot)
    before = {path: state for path, state in first.items() if state[0] < since_ns - _COARSE_NS}
    before.update((str(path), _GONE) for path in now.loaded if str(path) not in first)
    stop = threading.Event()
    try:
        while True:
            waiting = _Waiter(await asyncio.to_thread(now.directories), stop)
            while True:
                # Before each wait, so that what happened while nobody was watching counts too.
                after = await asyncio.to_thread(now.snapshot)
                if after != before:
                    after = await _settled(now, after)
                    changed = _difference(before, after)
                    before = after
                    if changed:
                        yield changed
                        break
                await waiting.wait()
                if await asyncio.to_thread(now.directories) != waiting.directories:
                    break
            now = watched()
    finally:
        stop.set()


async def _settled(watched: Watched, seen: _Snapshot) -> _Snapshot:
    """The files once nothing has happened to them for a moment: an editor may empty a file before it writes it."""
    for _ in range(_MOST_ROUNDS):
        await asyncio.sleep(QUIET_MS / 1000)
        again = await asyncio.to_thread(watched.snapshot)
        if again == seen:
            break
        seen = again
    return seen


def _difference(before: _Snapshot, after: _Snapshot) -> set[Path]:
    return {
        Path(path) for path in before.keys() | after.keys() if before.get(path) != after.get(path)
    }


class _Waiter:
    """The operating system's notices for a list of directories."""

    __slots__ = ("_notify", "_stop", "directories")

    def __init__(self, directories: list[str], stop: threading.Event) -> None:
        from watchfiles._rust_notify import RustNotify

        self.directories = directories
        self._stop = stop
        existing = [path for path in directories if os.path.isdir(path)]
        # Not recursive: a project's virtual environment or state directory would wake us without end.
        try:
            self._notify = RustNotify(existing, False, False, 0, False, True)
        except OSError:
            # The system's limit of watched directories is reached, or it has no notices (some network drives).
            self._notify = RustNotify(existing, False, True, POLL_MS, False, True)

    async def wait(self) -> None:
        """Until something has happened."""
        await asyncio.to_thread(self._notify.watch, _GATHER_MS, _STEP_MS, 0, self._stop)
