"""``JsProxy.to_py``: JavaScript values as native Python values, deeply.

Arrays become lists, maps and plain objects dicts, sets sets, buffers memoryviews of a copy; instances of other classes
are the default converter's or stay what they are. The SDK converts every result of a binding call this way, so objects
and arrays of plain values are copied at C speed.

Source: https://pyodide.org/en/stable/usage/api/python-api/ffi.html#pyodide.ffi.JsProxy.to_py
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from . import semantics
from .array import JsArray
from .array_buffer import JsBuffer
from .collections import JsMap, JsSet
from .error import Error
from .number import to_string
from .value import DefaultConverter, JsNull, JsObject, JsProxy, jsnull

__all__ = ["to_python"]

_UNCHANGED: Final = frozenset({str, int, float, bool, type(None), JsNull})


def _is_flat(items: Iterable[Any]) -> bool:
    """Whether nothing in a container needs a conversion of its own."""
    return _UNCHANGED.issuperset(map(type, items))


def to_python(
    value: Any, *, depth: int = -1, default_converter: DefaultConverter | None = None
) -> Any:
    """Convert a JavaScript value.

    Args: ``depth`` how many levels of containers are converted, -1 all; ``default_converter(value, convert, cache)`` is
    asked for instances of classes without a Python twin.
    Raises: JsException for a map or set whose members cannot be keys in Python.
    """
    null_is_none = semantics.current().null_is_none
    kind = type(value)
    if kind is JsObject and not null_is_none and _is_flat(value.__dict__.values()):
        return dict(value.__dict__) if depth else value
    if kind in _UNCHANGED:
        return None if null_is_none and value is jsnull else value
    return _Conversion(default_converter, null_is_none).convert(value, depth)


class _Conversion:
    """One call of :func:`to_python`: the converter, and what has been converted already."""

    __slots__ = ("default_converter", "done", "null_is_none", "unchanged")

    def __init__(self, default_converter: DefaultConverter | None, null_is_none: bool) -> None:
        self.default_converter = default_converter
        self.null_is_none = null_is_none
        self.unchanged = _UNCHANGED - {JsNull} if null_is_none else _UNCHANGED
        #: id of a JavaScript object -> what it became.
        self.done: dict[int, Any] = {}

    def convert(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind in self.unchanged:
            return value
        if value is jsnull:
            return None
        done = self.done
        identity = id(value)
        if identity in done:
            return done[identity]
        if depth == 0 or not isinstance(value, JsProxy):
            return value
        unchanged, convert, depth = self.unchanged, self.convert, depth - 1
        if kind is JsObject:
            properties = dict(value.__dict__)
            done[identity] = properties
            if not unchanged.issuperset(map(type, properties.values())):
                for key, item in properties.items():
                    if type(item) not in unchanged:
                        properties[key] = convert(item, depth)
            return properties
        if isinstance(value, JsArray):
            items = value._list[:]
            done[identity] = items
            if not unchanged.issuperset(map(type, items)):
                for index, item in enumerate(items):
                    kind = type(item)
                    if kind in unchanged:
                        continue
                    if kind is JsObject and depth and (identity := id(item)) not in done:
                        # Rows of a result: flat objects in an array.
                        properties = item.__dict__
                        if unchanged.issuperset(map(type, properties.values())):
                            items[index] = done[identity] = dict(properties)
                            continue
                    items[index] = convert(item, depth)
            return items
        if isinstance(value, JsMap):
            return self._map(value, depth)
        if isinstance(value, JsSet):
            return self._set(value, depth)
        if isinstance(value, JsBuffer):
            view = done[identity] = value.to_memoryview()
            return view
        return self._other(value, depth + 1)

    def _map(self, value: JsMap, depth: int) -> dict[Any, Any]:
        entries: dict[Any, Any] = {}
        self.done[id(value)] = entries
        _refuse_one_and_true(value, "Map", "keys")
        for key, item in value.items():
            entries[_key(key, "dict")] = self.convert(item, depth)
        return entries

    def _set(self, value: JsSet, depth: int) -> set[Any]:
        _refuse_one_and_true(value, "Set", "elements")
        members: set[Any] = {_key(item, "set") for item in value}
        self.done[id(value)] = members
        return members

    def _other(self, value: JsProxy, depth: int) -> Any:
        from .proxy import JsDoubleProxy

        if isinstance(value, JsDoubleProxy):
            return value.unwrap()
        if self.default_converter is None:
            return value
        made = self.default_converter(value, lambda inner: self.convert(inner, depth), self._cache)
        self.done[id(value)] = made
        return made

    def _cache(self, source: Any, made: Any) -> None:
        self.done[id(source)] = made


def _key(key: Any, container: str) -> Any:
    if isinstance(key, JsArray | JsObject | JsMap | JsSet | JsBuffer):
        kind = key.constructor.name
        purpose = "a key to a Python dict" if container == "dict" else "an element of a Python set"
        raise Error(f"Cannot use key of type {kind} as {purpose}")
    return key


def _refuse_one_and_true(value: Any, kind: str, what: str) -> None:
    for number, boolean in ((1, True), (0, False)):
        if value.has(number) and value.has(boolean):
            raise Error(
                f"Cannot faithfully convert {kind} into Python since it contains both {number} and "
                f"{to_string(boolean)} as {what}."
            )


# The method is the function itself: results of binding calls are converted often, and a call is saved each time.
JsProxy.to_py = to_python  # type: ignore[method-assign,assignment]
