"""Arguments and options of bindings, converted as the platform converts those of its native methods.

A native method declares a type for each parameter, and a struct with a type for each field of its options. Only
undefined is an absent field or optional argument; null is a value like any other, which most types coerce (to 0, to
"null") or refuse. An argument that is not there at all is refused where its parameter is required.

Source: workerd ``src/workerd/jsg/value.h``, ``struct.h``, ``type-wrapper.h`` and ``util.c++``
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from pyflare.js import semantics
from pyflare.js.array import JsArray
from pyflare.js.date import Date
from pyflare.js.error import Error, JsException, TypeError_
from pyflare.js.number import to_number
from pyflare.js.proxy import JsDoubleProxy
from pyflare.js.value import (
    MAX_SAFE_INTEGER,
    JsObject,
    JsProxy,
    is_nullish,
    jsnull,
    own_items,
)
from pyflare.js.webidl import scalar_text, text

__all__ = [
    "BOOLEAN",
    "DATE",
    "INTEGER",
    "MISMATCH",
    "MISSING",
    "NUMBER",
    "STRING",
    "TEXT",
    "TEXTS_BY_NAME",
    "UNIMPLEMENTED",
    "Convertible",
    "Parameter",
    "Struct",
    "Type",
    "array_of",
    "folded",
    "nullable",
    "one_of",
    "struct_object",
]

#: The default of a parameter: the caller gave no argument, which is not the same as undefined.
MISSING: Final = object()

#: What a conversion gives for a value that is not of its type.
MISMATCH: Final = object()

_INT32_LEAST: Final = -(2**31)
_INT32_MOST: Final = 2**31 - 1
#: Dates are kept in 64 bits of nanoseconds.
_DATE_BOUND: Final = float(2**63)


class Convertible(Protocol):
    """A type of arguments and fields. ``convert`` may raise for a value of the type that is out of its range."""

    @property
    def name(self) -> str:
        """What error texts call it."""

    def convert(self, given: Any) -> Any:
        """The value as Python code takes it, MISMATCH for one of another type."""


@dataclass(frozen=True, slots=True)
class Type:
    """A type by its name and its conversion."""

    name: str
    convert: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a native method; ``number`` counts from 1."""

    interface: str
    method: str
    number: int
    type: Convertible

    def read(self, given: Any) -> Any:
        """Convert a required argument. Raises: TypeError for one that is missing or of another type."""
        converted = MISMATCH if given is MISSING else self.type.convert(given)
        if converted is MISMATCH:
            raise self.refusal()
        return converted

    def refusal(self) -> TypeError_:
        """The error of an argument that is missing or of another type."""
        return TypeError_(
            f"Failed to execute '{self.method}' on '{self.interface}': "
            f"parameter {self.number} is not of type '{self.type.name}'."
        )


class Struct:
    """The type of an options object.

    ``convert`` gives the fields that are there, by name and converted in their order; null is an object without any.
    With ``native_name``, which an error text shows, all fields are required: undefined is converted as well.
    """

    __slots__ = ("_fields", "_native_name", "name")

    def __init__(
        self, name: str, fields: Mapping[str, Convertible], native_name: str | None = None
    ) -> None:
        self.name = name
        self._fields = tuple(fields.items())
        self._native_name = native_name

    def convert(self, given: Any) -> Any:
        """Raises: TypeError for a field of a wrong type, Error for one that the platform does not implement."""
        if is_nullish(given):
            if self._native_name is None:
                return {}
            raise TypeError_(
                f"Cannot initialize {self._native_name} with required members from an undefined or null value."
            )
        if not _is_object(given):
            return MISMATCH
        found = {}
        required = self._native_name is not None
        # What :func:`get_property` does, without a call for each field.
        keyed = isinstance(given, dict)
        for name, kind in self._fields:
            value = given.get(name) if keyed else getattr(given, name, None)
            if value is None and not required:
                continue
            converted = kind.convert(value)
            if converted is MISMATCH:
                raise self._refusal(name, kind)
            found[name] = converted
        return found

    def _refusal(self, name: str, kind: Convertible) -> JsException:
        if kind is UNIMPLEMENTED:
            return Error(f"The '{name}' field on '{self.name}' is not implemented.")
        return TypeError_(
            f"Incorrect type for the '{name}' field on '{self.name}': "
            f"the provided value is not of type '{kind.name}'."
        )


