"""``js.JSON``: text to JavaScript values and back.

Both ways run on the standard library's C code where its result is JavaScript's; what differs (undefined, exact number
forms, ``toJSON``, replacers, error texts) takes the slower way.

Source: https://tc39.es/ecma262/#sec-json-object
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterable
from json.encoder import encode_basestring
from typing import Any, Final

from . import semantics
from .array import JsArray
from .bigint import is_bigint
from .error import Error, TypeError_
from .number import Number, format_number, from_float, to_integer, to_number, to_string
from .promise import DESTROYED
from .proxy import JsDoubleProxy
from .string import Boolean, String
from .value import (
    MAX_SAFE_INTEGER,
    JsInstance,
    JsNull,
    JsObject,
    JsProxy,
    get_property,
    jsnull,
    own_items,
    with_indices_first,
)

__all__ = ["JSON", "parse", "stringify"]

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


# Parsing.


def parse(text: Any = None, reviver: Any = None) -> Any:
    """``JSON.parse``: objects as plain JavaScript objects, arrays as arrays, null as ``jsnull``.

    Raises: SyntaxError for a text that is no JSON.
    """
    source = text if type(text) is str else to_string(text)
    try:
        value = _adopt(_decode(source))
    except (ValueError, RecursionError):
        from .json_errors import syntax_error

        raise syntax_error(source) from None
    if callable(reviver):
        value = _revive(JsObject.adopt({"": value}), "", value, reviver)
    return None if value is jsnull and semantics.current().null_is_none else value


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


_decode: Callable[[str], Any] = json.JSONDecoder(parse_constant=_refuse_constant).decode


def _adopt(value: Any) -> Any:
    """What the standard library parsed as JavaScript values, in place."""
    kind = type(value)
    if kind is str or kind is bool:
        return value
    if kind is dict:
        for key, item in value.items():
            if type(item) is not str:
                value[key] = _adopt(item)
        if value and any("0" <= key[:1] <= "9" for key in value):
            value = with_indices_first(value)
        return JsObject.adopt(value)
    if kind is list:
        value[:] = [item if type(item) is str else _adopt(item) for item in value]
        return JsArray.adopt(value)
    if value is None:
        return jsnull
    if kind is int:
        return value if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER else _to_float(value)
    return from_float(value)


def _to_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _revive(holder: Any, key: str, value: Any, reviver: Callable[..., Any]) -> Any:
    if isinstance(value, JsArray):
        value._list[:] = [
            _revive(value, str(index), item, reviver) for index, item in enumerate(list(value))
        ]
    elif isinstance(value, JsObject):
        for name, item in list(value.__dict__.items()):
            revived = _revive(value, name, item, reviver)
            if revived is None:
                value.__dict__.pop(name, None)
            else:
                value.__dict__[name] = revived
    return reviver(key, value)


# Writing.


def _plain(value: Any) -> Any:
    """For the C encoder: the Python container behind a JavaScript one."""
    kind = type(value)
    if kind is JsObject:
        return value.__dict__
    if kind is JsArray:
        return value._list
    if value is jsnull:
        return None
    raise TypeError(value)


_encode_plainly: Callable[[Any], str] = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), default=_plain
).encode


def _is_plain(value: Any) -> bool:
    """Whether the C encoder writes this as JavaScript would."""
    kind = type(value)
    items: Iterable[Any]
    if kind is str:
        return bool(value.isascii()) or _SURROGATE.search(value) is None
    if kind is int:
        return bool(-MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER)
    if kind is bool or kind is JsNull:
        return True
    if kind is float:
        # Python's `repr` is JavaScript's form where neither uses an exponent and there is a fraction.
        return not value.is_integer() and 1e-4 <= abs(value) < 1e15
    if kind is JsObject:
        properties = value.__dict__
        if "toJSON" in properties or (properties and min(properties) < ":"):
            return False
        for key in properties:
            if not key.isascii():
                return False
        items = properties.values()
    elif kind is JsArray:
        items = value._list
    else:
        return False
    for item in items:
        kind = type(item)
        if kind is bool or (kind is str and item.isascii()):
            continue
        if not _is_plain(item):
            return False
    return True


def stringify(value: Any = None, replacer: Any = None, space: Any = None) -> Any:
    """``JSON.stringify``: text, or ``None`` (undefined) for what has no JSON form.

    Python dicts, lists and tuples are written like the objects and arrays they stand for.
    Raises: TypeError for a cycle and for a bigint, Error for a Python list with anything but plain values in it.
    """
    if replacer is None and not space:
        try:
            if _is_plain(value):
                return _encode_plainly(value)
        except (RecursionError, ValueError):
            pass  # A cycle: the writer below reports it in JavaScript's words.
    return _Writer(replacer, space).write(value)


class _Writer:
    """The standard's SerializeJSONProperty and its kin."""

    def __init__(self, replacer: Any, space: Any) -> None:
        self._function = replacer if callable(replacer) else None
        self._allowed: list[str] | None = None
        if self._function is None and isinstance(replacer, JsArray):
            names = (_unboxed(item) for item in replacer)
            self._allowed = list(
                dict.fromkeys(
                    to_string(name)
                    for name in names
                    if isinstance(name, str | int | float) and not isinstance(name, bool)
                )
            )
        self._gap = _gap(space)
        self._stack: list[Any] = []

    def write(self, value: Any) -> Any:
        return self._property("", value, {"": value} if self._function else None, "")

    def _property(self, key: str, value: Any, holder: Any, indent: str) -> str | None:
        if (to_json := _to_json(value)) is not None:
            value = to_json(key)
        if self._function is not None:
            value = self._function(key, value)
        value = _unboxed(value)
        if value is None:
            return None
        if isinstance(value, str):
            return _quoted(value)
        if value is True or value is False:
            return "true" if value else "false"
        if value is jsnull:
            return "null"
        if isinstance(value, int):
            if is_bigint(value):
                raise TypeError_("Do not know how to serialize a BigInt")
            return str(int(value))
        if isinstance(value, float):
            text = format_number(value)
            return "null" if text in ("NaN", "Infinity", "-Infinity") else text
        if isinstance(value, JsArray | list | tuple):
            return self._container(value, indent, self._items, "[]")
        if _is_function_or_symbol(value):
            return None
        if isinstance(value, bytes | bytearray | deque):
            return self._container(value, indent, self._items, "[]")
        return self._container(value, indent, self._members, "{}")

    def _container(
        self, value: Any, indent: str, write: Callable[[Any, str], list[str]], ends: str
    ) -> str:
        if any(value is outer for outer in self._stack):
            raise TypeError_(_cycle_text(self._stack, value))
        self._stack.append(value)
        inner = indent + self._gap
        parts = write(value, inner)
        self._stack.pop()
        if not parts:
            return ends
        if not self._gap:
            return ends[0] + ",".join(parts) + ends[1]
        return f"{ends[0]}\n{inner}" + f",\n{inner}".join(parts) + f"\n{indent}{ends[1]}"

    def _items(self, value: Any, indent: str) -> list[str]:
        if not isinstance(value, JsArray):
            _check_borrowed(value)
        return [
            self._property(str(index), item, value, indent) or "null"
            for index, item in enumerate(value)
        ]

    def _members(self, value: Any, indent: str) -> list[str]:
        if self._allowed is None:
            members = list(own_items(value))
        else:
            own = dict(own_items(value))
            members = [(name, own[name]) for name in self._allowed if name in own]
        parts = []
        for name, item in members:
            text = self._property(name, item, value, indent)
            if text is not None:
                parts.append(f"{_quoted(name)}:{' ' if self._gap else ''}{text}")
        return parts


