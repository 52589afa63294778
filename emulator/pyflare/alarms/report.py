"""What a person is told about alarms that wait."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from pyflare_bindings.objects import PendingAlarms
from pyflare_bindings.objects.alarm_table import MOST_COUNTED

__all__ = ["mended_line", "pending_line", "waiting_line"]

_UNITS = (("day", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def pending_line(pending: Iterable[PendingAlarms], now: float) -> str | None:
    """How many alarms there are, and when the next is due; None where there is none. ``now`` in seconds."""
    known = list(pending)
    count = sum(each.alarms for each in known)
    if not count:
        return None
    earliest = min(each.earliest for each in known) / 1000
    moment = datetime.fromtimestamp(earliest).isoformat(" ", "seconds")
    ahead = earliest - now
    when = f"due in {_span(ahead)}" if ahead > 0 else f"overdue by {_span(-ahead)}"
    return f"{_alarms(count)} pending; the next is {when} ({moment})"


def waiting_line(alarms: int, class_name: str, script: str, *, running: bool) -> str:
    """That alarms wait for a class that is not there. ``running``: whether its worker is."""
    whose = f'the Durable Object class {class_name} of the Worker "{script}"'
    missing = "which exports no such class now" if running else "which is not running here"
    wait = "waits" if alarms == 1 else "wait"
    kept = "It is kept, and runs" if alarms == 1 else "They are kept, and run"
    return f"{_alarms(alarms)} {wait} for {whose}, {missing}. {kept} when the class is back."


def mended_line(count: int) -> str:
    """That the scheduler's table did not agree with the objects."""
    return f"The times of {_alarms(count)} were taken from the stored objects."


def _alarms(count: int) -> str:
    if count >= MOST_COUNTED:
        return f"{MOST_COUNTED:,} alarms or more"
    return "1 alarm" if count == 1 else f"{count:,} alarms"


def _span(seconds: float) -> str:
    """A duration in its two largest units."""
    left = round(seconds)
    parts: list[str] = []
    for name, size in _UNITS:
        amount, left = divmod(left, size)
        if amount:
            plural = "s" if name == "day" and amount > 1 else ""
            parts.append(f"{amount} {name}{plural}")
    return " ".join(parts[:2]) or "less than 1 s"
