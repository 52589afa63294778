"""``js.String`` and ``js.Boolean``: conversions when called, boxes with ``new``.

Source: https://tc39.es/ecma262/#sec-string-objects and #sec-boolean-objects
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .equality import to_boolean
from .error import RangeError
from .number import to_number, to_string, to_uint
from .string_methods import StringMethods
from .value import JsInstance, get_property

__all__ = ["Boolean", "String"]


class String(StringMethods, JsInstance, js_name="String"):
    """A boxed string. What worker code gets from JavaScript are plain ``str``, never these."""

    def __init__(self, value: str) -> None:
        self._value = value

    @classmethod
    def _construct(cls, *args: Any) -> Any:
        return cls._make(to_string(args[0]) if args else "")

    @classmethod
    def _call(cls, *args: Any) -> Any:
        return to_string(args[0]) if args else ""

    @staticmethod
    def fromCharCode(*codes: Any) -> str:
        """A string of UTF-16 code units; surrogate pairs join into one character."""
        units = b"".join(to_uint(code, 16).to_bytes(2, "little") for code in codes)
        return units.decode("utf-16-le", "surrogatepass")

    @staticmethod
    def fromCodePoint(*points: Any) -> str:
        """Raises: RangeError for what is no code point."""
        characters = []
        for point in points:
            number = to_number(point)
            if not (isinstance(number, int) and 0 <= number <= 0x10FFFF):
                raise RangeError(f"Invalid code point {to_string(point)}")
            characters.append(chr(number))
        return "".join(characters)

    @staticmethod
    def raw(template: Any, *values: Any) -> str:
        parts = list(get_property(template, "raw"))
        mixed = [to_string(parts[0])] if parts else []
        for index, part in enumerate(parts[1:]):
            mixed += [to_string(values[index]) if index < len(values) else "", to_string(part)]
        return "".join(mixed)

    @property
    def length(self) -> int:
        """The number of UTF-16 code units."""
        return len(self._value.encode("utf-16-le", "surrogatepass")) // 2

    def __len__(self) -> int:
        return self.length

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self._value)

    def valueOf(self) -> Any:
        return self._value

    def toString(self) -> str:
        return self._value


class Boolean(JsInstance, js_name="Boolean"):
    """A boxed boolean."""

    def __init__(self, value: bool) -> None:
        self._value = value

    @classmethod
    def _construct(cls, value: Any = None, *_: Any) -> Any:
        return cls._make(to_boolean(value))

    @classmethod
    def _call(cls, value: Any = None, *_: Any) -> Any:
        return to_boolean(value)

    def valueOf(self) -> Any:
        return self._value

    def toString(self) -> str:
        return to_string(self._value)
