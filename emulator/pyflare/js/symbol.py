"""``js.Symbol`` and ``js.BigInt``.

A bigint reaches Python as an ``int``, or one of a class of its own, so ``BigInt(x)`` gives one.

Source: https://tc39.es/ecma262/#sec-symbol-objects and #sec-bigint-objects
"""

from __future__ import annotations

import weakref
from typing import Any, ClassVar

from .bigint import bigint
from .error import RangeError, SyntaxError_, TypeError_
from .number import WHITE_SPACE, to_number, to_string
from .value import JsInstance, type_of

__all__ = ["BigInt", "Symbol"]


class Symbol(JsInstance, js_name="Symbol"):
    """A symbol; ``Symbol("x")`` makes one, ``new`` refuses."""

    iterator: ClassVar[Any]
    asyncIterator: ClassVar[Any]
    toStringTag: ClassVar[Any]
    toPrimitive: ClassVar[Any]
    hasInstance: ClassVar[Any]
    dispose: ClassVar[Any]
    asyncDispose: ClassVar[Any]
    #: JavaScript's registry is one for the whole process too.
    _registry: ClassVar[weakref.WeakValueDictionary[str, Any]] = weakref.WeakValueDictionary()

    def __init__(self, description: str | None, key: str | None = None) -> None:
        self.description = description
        self._key = key

    @classmethod
    def _construct(cls, *_: Any) -> Any:
        raise TypeError_("Symbol is not a constructor")

    @classmethod
    def _call(cls, *args: Any) -> Any:
        return cls._make(None if not args or args[0] is None else to_string(args[0]))

    @classmethod
    def for_(cls, key: Any = None) -> Any:
        """``Symbol.for``: one symbol per key for as long as anybody holds it."""
        name = to_string(key)
        found = cls._registry.get(name)
        if found is None:
            found = cls._registry[name] = cls._make(name, name)
        return found

    @classmethod
    def keyFor(cls, symbol: Any) -> Any:
        return symbol._key

    @property
    def typeof(self) -> str:
        return "symbol"

    def toString(self) -> str:
        return f"Symbol({self.description or ''})"


for _name in (
    "iterator",
    "asyncIterator",
    "toStringTag",
    "toPrimitive",
    "hasInstance",
    "dispose",
    "asyncDispose",
):
    setattr(Symbol, _name, Symbol._make(f"Symbol.{_name}"))


class BigInt(JsInstance, js_name="BigInt"):
    """``BigInt(value)`` gives what Python has for a bigint."""

    @classmethod
    def _construct(cls, *_: Any) -> Any:
        raise TypeError_("BigInt is not a constructor")

    @classmethod
    def _call(cls, value: Any = None, *_: Any) -> Any:
        """Raises: RangeError for a fraction, SyntaxError for a text that is no integer, TypeError otherwise."""
        return bigint(_integer(value))

    @staticmethod
    def asIntN(bits: int, value: int) -> int:
        wrapped = value & ((1 << bits) - 1)
        return bigint(wrapped - (1 << bits) if bits and wrapped >> (bits - 1) else wrapped)

    @staticmethod
    def asUintN(bits: int, value: int) -> int:
        return bigint(value & ((1 << bits) - 1))


def _integer(value: Any) -> int:
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        if not value.is_integer():
            raise RangeError(
                f"The number {to_string(value)} cannot be converted to a BigInt because it is not an integer"
            )
        return int(value)
    if not isinstance(value, str):
        if type_of(value) == "object" and isinstance(number := to_number(value), int):
            return number
        raise TypeError_(f"Cannot convert {to_string(value)} to a BigInt")
    text = value.strip(WHITE_SPACE)
    prefixed = text[:2].lower() in ("0x", "0o", "0b")
    try:
        if "_" in text or not text.isascii():
            raise ValueError(text)
        return int(text, 0) if prefixed else int(text or "0")
    except ValueError:
        raise SyntaxError_(f"Cannot convert {value} to a BigInt") from None
