"""The alarms that are in memory: due, running, or between two tries."""

from __future__ import annotations

import enum
import heapq
import itertools
from collections import deque
from collections.abc import Container

from .alarm_table import BEGINNING, AlarmTable, Position
from .instants import NEVER
from .outcome import AlarmRunner, ObjectKey
from .retry import Retries

_PAGE = 256


class State(enum.Enum):
    """Where an alarm in memory is."""

    READY = enum.auto()
    RUNNING = enum.auto()
    RETRYING = enum.auto()
    ABANDONED = enum.auto()


class DueAlarm:
    """One alarm that has become due.

    `time` is what it was due for; `row` what the table holds now; `asked` whether the object has
    asked for a time meanwhile, and `changed` whether for another one; `orphaned` whether its
    namespace was detached during the run.
    """

    __slots__ = (
        "asked",
        "changed",
        "dropped",
        "key",
        "orphaned",
        "retries",
        "row",
        "runner",
        "state",
        "time",
    )

    def __init__(self, key: ObjectKey, time: int, runner: AlarmRunner) -> None:
        self.key = key
        self.time = time
        self.row: int | None = time
        self.runner = runner
        self.retries = Retries()
        self.state = State.READY
        self.asked = False
        self.changed = False
        self.orphaned = False
        self.dropped = False


class _Namespace:
    """How far the table has been read. Everything up to `read_to` is in memory or gone.

    Reading from an earlier place again is always right, only slower: what is in memory is skipped.
    `next_time` is the first time behind, which may be too early but is never too late.
    """

    __slots__ = ("next_time", "read_to", "runner")

    def __init__(self, runner: AlarmRunner) -> None:
        self.runner = runner
        self.read_to = BEGINNING
        self.next_time = 0

    def go_back_to(self, time: int) -> None:
        if time <= self.read_to.time:
            self.read_to = Position(time, "")
        self.next_time = min(self.next_time, time)


class DueAlarms:
    """What has been read from the table because its time has come, at most one per object."""

    def __init__(self, table: AlarmTable) -> None:
        self._table = table
        self._namespaces: dict[str, _Namespace] = {}
        self._alarms: dict[ObjectKey, DueAlarm] = {}
        self._ready: deque[DueAlarm] = deque()
        self._retrying: list[tuple[float, int, DueAlarm]] = []
        self._order = itertools.count()

    def attach(self, namespace: str, runner: AlarmRunner) -> None:
        """Begin to read the alarms of `namespace`."""
        self.detach(namespace)
        self._namespaces[namespace] = _Namespace(runner)

    def detach(self, namespace: str) -> None:
        """Forget the alarms of `namespace`, except those whose run has not ended."""
        if self._namespaces.pop(namespace, None) is None:
            return
        for key, due in list(self._alarms.items()):
            if key.namespace == namespace:
                due.orphaned = True
                if due.state is not State.RUNNING:
                    self._drop(due)

    def is_attached(self, namespace: str) -> bool:
        """Whether the alarms of `namespace` are read."""
        return namespace in self._namespaces

    def find(self, key: ObjectKey) -> DueAlarm | None:
        """The alarm of `key` that is in memory."""
        return self._alarms.get(key)

    def change(self, due: DueAlarm) -> None:
        """Another time has been asked for: what is not running yet is not run."""
        due.changed = True
        if due.state is not State.RUNNING:
            self._drop(due)

    def written(self, key: ObjectKey, time: int | None) -> None:
        """The table has a new time for `key`."""
        due = self._alarms.get(key)
        if due is not None:
            due.row = time
        namespace = self._namespaces.get(key.namespace)
        if namespace is not None and time is not None:
            namespace.go_back_to(time)

    def start_over(self, namespace: str) -> None:
        """Read the alarms of `namespace` again from the first one."""
        known = self._namespaces.get(namespace)
        if known is not None:
            known.read_to = BEGINNING
            known.next_time = 0

    def start_over_everywhere(self) -> None:
        """Read all alarms again."""
        for namespace in self._namespaces:
            self.start_over(namespace)

    def take(self, now: int, on_their_way: Container[ObjectKey]) -> DueAlarm | None:
        """The next alarm to run, which counts as running from here; None when none is due.

        In: `now` in milliseconds; `on_their_way`, the objects whose entry is about to change.
        """
        while self._retrying and self._retrying[0][0] <= now:
            _, _, due = heapq.heappop(self._retrying)
            if not due.dropped:
                due.state = State.READY
                self._ready.append(due)
        while True:
            while self._ready:
                due = self._ready.popleft()
                if due.dropped:
                    continue
                due.state = State.RUNNING
                return due
            if not self._read(now, on_their_way):
                return None

    def next_time(self) -> float:
        """When `take` has to be called next, in milliseconds, after it returned None."""
        while self._retrying and self._retrying[0][2].dropped:
            heapq.heappop(self._retrying)
        times: list[float] = [each.next_time for each in self._namespaces.values()]
        if self._retrying:
            times.append(self._retrying[0][0])
        return min(times, default=NEVER)

    def retry_at(self, due: DueAlarm, time: float) -> None:
        """Run again at `time`, in milliseconds."""
        due.state = State.RETRYING
        heapq.heappush(self._retrying, (time, next(self._order), due))

    def release(self, due: DueAlarm) -> None:
        """The run is over: what the table has now for the object counts again."""
        self._drop(due)
        namespace = self._namespaces.get(due.key.namespace)
        if namespace is not None and due.row is not None:
            namespace.go_back_to(due.row)

    def _drop(self, due: DueAlarm) -> None:
        due.dropped = True
        if self._alarms.get(due.key) is due:
            del self._alarms[due.key]

    def _read(self, now: int, on_their_way: Container[ObjectKey]) -> bool:
        """Read a page of what has become due in each namespace. Out: whether there was any."""
        found = False
        for name, namespace in self._namespaces.items():
            if namespace.next_time > now:
                continue
            page = self._table.due(name, namespace.read_to, now, _PAGE)
            if page:
                found = True
                namespace.read_to = page[-1]
            if len(page) < _PAGE:
                first = self._table.first(name, namespace.read_to)
                namespace.next_time = NEVER if first is None else first
            for time, id in page:
                key = ObjectKey(name, id)
                if key not in self._alarms and key not in on_their_way:
                    due = self._alarms[key] = DueAlarm(key, time, namespace.runner)
                    self._ready.append(due)
        return found
