"""Which blobs are being read, so that none of them is removed before its last reader is done."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable


class Pins:
    """Counts the readers of blobs, and remembers which blobs are to go with their last one.

    In: `unread`, called with the ids of blobs that were to go and have no reader any more.

    `let_go` may be called at any moment on any thread: a reader may be collected as garbage, in the
    midst of whatever its thread was doing, such as another method of this object or one of a pool
    of threads. It waits for nothing, and `unread` must not either.
    """

    __slots__ = ("_counts", "_doomed", "_let_go", "_lock", "_unread")

    def __init__(self, unread: Callable[[list[str]], None]) -> None:
        self._unread = unread
        self._counts: dict[str, int] = {}
        self._doomed: set[str] = set()
        self._let_go: deque[str] = deque()
        self._lock = threading.Lock()

    def __contains__(self, id: str) -> bool:
        """Whether a blob has readers, or had them when it was to go."""
        return id in self._counts or id in self._doomed

    def add(self, id: str) -> None:
        """One more reader."""
        with self._lock:
            self._counts[id] = self._counts.get(id, 0) + 1
        self._settle()

    def let_go(self, id: str) -> None:
        """One reader less."""
        self._let_go.append(id)
        self._settle()

    def doom(self, ids: Iterable[str]) -> list[str]:
        """Blobs are to go: gives those that nobody reads; the others go with their last reader."""
        now = []
        with self._lock:
            for id in ids:
                if id in self._counts:
                    self._doomed.add(id)
                else:
                    now.append(id)
        self._settle()
        return now

    def _settle(self) -> None:
        # Where somebody holds the lock, that one comes by here after it has given it back.
        while self._let_go and self._lock.acquire(blocking=False):
            try:
                unread = self._count_down()
            finally:
                self._lock.release()
            if unread:
                self._unread(unread)

    def _count_down(self) -> list[str]:
        unread = []
        while self._let_go:
            id = self._let_go.popleft()
            left = self._counts[id] - 1
            if left:
                self._counts[id] = left
                continue
            del self._counts[id]
            if id in self._doomed:
                self._doomed.remove(id)
                unread.append(id)
        return unread
