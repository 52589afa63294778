"""The methods of ``String.prototype``, for ``js.String.prototype.slice.call(text, 1)`` and boxed strings.

A string in Python's hands is a ``str`` with Python's methods. Places count UTF-16 code units here. ``split``,
``replace`` and their kin take text; with a regular expression use ``RegExp`` itself.

Source: https://tc39.es/ecma262/#sec-properties-of-the-string-prototype-object
"""

from __future__ import annotations

import math
import unicodedata
from typing import Any

from .array import JsArray
from .calling import adapt
from .error import RangeError, TypeError_
from .number import WHITE_SPACE, to_index, to_integer, to_number, to_string
from .utf16 import split_units, whole_characters
from .value import JsProxy, is_nullish

__all__ = ["StringMethods"]


def _text(this: Any) -> str:
    if is_nullish(this):
        raise TypeError_("String.prototype method called on null or undefined")
    return to_string(this)


def _units(this: Any) -> str:
    return split_units(_text(this))


def _plain(value: Any, method: str) -> str:
    """An argument that may be no regular expression. Raises: TypeError."""
    if isinstance(value, JsProxy) and value.constructor.name == "RegExp":
        raise TypeError_(
            f"String.prototype.{method} with a regular expression is not supported by Pyflare"
        )
    return to_string(value)


class StringMethods:
    """A base of ``String``; ``self`` may also be a ``str``, by ``call``."""

    #: What the methods may be called on by ``call``.
    _primitives = (str, int, float, JsProxy)

    def at(self, index: Any = 0) -> Any:
        units, place = _units(self), to_integer(index)
        place += len(units) if place < 0 else 0
        return units[int(place)] if 0 <= place < len(units) else None

    def charAt(self, index: Any = 0) -> str:
        units, place = _units(self), to_integer(index)
        return units[int(place)] if 0 <= place < len(units) else ""

    def charCodeAt(self, index: Any = 0) -> float:
        unit = StringMethods.charAt(self, index)
        return ord(unit) if unit else math.nan

    def codePointAt(self, index: Any = 0) -> Any:
        units, place = _units(self), to_integer(index)
        if not 0 <= place < len(units):
            return None
        return ord(whole_characters(units[int(place) : int(place) + 2])[0])

    def concat(self, *others: Any) -> str:
        return whole_characters(_text(self) + "".join(map(to_string, others)))

    def includes(self, sought: Any = None, start: Any = 0) -> bool:
        return _units(self).find(split_units(_plain(sought, "includes")), _from(start)) >= 0

    def startsWith(self, sought: Any = None, start: Any = 0) -> bool:
        return _units(self).startswith(split_units(_plain(sought, "startsWith")), _from(start))

    def endsWith(self, sought: Any = None, end: Any = None) -> bool:
        units = _units(self)
        stop = len(units) if end is None else min(_from(end), len(units))
        return units[:stop].endswith(split_units(_plain(sought, "endsWith")))

    def indexOf(self, sought: Any = None, start: Any = 0) -> int:
        units = _units(self)
        return units.find(split_units(to_string(sought)), min(_from(start), len(units)))

    def lastIndexOf(self, sought: Any = None, start: Any = None) -> int:
        units, wanted = _units(self), split_units(to_string(sought))
        place = math.nan if start is None else to_number(start)
        last = len(units) if place != place else min(_from(place), len(units))
        return units.rfind(wanted, 0, last + len(wanted))

    def localeCompare(self, other: Any = None) -> int:
        left, right = _text(self), to_string(other)
        return (left > right) - (left < right)

    def normalize(self, form: Any = None) -> str:
        """Raises: RangeError for a form that does not exist."""
        name = "NFC" if form is None else to_string(form)
        if name not in ("NFC", "NFD", "NFKC", "NFKD"):
            raise RangeError("The normalization form should be one of NFC, NFD, NFKC, NFKD.")
        return unicodedata.normalize(name, _text(self))  # type: ignore[arg-type]

    def padStart(self, length: Any = 0, fill: Any = None) -> str:
        return whole_characters(_padding(self, length, fill) + _units(self))

    def padEnd(self, length: Any = 0, fill: Any = None) -> str:
        return whole_characters(_units(self) + _padding(self, length, fill))

    def repeat(self, count: Any = 0) -> str:
        """Raises: RangeError for a count below zero or without end."""
        times = to_integer(count)
        if not 0 <= times < math.inf:
            raise RangeError(f"Invalid count value: {to_string(count)}")
        return _text(self) * int(times)

    def replace(self, sought: Any = None, replacement: Any = None) -> str:
        """The first occurrence of a text replaced, by text or by what a function gives."""
        return _replaced(self, _plain(sought, "replace"), replacement, 1)

    def replaceAll(self, sought: Any = None, replacement: Any = None) -> str:
        return _replaced(self, _plain(sought, "replaceAll"), replacement, -1)

    def slice(self, start: Any = None, end: Any = None) -> str:
        units = _units(self)
        size = len(units)
        return whole_characters(units[to_index(start, size, 0) : to_index(end, size, size)])

    def substring(self, start: Any = None, end: Any = None) -> str:
        units = _units(self)
        first = min(_from(start), len(units))
        last = len(units) if end is None else min(_from(end), len(units))
        return whole_characters(units[min(first, last) : max(first, last)])

    def substr(self, start: Any = None, length: Any = None) -> str:
        units = _units(self)
        first = to_index(start, len(units), 0)
        stop = len(units) if length is None else first + _from(length)
        return whole_characters(units[first:stop])

    def split(self, separator: Any = None, limit: Any = None) -> JsArray:
        text = _text(self)
        most = 2**32 - 1 if limit is None else _from(limit)
        if separator is None:
            parts = [text]
        elif (wanted := _plain(separator, "split")) == "":
            parts = list(split_units(text))
        else:
            parts = text.split(wanted)
        return JsArray.adopt(parts[:most])

    def toLowerCase(self) -> str:
        return _text(self).lower()

    def toUpperCase(self) -> str:
        return _text(self).upper()

    def toLocaleLowerCase(self) -> str:
        return _text(self).lower()

    def toLocaleUpperCase(self) -> str:
        return _text(self).upper()

    def trim(self) -> str:
        return _text(self).strip(WHITE_SPACE)

    def trimStart(self) -> str:
        return _text(self).lstrip(WHITE_SPACE)

    def trimEnd(self) -> str:
        return _text(self).rstrip(WHITE_SPACE)


# Its class is no `JsClass`, which would do this.
adapt(StringMethods, vars(StringMethods))


def _from(place: Any) -> int:
    """A place that is cut at zero."""
    number = to_integer(place)
    return int(min(max(number, 0), 2**53 - 1))


def _padding(this: Any, length: Any, fill: Any) -> str:
    missing = _from(length) - len(_units(this))
    unit = " " if fill is None else split_units(to_string(fill))
    return (unit * (missing // len(unit) + 1))[:missing] if missing > 0 and unit else ""


def _replaced(this: Any, sought: str, replacement: Any, count: int) -> str:
    text = _text(this)
    if not callable(replacement):
        return text.replace(sought, _template(to_string(replacement), sought), count)
    parts, at = [], 0
    while count and (found := text.find(sought, at)) >= 0:
        parts += [text[at:found], to_string(replacement(sought, found, text))]
        at, count = found + len(sought), count - 1
        if not sought:
            break
    return "".join([*parts, text[at:]])


def _template(template: str, found: str) -> str:
    """``$$`` and ``$&`` in a replacement."""
    return "$".join(part.replace("$&", found) for part in template.split("$$"))
