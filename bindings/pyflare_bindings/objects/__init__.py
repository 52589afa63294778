"""Durable Objects: the alarm of each object, and the scheduler that wakes them."""

from __future__ import annotations

from .alarm import ObjectAlarm
from .alarm_parts import AlarmMark, AlarmTimeError, ObjectResetError, StoredAlarm
from .alarm_table import AlarmTable, DamagedTableError, PendingAlarms, SqliteAlarmTable
from .delivery import deliver
from .outcome import AlarmRun, AlarmRunner, Completed, Declined, Failed, ObjectKey, Outcome
from .scheduler import AlarmScheduler

__all__ = [
    "AlarmMark",
    "AlarmRun",
    "AlarmRunner",
    "AlarmScheduler",
    "AlarmTable",
    "AlarmTimeError",
    "Completed",
    "DamagedTableError",
    "Declined",
    "Failed",
    "ObjectAlarm",
    "ObjectKey",
    "ObjectResetError",
    "Outcome",
    "PendingAlarms",
    "SqliteAlarmTable",
    "StoredAlarm",
    "deliver",
]