def array_of(element: Convertible) -> Type:
    """An array; Python's own sequences count as arrays too."""

    def convert(given: Any) -> Any:
        if not isinstance(given, JsArray | list | tuple):
            return MISMATCH
        items = []
        for index, item in enumerate(given):
            converted = element.convert(item)
            if converted is MISMATCH:
                raise TypeError_(
                    f"Incorrect type for array element {index}: "
                    f"the provided value is not of type '{element.name}'."
                )
            items.append(converted)
        return items

    return Type("Array", convert)


def nullable(kind: Convertible) -> Type:
    """The type or null, for which ``convert`` gives None."""
    return Type(kind.name, lambda given: None if is_nullish(given) else kind.convert(given))


def one_of(*kinds: Convertible, name: str | None = None) -> Type:
    """A union. What takes any value by coercing it comes last; ``name`` is for one that is declared otherwise."""

    def convert(given: Any) -> Any:
        for kind in kinds:
            converted = kind.convert(given)
            if converted is not MISMATCH:
                return converted
        return MISMATCH

    return Type(name or " or ".join(kind.name for kind in kinds), convert)


def folded(given: Any, named: dict[str, Any]) -> Any:
    """The last argument of a call, undefined when there is none: keyword arguments are one object in its place."""
    if given is not MISSING:
        return given
    return JsObject.adopt(named) if named else None


def struct_object(fields: dict[str, Any]) -> JsObject:
    """A struct that a native method gives; None stands for a field that is unset.

    Before ``enable_fast_jsg_struct`` an unset field is not there, and since then it is there as undefined.
    """
    if None in fields.values() and semantics.current().unset_fields_are_absent:
        fields = {name: value for name, value in fields.items() if value is not None}
    return JsObject.adopt(fields)


def _is_object(given: Any) -> bool:
    return given is not None and given is not jsnull and not isinstance(given, str | int | float)


def _string(given: Any) -> Any:
    return scalar_text(given) if isinstance(given, str) else MISMATCH


def _number(given: Any) -> int | float:
    if isinstance(given, int) and not -MAX_SAFE_INTEGER <= given <= MAX_SAFE_INTEGER:
        raise TypeError_("Cannot convert a BigInt value to a number")
    return to_number(given)


def _integer(given: Any) -> int:
    number = given if type(given) is int and abs(given) <= _INT32_MOST else _number(given)
    if number != number or number in (float("inf"), float("-inf")):
        return 0
    if not _INT32_LEAST <= number <= _INT32_MOST:
        raise TypeError_(
            f"Value out of range. Must be between {_INT32_LEAST} and {_INT32_MOST} (inclusive)."
        )
    return int(number)


def _boolean(given: Any) -> bool:
    return _is_object(given) or bool(given == given and given)


def _date(given: Any) -> Any:
    """Whole milliseconds since the epoch."""
    milliseconds: int | float
    if isinstance(given, Date):
        milliseconds = given.getTime()
    elif isinstance(given, datetime.datetime):
        milliseconds = Date.from_datetime(given).getTime()
    elif isinstance(given, int | float) and not isinstance(given, bool):
        milliseconds = given
    else:
        return MISMATCH
    if milliseconds != milliseconds or milliseconds in (float("inf"), float("-inf")):
        raise TypeError_("The value cannot be converted because it is not a valid Date.")
    nanoseconds = float(milliseconds) * 1_000_000
    if nanoseconds >= _DATE_BOUND:
        raise TypeError_("This API doesn't support dates after 2189.")
    if nanoseconds <= -_DATE_BOUND:
        raise TypeError_("This API doesn't support dates before 1687.")
    return int(milliseconds)


def _texts_by_name(given: Any) -> Any:
    # Production takes any other Python object for one without properties: the texts would be lost in silence.
    if not isinstance(given, JsProxy | dict) or isinstance(given, JsArray | JsDoubleProxy):
        return MISMATCH
    entries = given.items() if isinstance(given, dict) else own_items(given)
    return {text(name): scalar_text(value) for name, value in entries}


#: A string; any other value is made one.
TEXT: Final = Type("string", scalar_text)
#: A string and nothing else.
STRING: Final = Type("string", _string)
#: A signed integer of 32 bits; fractions are cut off, what is no finite number is 0.
INTEGER: Final = Type("integer", _integer)
NUMBER: Final = Type("number", _number)
BOOLEAN: Final = Type("boolean", _boolean)
DATE: Final = Type("date", _date)
#: An object as names and texts.
TEXTS_BY_NAME: Final = Type("object", _texts_by_name)
#: A field that the platform knows of and does not implement.
UNIMPLEMENTED: Final = Type("", lambda _given: MISMATCH)
