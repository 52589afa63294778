"""Values as the console shows them: JavaScript literals, cut at a depth and a length.

Source: https://console.spec.whatwg.org/#formatter and workerd ``src/node/internal/internal_inspect.ts``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, Final

from .error import JsException
from .inspect_fields import shown_fields
from .value import (
    JsClass,
    JsInstance,
    JsObject,
    JsProxy,
    js_class_name,
    jsnull,
    own_items,
    type_of,
)
from .webidl import text

__all__ = ["format_arguments", "inspect"]

_DEPTH: Final = 3
_ITEMS: Final = 100
#: A line has 80 characters; the runtime keeps ten of them free, and counts the brackets' spaces.
_LINE: Final = 68
_NAME: Final = re.compile(r"[A-Za-z_$][\w$]*")
_DIRECTIVE: Final = re.compile("%[sdifjoOc%]")


def format_arguments(args: tuple[Any, ...]) -> str:
    """One line of console output: ``%`` directives of a first string filled in, the rest separated by spaces."""
    if not args:
        return ""
    rest = list(args)
    parts: list[str] = []
    if isinstance(rest[0], str):
        template = rest.pop(0)
        parts.append(_filled(template, rest) if rest and "%" in template else template)
    parts += [value if isinstance(value, str) else inspect(value) for value in rest]
    return " ".join(parts)


def _filled(template: str, rest: list[Any]) -> str:
    def fill(found: re.Match[str]) -> str:
        directive = found[0]
        if directive == "%%":
            return "%"
        if not rest:
            return directive
        value = rest.pop(0)
        match directive:
            case "%s":
                return value if isinstance(value, str) else inspect(value, depth=1)
            case "%d" | "%i" | "%f":
                return _number(value, directive)
            case "%j":
                from .json import JSON

                return text(JSON.stringify(value))
            case "%c":
                return ""
        return inspect(value)

    return _DIRECTIVE.sub(fill, template)


def _number(value: Any, directive: str) -> str:
    from .number import to_number

    if isinstance(value, JsProxy):
        return "NaN"
    number = to_number(value)
    if directive == "%i" and number == number and abs(number) != float("inf"):
        number = int(number)
    return text(number)


def inspect(value: Any, depth: int = _DEPTH) -> str:
    """The value as text. Strings are quoted; Python's own objects show their ``repr``."""
    return _show(value, depth, [], 0)


def _show(value: Any, depth: int, outer: list[Any], indent: int) -> str:
    """``indent`` is by how many spaces the lines of the value will be shifted, which makes them shorter."""
    if isinstance(value, str):
        return _quoted(value)
    if value is jsnull:
        return "null"
    if value is None or isinstance(value, bool | int | float):
        return _primitive(value)
    if isinstance(value, BaseException):
        return _error(value)
    if isinstance(value, JsClass):
        return f"[class {value.name}]"
    if isinstance(value, JsInstance) and value.typeof == "function":
        return f"[Function: {getattr(value, 'name', '')}]"
    if not isinstance(value, JsProxy):
        return repr(value)
    if any(value is held for held in outer):
        return "[Circular *1]"
    return _structure(value, depth, [*outer, value], indent)


def _primitive(value: Any) -> str:
    if type(value) is float and value == 0 and math.copysign(1, value) < 0:
        return "-0"
    return text(value) + ("n" if type_of(value) == "bigint" else "")


def _structure(value: Any, depth: int, outer: list[Any], indent: int) -> str:
    name = js_class_name(value) or "Object"
    if name == "Date":
        return text(value) if math.isnan(value.getTime()) else value.toISOString()
    if depth <= 0:
        return _below(value, name)
    buffer = hasattr(value, "byteLength")
    plain = isinstance(value, JsObject) or not isinstance(value, JsInstance)
    # The lines of the platform's own objects are broken as if nothing stood around them.
    if not (plain or buffer):
        indent = 0

    def item(inner: Any) -> str:
        return _show(inner, depth - 1, outer, indent + 2)

    if name == "Array":
        return _bracketed("[", map(item, value), "]", indent, len(value))
    if name in ("Map", "LiteralMap"):
        pairs = (f"{item(key)} => {item(held)}" for key, held in list(value.items()))
        return _bracketed(f"Map({len(value)}) {{", pairs, "}", indent, len(value))
    if name == "Set":
        return _bracketed(f"Set({len(value)}) {{", map(item, value), "}", indent, len(value))
    if buffer:
        return _buffer(value, name, item, indent)
    if plain:
        fields = (f"{_key(key)}: {item(held)}" for key, held in own_items(value))
        return _bracketed("{", fields, "}", indent)
    return _instance(value, name, item)


def _below(value: Any, name: str) -> str:
    """What stands for a value that is too deep inside: its class, and an empty one itself."""
    if name == "Array" and not len(value):
        return "[]"
    if isinstance(value, JsObject) and not value.__dict__:
        return "{}"
    return f"[{name}]"


def _instance(value: Any, name: str, item: Callable[[Any], str]) -> str:
    fields = (f"{key}: {item(held)}" for key, held in shown_fields(value, name))
    if name not in ("Headers", "URLSearchParams", "FormData"):
        return f"{name} " + _bracketed("{", fields, "}")
    entries = list(value.entries())
    pairs = (f"{item(key)} => {item(held)}" for key, held in entries)
    shown = _bracketed(f"Object({len(entries)}) {{", chain(pairs, fields), "}")
    return name + shown.removeprefix("Object")


def _buffer(value: Any, name: str, item: Callable[[Any], str], indent: int) -> str:
    if name == "ArrayBuffer":
        content = value._view()
        shown = bytes(content[:_ITEMS]).hex(" ")
        if (left := len(content) - _ITEMS) > 0:
            shown += f" ... {left} more byte{'s' if left > 1 else ''}"
        fields = [f"[Uint8Contents]: <{shown}>", f"byteLength: {len(content)}"]
        return _bracketed("ArrayBuffer {", fields, "}", indent)
    if name == "DataView":
        kept = ("byteLength", "byteOffset", "buffer")
        views = (f"{key}: {item(getattr(value, key))}" for key in kept)
        return _bracketed("DataView {", views, "}", indent)
    length = len(value)
    return _bracketed(f"{name}({length}) [", map(item, value), "]", indent, length)


def _bracketed(
    start: str, items: Iterable[str], end: str, indent: int = 0, size: int | None = None
) -> str:
    shown: list[str] = []
    for count, each in enumerate(items):
        if count == _ITEMS:
            left = "" if size is None else f"{size - _ITEMS} "
            shown.append(f"... {left}more items")
            break
        shown.append(each)
    if not shown:
        return start + end
    line = ", ".join(shown)
    if len(line) + indent + len(start) <= _LINE and "\n" not in line:
        return f"{start} {line} {end}"
    inner = ",\n".join("  " + each.replace("\n", "\n  ") for each in shown)
    return f"{start}\n{inner}\n{end}"


def _error(error: BaseException) -> str:
    import traceback

    if isinstance(error, JsException):
        place = "".join(traceback.format_tb(error.__traceback__)).rstrip()
        return f"{error}\n{place}" if place else str(error)
    return "".join(traceback.format_exception(error)).rstrip()


def _key(key: str) -> str:
    return key if _NAME.fullmatch(key) is not None else _quoted(key)


def _quoted(string: str) -> str:
    mark = "'" if "'" not in string else '"' if '"' not in string else "`"
    escaped = (
        string.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    )
    return mark + escaped.replace(mark, "\\" + mark) + mark
