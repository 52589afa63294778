"""How often to look whether a state directory is free, or its owner answers."""

from __future__ import annotations

import random
from typing import Final

__all__ = ["next_step"]

_SHORTEST_SECONDS: Final = 0.01
_LONGEST_SECONDS: Final = 0.1


def next_step(waited: float) -> float:
    """Seconds until the next look after ``waited`` seconds: soon at first, and many who wait do not look at once."""
    step = min(max(waited / 5, _SHORTEST_SECONDS), _LONGEST_SECONDS)
    return step * random.uniform(0.5, 1.5)
