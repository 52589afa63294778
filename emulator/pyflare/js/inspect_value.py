"""Values as the console shows them: JavaScript literals, cut at a depth and a length.

Source: https://console.spec.whatwg.org/#formatter and the output of the local development tools.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from .error import JsException
from .value import JsClass, JsInstance, JsObject, JsProxy, js_class_name, jsnull, own_items
from .webidl import text

__all__ = ["format_arguments", "inspect"]

_DEPTH: Final = 3
_ITEMS: Final = 100
_LINE: Final = 76
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
    return _show(value, depth, [])


def _show(value: Any, depth: int, outer: list[Any]) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if value is jsnull:
        return "null"
    if value is None or isinstance(value, bool | int | float):
        return text(value)
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
    return _structure(value, depth, [*outer, value])


def _structure(value: JsProxy, depth: int, outer: list[Any]) -> str:
    name = js_class_name(value) or "Object"

    def item(inner: Any) -> str:
        return _show(inner, depth - 1, outer)

    if name == "Date":
        return text(value)
    if depth <= 0:
        return f"[{name}]"
    if name == "Array":
        return _bracketed("[", map(item, value), "]", len(value))  # type: ignore[call-overload, arg-type]
    if name in ("Map", "LiteralMap"):
        pairs = (f"{item(key)} => {item(held)}" for key, held in list(value.items()))  # type: ignore[attr-defined]
        return f"Map({len(value)}) " + _bracketed("{", pairs, "}", len(value))  # type: ignore[arg-type]
    if name == "Set":
        return f"Set({len(value)}) " + _bracketed("{", map(item, value), "}", len(value))  # type: ignore
    if hasattr(value, "byteLength"):
        return _buffer(value, name)
    if isinstance(value, JsObject) or not isinstance(value, JsInstance):
        fields = (f"{_key(key)}: {item(held)}" for key, held in own_items(value))
        return _bracketed("{", fields, "}")
    return _instance(value, name, item)


def _instance(value: Any, name: str, item: Any) -> str:
    if name == "URL":
        return f"URL {{ {_quoted(value.href)} }}"
    if name in ("Headers", "URLSearchParams", "FormData"):
        pairs = (f"{item(key)} => {item(held)}" for key, held in value.entries())
        return f"{name} " + _bracketed("{", pairs, "}")
    shown = _SHOWN.get(name)
    own = own_items(value) if shown is None else ((key, getattr(value, key)) for key in shown)
    fields = (f"{_key(key)}: {item(held)}" for key, held in own)
    return f"{name} " + _bracketed("{", fields, "}")


_SHOWN: Final[dict[str, tuple[str, ...]]] = {
    "Request": ("method", "url", "headers"),
    "Response": ("status", "statusText", "headers", "ok", "bodyUsed"),
    "Blob": ("size", "type"),
    "File": ("name", "size", "type"),
    "ReadableStream": ("locked",),
    "WritableStream": ("locked",),
    "DigestStream": ("locked", "bytesWritten"),
    "CryptoKey": ("type", "extractable", "algorithm", "usages"),
}


def _buffer(value: Any, name: str) -> str:
    if name in ("ArrayBuffer", "DataView"):
        return f"{name} {{ byteLength: {value.byteLength} }}"
    length = len(value)
    return f"{name}({length}) " + _bracketed("[", map(text, value), "]", length)


def _bracketed(start: str, items: Iterable[str], end: str, size: int | None = None) -> str:
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
    if len(line) <= _LINE and "\n" not in line:
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
