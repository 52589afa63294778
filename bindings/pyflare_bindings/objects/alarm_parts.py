"""What the alarm of an object is made of: its row, its two steps, and its small states."""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

Tell = Callable[[int | None], asyncio.Future[None]]
MakeDurable = Callable[[], asyncio.Future[None]]


class StoredAlarm(Protocol):
    """The alarm's row in the object's database, as the object's open transaction sees it."""

    def read(self) -> int | None:
        """The row, or None when no alarm is set."""
        ...

    def write(self, time: int | None) -> None:
        """Replace the row within the open transaction."""
        ...


class AlarmTimeError(TypeError):
    """A time that no alarm can have."""


class ObjectResetError(RuntimeError):
    """The instance is gone; what it had not committed is gone with it."""


class Parking(enum.Enum):
    """That nothing is parked. Not the same as that "no alarm" is parked, which is `NEVER`."""

    NOTHING = enum.auto()


NOTHING_PARKED: Final = Parking.NOTHING


class AlarmMark(NamedTuple):
    """What `roll_back` needs to undo the changes of an explicit transaction."""

    time: int
    replaced: bool


class RunningHandler:
    """The handler that is running.

    `woken_for` is what the scheduler holds. `alarm` is the alarm that is spent by this run, and
    unset when it succeeds; None when a change that is not durable yet leaves it open. `replaced`:
    the alarm has been set or deleted meanwhile.
    """

    __slots__ = ("alarm", "replaced", "woken_for")

    def __init__(self, woken_for: int, alarm: int | None) -> None:
        self.woken_for = woken_for
        self.alarm = alarm
        self.replaced = False

    def spends(self, visible: int) -> bool:
        """Whether `visible` is the alarm of this run, and not one that was set since."""
        return visible == self.alarm and not self.replaced
