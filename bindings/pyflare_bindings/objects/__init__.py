"""Durable Objects: their ids, what each has stored, its alarm, and the scheduler of all alarms."""

from __future__ import annotations

from .alarm import ObjectAlarm
from .alarm_parts import AlarmMark, AlarmTimeError, ObjectResetError, StoredAlarm
from .alarm_table import AlarmTable, DamagedTableError, PendingAlarms, SqliteAlarmTable
from .delivery import deliver
from .errors import CriticalSqlError
from .ids import ObjectId, ObjectIdError, ObjectIds
from .key_values import KeyRange
from .namespace import ObjectNamespace
from .outcome import AlarmRun, AlarmRunner, Completed, Declined, Failed, ObjectKey, Outcome
from .scheduler import AlarmScheduler
from .sql_cursor import SqlCursor
from .storage import ObjectStorage

__all__ = [
    "AlarmMark",
    "AlarmRun",
    "AlarmRunner",
    "AlarmScheduler",
    "AlarmTable",
    "AlarmTimeError",
    "Completed",
    "CriticalSqlError",
    "DamagedTableError",
    "Declined",
    "Failed",
    "KeyRange",
    "ObjectAlarm",
    "ObjectId",
    "ObjectIdError",
    "ObjectIds",
    "ObjectKey",
    "ObjectNamespace",
    "ObjectResetError",
    "ObjectStorage",
    "Outcome",
    "PendingAlarms",
    "SqlCursor",
    "SqliteAlarmTable",
    "StoredAlarm",
    "deliver",
]
