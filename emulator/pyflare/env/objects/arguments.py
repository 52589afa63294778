"""Arguments of the storage API, checked and converted as the platform does.

Source: https://developers.cloudflare.com/durable-objects/api/storage-api/ and workerd ``src/workerd/api/actor-state.*``
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from pyflare.js.array import JsArray
from pyflare.js.date import Date
from pyflare.js.equality import to_boolean
from pyflare.js.error import RangeError, TypeError_
from pyflare.js.number import to_number
from pyflare.js.options import visible_items
from pyflare.js.value import JsProxy, get_property, is_nullish, own_items
from pyflare.js.webidl import scalar_text, wrong_type
from pyflare_bindings.objects.instants import LATEST

__all__ = [
    "MISSING",
    "ListOptions",
    "alarm_time",
    "check_key",
    "check_pairs",
    "check_value",
    "entries_of",
    "is_confirmed",
    "is_entries",
    "key_text",
    "keys_of",
    "options_of",
]

#: An argument that was not given at all.
MISSING: Final = object()

_MAX_KEY: Final = 2048
_MAX_VALUE: Final = 131_072
#: What the header of a value may add to its size.
_HEADER: Final = 34
_MAX_PAIRS: Final = 128
_INT32: Final = 2**31


def key_text(key: Any, method: str, interface: str, wanted: str = "string") -> str:
    """A key. Raises: TypeError when there is none; ``wanted`` is what could have been there."""
    if type(key) is str:
        return key if key.isascii() else scalar_text(key)
    if key is MISSING:
        raise wrong_type(method, interface, 1, wanted)
    return scalar_text(key)


def keys_of(keys: Any) -> list[str] | None:
    """The keys of an array argument; None for any other, which is one key."""
    if isinstance(keys, JsArray):
        return [scalar_text(key) for key in keys]
    return None


def is_entries(value: Any) -> bool:
    """Whether the first argument of ``put`` holds pairs, and is no key."""
    if isinstance(value, JsProxy):
        return value.typeof == "object" and not isinstance(value, JsArray)
    return isinstance(value, dict)


def entries_of(value: Any) -> Iterator[tuple[str, Any]]:
    """The pairs, without those whose value is undefined."""
    for key, item in own_items(value):
        if item is not None:
            yield scalar_text(key), item


def options_of(
    options: Any,
    named: dict[str, Any],
    method: str,
    position: int,
    struct: str,
    interface: str = "DurableObjectStorage",
) -> Any:
    """An options argument, or the keywords in its place. Raises: TypeError, which names ``struct``, for no object."""
    if is_nullish(options):
        return named
    if isinstance(options, dict):
        return visible_items(options)
    if isinstance(options, JsProxy):
        return options
    raise wrong_type(method, interface, position, struct)


def is_confirmed(options: Any) -> bool:
    """Whether what leaves the object waits for the write."""
    return not options or not to_boolean(get_property(options, "allowUnconfirmed"))


def check_key(key: str) -> None:
    """Raises: RangeError for a key that is too long for objects that are not backed by SQLite."""
    size = len(key.encode())
    if size > _MAX_KEY:
        raise RangeError(
            f"Keys cannot be larger than {_MAX_KEY} bytes. A key of size {size} was provided."
        )


def check_value(data: bytes) -> None:
    """Raises: RangeError for a value that is too large for objects that are not backed by SQLite."""
    if len(data) > _MAX_VALUE + _HEADER:
        raise RangeError(
            f"Values cannot be larger than {_MAX_VALUE} bytes. A value of size {len(data)} was provided."
        )


def check_pairs(count: int) -> None:
    """Raises: RangeError for too many keys at once for objects that are not backed by SQLite."""
    if count > _MAX_PAIRS:
        raise RangeError(
            f"Maximum number of key value pairs is {_MAX_PAIRS}. {count} pairs were provided."
        )


class ListOptions(NamedTuple):
    """What ``list`` is asked for; see the owner's ``list``."""

    start: str | None = None
    start_after: str | None = None
    end: str | None = None
    prefix: str | None = None
    reverse: bool = False
    limit: int | None = None

    @classmethod
    def read(cls, options: Any) -> ListOptions:
        """Raises: TypeError for both ``start`` and ``startAfter``, and for a limit that is not positive."""
        if not options:
            return _ALL
        # As everywhere in this API only undefined counts as absent: null is the text "null".
        start, start_after, end, prefix = (
            None if (value := get_property(options, name)) is None else scalar_text(value)
            for name in ("start", "startAfter", "end", "prefix")
        )
        if start is not None and start_after is not None:
            raise TypeError_("list() cannot be called with both start and startAfter values.")
        limit = _int32(get_property(options, "limit"))
        if limit is not None and limit <= 0:
            raise TypeError_("List limit must be positive.")
        reverse = to_boolean(get_property(options, "reverse"))
        return cls(start, start_after, end, prefix, reverse, limit)


_ALL: Final = ListOptions()


def _int32(value: Any) -> int | None:
    if value is None:
        return None
    number = to_number(value)
    if number != number:
        return 0
    if not -_INT32 <= number < _INT32:
        raise TypeError_(
            f"Value out of range. Must be between {-_INT32} and {_INT32 - 1} (inclusive)."
        )
    return int(number)


def alarm_time(time: Any) -> int:
    """Milliseconds since the epoch, of a Date, a number or a Python ``datetime``.

    Raises: TypeError for anything else and for a time that is not after the epoch.
    """
    if isinstance(time, datetime.datetime):
        time = Date.from_datetime(time)
    if isinstance(time, Date):
        time = time.getTime()
    if isinstance(time, bool) or not isinstance(time, int | float):
        raise TypeError_(
            "Failed to execute 'setAlarm' on 'DurableObjectStorage': parameter 1 is not of type 'date'."
        )
    if not math.isfinite(time) or time > LATEST:
        raise TypeError_("The value cannot be converted because it is not a valid Date.")
    whole = math.floor(time)
    if whole <= 0:
        raise TypeError_("setAlarm() cannot be called with an alarm time <= 0")
    return whole
