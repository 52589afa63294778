"""The operations that a storage and a transaction have in common, as JavaScript sees them.

SQLite answers at once, so every promise here is born settled and awaiting it never lets another event in.

Source: https://developers.cloudflare.com/durable-objects/api/storage-api/ and workerd ``src/workerd/api/actor-state.*``
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from pyflare.js.collections import JsMap
from pyflare.js.error import JsException, TypeError_
from pyflare.js.promise import JsPromise, rejected, resolved
from pyflare.js.v8_format import deserialize, serialize
from pyflare.js.value import JsInstance, JsObject, is_nullish, jsnull
from pyflare.js.webidl import null

from .arguments import (
    MISSING,
    ListOptions,
    alarm_time,
    check_key,
    check_pairs,
    check_value,
    entries_of,
    is_confirmed,
    is_entries,
    key_text,
    keys_of,
    options_of,
)
from .owner_errors import OWNER_ERRORS, owner_failure
from .session import StorageSession

__all__ = ["StorageOperations", "promised"]

P = ParamSpec("P")
S = TypeVar("S")

UNDEFINED_VALUE: Final = "put() called with undefined value."
WRONG_PUT: Final = (
    "put() may only be called with a single key-value pair and optional options as put(key, value, options) or with "
    "multiple key-value pairs and optional options as put(entries, options)"
)


def promised(
    operation: Callable[Concatenate[S, P], Any],
) -> Callable[Concatenate[S, P], JsPromise]:
    """A method that gives a promise, which is already settled, of what the operation gives or raises."""

    def method(self: S, /, *args: P.args, **kwargs: P.kwargs) -> JsPromise:
        try:
            return resolved(operation(self, *args, **kwargs))
        except JsException as error:
            return rejected(error)
        except OWNER_ERRORS as error:
            return rejected(owner_failure(error))

    update_wrapper(method, operation)
    return method


class StorageOperations(JsInstance, js_name="Object"):
    """Keys, values and the alarm."""

    _session: StorageSession

    def _check(self, operation: str) -> None:
        """Refuse an operation that is not possible any more. Raises: Error."""

    @promised
    def get(self, key: Any = MISSING, options: Any = None, *_: Any, **named: Any) -> Any:
        """The value of a key, undefined when there is none; of an array of keys a map of those that are there."""
        self._options(options, named, "get", 2, "GetOptions")
        self._check("get()")
        session = self._session
        keys = keys_of(key)
        if keys is None:
            data = session.storage.get(self._key(key, "get"))
            return None if data is None else value_of(data)
        if session.limited:
            check_pairs(len(keys))
            for each in keys:
                check_key(each)
        return _map(session.storage.get_many(keys).items())

    @promised
    def list(self, options: Any = None, *_: Any, **named: Any) -> JsMap:
        """A map of the pairs in a range of keys, in the order of their UTF-8 bytes."""
        wanted = ListOptions.read(self._options(options, named, "list", 1, "ListOptions"))
        self._check("list()")
        return _map(self._session.storage.list(*wanted))

    @promised
    def put(
        self, key: Any = MISSING, value: Any = None, options: Any = None, *_: Any, **named: Any
    ) -> None:
        """Set the value of a key, or of every key of an object, together."""
        if is_entries(key):
            if not is_nullish(value) and not isinstance(value, JsObject | dict):
                raise TypeError_(WRONG_PUT)
            self._put_entries(key, self._options(value, named, "put", 2, "PutOptions"))
            return
        name = self._key(key, "put")
        confirmed = is_confirmed(self._options(options, named, "put", 3, "PutOptions"))
        if value is None:
            raise TypeError_(UNDEFINED_VALUE)
        session = self._session
        data = serialize(value, enhanced_errors=session.enhanced_errors)
        if session.limited:
            check_value(data)
        self._check("put()")
        session.write(confirmed, session.storage.put, name, data)

    def _put_entries(self, entries: Any, options: Any) -> None:
        session = self._session
        pairs = {
            key: serialize(value, enhanced_errors=session.enhanced_errors)
            for key, value in entries_of(entries)
        }
        if session.limited:
            check_pairs(len(pairs))
            for key, data in pairs.items():
                check_key(key)
                check_value(data)
        self._check("put()")
        session.write(is_confirmed(options), session.storage.put_many, pairs)

    @promised
    def delete(self, key: Any = MISSING, options: Any = None, *_: Any, **named: Any) -> bool | int:
        """Delete a key and say whether it was there; of an array of keys say how many were."""
        confirmed = is_confirmed(self._options(options, named, "delete", 2, "PutOptions"))
        self._check("delete()")
        session = self._session
        keys = keys_of(key)
        if keys is None:
            return session.write(confirmed, session.storage.delete, self._key(key, "delete"))
        if session.limited:
            check_pairs(len(keys))
            for each in keys:
                check_key(each)
        return session.write(confirmed, session.storage.delete_many, keys)

    @promised
    def getAlarm(self, options: Any = None, *_: Any, **named: Any) -> Any:
        """The time of the alarm in ms since 1970, null when none is set."""
        self._options(options, named, "getAlarm", 1, "GetAlarmOptions")
        self._check("getAlarm()")
        time = self._session.storage.alarm.get()
        return null() if time is None else time

    @promised
    def setAlarm(self, time: Any = None, options: Any = None, *_: Any, **named: Any) -> None:
        """Set the one alarm to a Date or a number of ms since 1970; a time that has passed counts as now."""
        wanted = alarm_time(time)
        confirmed = is_confirmed(self._options(options, named, "setAlarm", 2, "SetAlarmOptions"))
        self._check("setAlarm()")
        session = self._session
        session.write(confirmed, session.storage.alarm.set, wanted)

    @promised
    def deleteAlarm(self, options: Any = None, *_: Any, **named: Any) -> None:
        """Unset the alarm, if there is one."""
        confirmed = is_confirmed(self._options(options, named, "deleteAlarm", 1, "SetAlarmOptions"))
        self._check("deleteAlarm()")
        session = self._session
        session.write(confirmed, session.storage.alarm.delete)

    def _options(
        self, options: Any, named: dict[str, Any], method: str, position: int, struct: str
    ) -> Any:
        return options_of(options, named, method, position, struct, type(self)._js_name)

    def _key(self, key: Any, method: str) -> str:
        wanted = "string or object" if method == "put" else "string or Array"
        text = key_text(key, method, type(self)._js_name, wanted)
        if self._session.limited:
            check_key(text)
        return text


def value_of(data: bytes) -> Any:
    """A stored value as the running worker receives it. Raises: Error for damaged bytes."""
    value = deserialize(data)
    return null() if value is jsnull else value


def _map(pairs: Any) -> JsMap:
    return JsMap.from_dict({key: deserialize(data) for key, data in pairs})
