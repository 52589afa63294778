"""How arguments of Web APIs are read: Web IDL's conversions for values that may come from Python or JavaScript.

Source: https://webidl.spec.whatwg.org/#js-type-mapping
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from . import semantics
from .error import TypeError_
from .number import to_number, to_string
from .value import JsObject, JsProxy, get_property, js_class_name, jsnull, own_items

__all__ = [
    "encode_text",
    "function",
    "integer",
    "null",
    "pairs",
    "scalar_text",
    "text",
    "wrong_construction",
    "wrong_type",
]

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_NO_SEQUENCE: Final = "Incorrect type: the provided value is not of type 'Sequence'."
_MAPPING_NOTE: Final = (
    "JavaScript walks over a mapping of Python's by its keys. Pass its items(), or "
    "to_js({...}, dict_converter=Object.fromEntries)."
)


def null() -> Any:
    """JavaScript's null as the running worker receives it from a call: None in the oldest runtime version."""
    return None if semantics.current().null_is_none else jsnull


def text(value: Any) -> str:
    """``DOMString``: JavaScript's ``String(value)``."""
    if type(value) is str:
        return value
    return to_string(value)


def scalar_text(value: Any) -> str:
    """``USVString``: text in which surrogate halves are joined into characters or replaced by U+FFFD."""
    string = value if type(value) is str else text(value)
    if string.isascii() or _SURROGATE.search(string) is None:
        return string
    return string.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def encode_text(string: str) -> bytes:
    """UTF-8 as the Encoding Standard encodes it: lone surrogates become U+FFFD."""
    try:
        return string.encode()
    except UnicodeEncodeError:
        return scalar_text(string).encode()


def integer(value: Any, default: int = 0) -> int:
    """A number argument cut to an integer; absent and not-a-number give the default."""
    if type(value) is int:
        return value
    if value is None:
        return default
    number = to_number(value)
    if number != number:
        return 0
    if number in (float("inf"), float("-inf")):
        return 2**53 - 1 if number > 0 else -(2**53 - 1)
    return int(number)


def function(holder: Any, name: str, what: str) -> Any:
    """An optional callback member of a dictionary, None when absent.

    Raises: TypeError when it is there and cannot be called; ``what`` names the dictionary in the text.
    """
    found = get_property(holder, name)
    if found is None:
        return None
    if not callable(found):
        raise TypeError_(f"The '{name}' property of {what} is not a function.")
    return found


def pairs(value: Any, unequal: str) -> Iterator[tuple[Any, Any]]:
    """The entries of a ``sequence<sequence<T>>`` or ``record<K, V>`` argument.

    A mapping of Python's is a walk over its keys, as it is for JavaScript, and no record.

    Args: ``unequal`` the text of the TypeError for an inner sequence that has not exactly two items.
    Raises: TypeError for an item that is no sequence.
    """
    if js_class_name(value) == "PyProxy":
        value = value.unwrap()
    if isinstance(value, JsObject):
        yield from list(value.__dict__.items())
    elif getattr(type(value), "_iterates_entries", False):
        yield from list(value.entries())
    elif callable(items := getattr(value, "items", None)) and (
        # Map, whose own iteration in Python gives keys only.
        isinstance(value, JsProxy) or semantics.current().dicts_are_opaque
    ):
        yield from list(items())
    elif isinstance(value, Iterable):
        for item in value:
            if type(item) is tuple and len(item) == 2:
                yield item
                continue
            entry = _sequence(item, value)
            if len(entry) != 2:
                raise TypeError_(unequal)
            yield entry[0], entry[1]
    elif isinstance(value, JsProxy):
        yield from own_items(value)
    else:
        raise TypeError_(unequal)


def _sequence(item: Any, outer: Any) -> list[Any]:
    """An inner sequence. Raises: TypeError for a string and for what cannot be walked over."""
    if not isinstance(item, str):
        try:
            return list(item)
        except TypeError:
            pass
    error = TypeError_(_NO_SEQUENCE)
    if callable(getattr(outer, "items", None)):
        error.add_note(_MAPPING_NOTE)
    raise error


def wrong_type(method: str, interface: str, position: int, wanted: str) -> TypeError_:
    """The error of an argument that is missing or of a wrong type; ``position`` counts from 1."""
    return TypeError_(
        f"Failed to execute '{method}' on '{interface}': parameter {position} is not of type '{wanted}'."
    )


def wrong_construction(interface: str, position: int, wanted: str) -> TypeError_:
    """The same for an argument of ``new``."""
    return TypeError_(
        f"Failed to construct '{interface}': constructor parameter {position} is not of type '{wanted}'."
    )
