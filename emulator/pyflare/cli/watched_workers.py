"""Whose files a session watches: its own workers', wherever they run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyflare.owner.frames import Gone

if TYPE_CHECKING:
    from pyflare.config import LoadedConfig
    from pyflare.embed import Pyflare

    from .guest import Guest
    from .reload import Worker

__all__ = ["OwnWorkers", "RemoteWorkers"]


class OwnWorkers:
    """The workers that run in this process, without those of sessions that have joined: these watch their own."""

    def __init__(self, flare: Pyflare) -> None:
        self._flare = flare

    def _is_own(self, name: str) -> bool:
        return self._flare.guests.reader_of(name) is None

    @property
    def configurations(self) -> Sequence[LoadedConfig]:
        """What is watched."""
        return [each for each in self._flare.configurations if self._is_own(each.worker.name)]

    @property
    def workers(self) -> Sequence[Worker]:
        """Who may have failed."""
        return [each for each in self._flare.workers if self._is_own(each.name)]

    async def reload(self, path: Path) -> None:
        """Load the worker that a file belongs to again. Raises ConfigError."""
        await self._flare.reload(path)


@dataclass(slots=True)
class _Outcome:
    failure: BaseException | None = None


class RemoteWorkers:
    """The workers of this session that run in the process that owns the state directory."""

    def __init__(self, configurations: Sequence[LoadedConfig], guest: Guest) -> None:
        self.configurations = configurations
        self._guest = guest
        self._outcome = _Outcome()

    @property
    def workers(self) -> Sequence[Worker]:
        """Whether the last reload went well. The owner has said what went wrong."""
        return [self._outcome]

    async def reload(self, path: Path) -> None:
        """Have the worker that a file belongs to loaded again over there."""
        try:
            good = await self._guest.reload(path)
        except Gone as error:
            self._outcome.failure = error
            return
        self._outcome.failure = None if good else RuntimeError("the owner has said why")
