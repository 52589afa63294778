"""When a failed alarm is tried again, and when it is given up.

Source: https://developers.cloudflare.com/durable-objects/api/alarms/ and
`src/workerd/server/alarm-scheduler.*` of workerd.
"""

from __future__ import annotations

from random import Random
from typing import Final

MAX_RETRIES: Final = 6

_FIRST_DELAY_MS: Final = 2_000
_MAX_DOUBLINGS: Final = 9
_JITTER: Final = 0.25


class Retries:
    """The failures of one alarm so far.

    `counted` is the number of failures that used up a retry.
    """

    __slots__ = ("_doublings", "_last_was_counted", "counted")

    def __init__(self) -> None:
        self.counted = 0
        self._doublings = 0
        self._last_was_counted = True

    def exhausted_by(self, counted: bool) -> bool:
        """Whether one more failure is one too many. Those that do not count never are."""
        return counted and self.counted >= MAX_RETRIES

    def delay_ms(self, counted: bool, random: Random) -> float:
        """Note a failure; how long to wait before the next try, in milliseconds."""
        if counted:
            if not self._last_was_counted:
                self._doublings = 0
            self.counted += 1
        self._last_was_counted = counted
        delay = _FIRST_DELAY_MS * 2.0 ** min(self._doublings, _MAX_DOUBLINGS)
        self._doublings += 1
        return delay * (1.0 + _JITTER * random.random())

    def state(self) -> tuple[int, int, bool]:
        """Everything that decides the next delay."""
        return self.counted, self._doublings, self._last_was_counted
