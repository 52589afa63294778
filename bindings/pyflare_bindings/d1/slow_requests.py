"""Remembers which requests are too long for the event loop."""

from __future__ import annotations

from collections.abc import Sequence

from .results import Statement

_KEPT = 256
_SLOW_SECONDS = 0.010
_FAST_SECONDS = 0.002


class SlowRequests:
    """The shapes of requests that were slow: their first text and how many statements they had.

    A request counts as slow when one that began with the same text, and was no longer, was slow.
    The oldest entry makes room for a new one.
    """

    __slots__ = ("_lengths",)

    def __init__(self) -> None:
        self._lengths: dict[str, int] = {}

    def __contains__(self, statements: Sequence[Statement]) -> bool:
        if not self._lengths or not statements:
            return False
        length = self._lengths.get(statements[0].sql)
        return length is not None and len(statements) >= length

    def add(self, statements: Sequence[Statement]) -> None:
        """Take note of a slow request."""
        if not statements:
            return
        self._lengths.pop(statements[0].sql, None)
        if len(self._lengths) >= _KEPT:
            del self._lengths[next(iter(self._lengths))]
        self._lengths[statements[0].sql] = len(statements)

    def judge(self, statements: Sequence[Statement], seconds: float) -> None:
        """Take note of how long a request took on the thread."""
        if seconds > _SLOW_SECONDS:
            self.add(statements)
        elif seconds < _FAST_SECONDS and statements in self:
            del self._lengths[statements[0].sql]
