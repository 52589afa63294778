"""What passes between the scheduler and the objects when an alarm is due."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import NamedTuple, Protocol


class ObjectKey(NamedTuple):
    """One object: the namespace it lives in and its id within. Both are opaque texts."""

    namespace: str
    id: str


class AlarmRun(NamedTuple):
    """One try to run an alarm.

    `time`, in milliseconds since the epoch, is what the scheduler holds; `retry_count` is the
    number of counted failures before this try, which the handler sees as `retryCount`.
    """

    key: ObjectKey
    time: int
    retry_count: int


@dataclass(frozen=True, slots=True)
class Completed:
    """The handler returned and what it wrote is confirmed; `alarm` is what is set after it."""

    alarm: int | None


@dataclass(frozen=True, slots=True)
class Declined:
    """The object was woken for nothing and called no handler; `alarm` is its alarm."""

    alarm: int | None


@dataclass(frozen=True, slots=True)
class Failed:
    """The handler, or something around it, failed.

    `counted`: whether the failure is the worker's and uses up a retry. `retry`: false when the
    object asked not to be tried again. `replaced`: the alarm was set or deleted during the run,
    so that there is nothing left to retry. `reason` is for the log.
    """

    counted: bool
    retry: bool = True
    replaced: bool = False
    reason: str = ""


Outcome = Completed | Declined | Failed


class AlarmRunner(Protocol):
    """What a namespace gives the scheduler to wake its objects with.

    `run` wakes one object and returns how it went; what it raises is a failure that does not use
    up a retry. `abandon` tells an object that its alarm will not be tried again and returns the
    alarm that it has instead. The scheduler has at most one of these going for an object.
    """

    def run(self, run: AlarmRun) -> Awaitable[Outcome]:
        """Wake the object."""
        ...

    def abandon(self, key: ObjectKey, time: int) -> Awaitable[int | None]:
        """Give the alarm up that was due at `time`."""
        ...
