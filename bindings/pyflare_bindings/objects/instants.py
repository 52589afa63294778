"""Points in time as alarms count them: whole milliseconds since the Unix epoch."""

from __future__ import annotations

import math
from typing import Final

from ..clock import Clock

# Stands for "no alarm" wherever times are compared: it is later than every real time.
NEVER: Final = 2**63 - 1

# The last one that can be stored: databases of objects hold nanoseconds in 64 bits.
LATEST: Final = (2**63 - 1) // 1_000_000

# A clock in seconds cannot hold every millisecond exactly. What is missing at today's dates is
# under a microsecond, and an alarm must not wait another turn because of it.
_ROUNDING_MS: Final = 0.001


def now_ms(clock: Clock) -> int:
    """The millisecond that has begun."""
    return math.floor(clock.now() * 1000.0 + _ROUNDING_MS)


def comparable(time_ms: int | None) -> int:
    """A time that orders correctly: no alarm is `NEVER`."""
    return NEVER if time_ms is None else time_ms


def optional(time_ms: int) -> int | None:
    """The reverse of `comparable`."""
    return None if time_ms == NEVER else time_ms