def _check_borrowed(items: Iterable[Any]) -> None:
    """JavaScript makes an array of a Python sequence before it writes it, and the objects in it are gone by then.

    Raises: Error when one of them is no plain value and has no life of its own.
    """
    if semantics.current().dicts_are_opaque:
        return
    for item in items:
        if item is None or isinstance(item, str | int | float | JsProxy | JsNull):
            continue
        if getattr(item, "_native", False):
            continue
        error = Error(DESTROYED)
        error.add_note(
            f"A {type(item).__name__} in a {type(items).__name__} cannot be written: convert the whole first, with "
            "to_js(value, dict_converter=Object.fromEntries), or write it with json.dumps(value)."
        )
        raise error


def _gap(space: Any) -> str:
    space = _unboxed(space)
    if isinstance(space, str):
        return space[:10]
    if isinstance(space, int | float) and not isinstance(space, bool):
        return " " * int(min(10, max(0, to_integer(space))))
    return ""


def _to_json(value: Any) -> Any:
    if isinstance(value, type):
        return None
    if isinstance(value, JsProxy) or not (
        value is None or isinstance(value, str | int | float | dict | list | tuple)
    ):
        found = getattr(value, "toJSON", None)
    elif isinstance(value, dict):
        found = get_property(value, "toJSON")
    else:
        return None
    return found if callable(found) else None


def _unboxed(value: Any) -> Any:
    if isinstance(value, Number):
        return to_number(value)
    if isinstance(value, String | Boolean):
        return value.valueOf()
    if isinstance(value, JsDoubleProxy):
        return value.unwrap()
    return value


def _is_function_or_symbol(value: Any) -> bool:
    if isinstance(value, JsProxy):
        return value.typeof in ("function", "symbol")
    return callable(value)


def _quoted(text: str) -> str:
    quoted = encode_basestring(text)
    if text.isascii() or _SURROGATE.search(text) is None:
        return quoted
    joined = quoted.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return _SURROGATE.sub(lambda found: f"\\u{ord(found.group()):04x}", joined)


def _cycle_text(stack: list[Any], value: Any) -> str:
    start = next(index for index, outer in enumerate(stack) if outer is value)
    chain = stack[start:]
    names = []
    for position, outer in enumerate(chain):
        target = chain[position + 1] if position + 1 < len(chain) else value
        key = next((name for name, item in own_items(outer) if item is target), "...")
        indexed = isinstance(outer, JsArray | list | tuple)
        names.append(f"index {key}" if indexed else f"property '{key}'")
    kinds = [_constructor_name(outer) for outer in chain]
    lines = [
        f"Converting circular structure to JSON\n    --> starting at object with constructor '{kinds[0]}'"
    ]
    if len(chain) == 1:
        lines.append(f"    --- {names[0]} closes the circle")
    else:
        lines.append(f"    |     {names[0]} -> object with constructor '{kinds[1]}'")
        if len(chain) > 3:
            lines.append("    |     ...")
        if len(chain) > 2:
            lines.append(f"    |     {names[-2]} -> object with constructor '{kinds[-1]}'")
        lines.append(f"    --- {names[-1]} closes the circle")
    return "\n".join(lines)


def _constructor_name(value: Any) -> str:
    if isinstance(value, JsProxy):
        return str(value.constructor.name)
    return "Array" if isinstance(value, list | tuple) else "Object"


class JSONNamespace(JsInstance, js_name="Object"):
    """The object ``JSON``."""

    _tag = "JSON"
    parse = staticmethod(parse)
    stringify = staticmethod(stringify)


JSON = JSONNamespace._make()
