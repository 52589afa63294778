"""``to_js``: Python values as JavaScript values, deeply.

Strings, numbers, booleans, ``None``, ``jsnull`` and JavaScript objects pass unchanged and never reach a converter;
lists and tuples become arrays, dicts what ``dict_converter`` makes of their pairs, sets sets, buffers typed arrays.
Everything else is the default converter's, or stands as it is for the proxy that production makes of it.

The SDK converts every argument of a binding call this way, so containers of plain values are copied at C speed.

Source: https://pyodide.org/en/stable/usage/api/python-api/ffi.html#pyodide.ffi.to_js
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from . import semantics
from .array import JsArray
from .array_buffer import contiguous_bytes
from .collections import JsMap, JsSet, LiteralMap
from .number import from_float
from .typed_array_kinds import Uint8Array, class_of_format
from .value import JsNull, JsObject, JsProxy

__all__ = ["ConversionError", "to_js"]


class ConversionError(Exception):
    """A Python value that has no JavaScript form. Exported as ``pyodide.ffi.ConversionError``."""


#: Types that pass unchanged, whatever the converters say.
_UNCHANGED: Final = frozenset({str, int, float, bool, type(None), JsNull})
#: Those that stay as they are inside of a container; a whole number is an int when it is read back.
_FLAT: Final = _UNCHANGED - {float}
_STRING: Final = frozenset({str})
_from_entries: Final = JsObject.fromEntries


def _is_flat(items: Iterable[Any]) -> bool:
    """Whether nothing in a container needs a conversion of its own."""
    return _FLAT.issuperset(map(type, items))


def _has_string_keys(keys: Iterable[Any]) -> bool:
    return _STRING.issuperset(map(type, keys))


def to_js(
    obj: Any,
    /,
    *,
    depth: int = -1,
    pyproxies: Any = None,
    create_pyproxies: bool = True,
    dict_converter: Callable[[Any], Any] | None = None,
    default_converter: Callable[..., Any] | None = None,
    eager_converter: Callable[..., Any] | None = None,
) -> Any:
    """Convert a Python value.

    Args: ``depth`` how many levels of containers are converted, -1 all; ``pyproxies`` a JavaScript array that gets the
    proxies made on the way; ``create_pyproxies`` whether a value without a JavaScript form may stand as a proxy;
    ``dict_converter(pairs)`` makes an object of a dict's pairs; ``default_converter(value, convert, cache)`` is asked
    for values without a form, ``eager_converter`` with the same arguments before every other rule.
    Raises: ConversionError; TypeError for ``pyproxies`` of another kind.
    """
    if type(obj) in _UNCHANGED or isinstance(obj, JsProxy):
        return obj
    if eager_converter is None and depth and type(obj) is dict:
        if dict_converter is _from_entries and _is_flat(obj.values()) and _has_string_keys(obj):
            return JsObject.adopt(dict(obj))
    elif eager_converter is None and depth and type(obj) is list and _is_flat(obj):
        return JsArray.adopt(obj[:])
    if pyproxies is not None and not isinstance(pyproxies, JsArray):
        raise TypeError("Expected a JsArray for the pyproxies argument")
    conversion = _Conversion(
        pyproxies, create_pyproxies, dict_converter, default_converter, eager_converter
    )
    converted = conversion.convert(obj, depth)
    if converted is obj and conversion.left_alone(obj):
        from .proxy import create_proxy

        return create_proxy(obj)
    return converted


class _Conversion:
    """One call of :func:`to_js`: the settings, and what has been converted already."""

    __slots__ = (
        "create_pyproxies",
        "default_converter",
        "dict_converter",
        "done",
        "eager_converter",
        "eagerly_asked",
        "pyproxies",
    )

    def __init__(
        self,
        pyproxies: Any,
        create_pyproxies: bool,
        dict_converter: Callable[[Any], Any] | None,
        default_converter: Callable[..., Any] | None,
        eager_converter: Callable[..., Any] | None,
    ) -> None:
        self.pyproxies = pyproxies
        self.create_pyproxies = create_pyproxies
        self.dict_converter = dict_converter
        self.default_converter = default_converter
        self.eager_converter = eager_converter
        #: id of a Python object -> what it became; the objects live as long as the conversion does.
        self.done: dict[int, Any] = {}
        #: ids of what the eager converter was asked for: when it asks back for the same object, the rules go on.
        self.eagerly_asked: set[int] = set()

    def convert(self, obj: Any, depth: int) -> Any:
        kind = type(obj)
        if kind is float:
            return from_float(obj) if obj.is_integer() else obj
        if kind in _UNCHANGED or isinstance(obj, JsProxy | str | int | float):
            return obj
        identity = id(obj)
        if identity in self.done:
            return self.done[identity]
        if self.eager_converter is not None and identity not in self.eagerly_asked:
            self.eagerly_asked.add(identity)
            made = self.eager_converter(obj, lambda inner: self.convert(inner, depth), self.cache)
            if made is not obj:
                return made
        if depth == 0:
            return self._proxy(obj)
        if kind is dict:
            return self._dict(obj, depth - 1)
        if kind is list or isinstance(obj, list | tuple):
            return self._list(obj, depth - 1)
        if kind is bytes:
            array = self.done[identity] = Uint8Array.from_bytes(obj)
            return array
        if isinstance(obj, dict):
            return self._dict(obj, depth - 1)
        if isinstance(obj, set | frozenset):
            return self._set(obj)
        try:
            view = memoryview(obj)
        except TypeError:
            return self._other(obj, depth)
        return self._buffer(obj, view)

    def cache(self, source: Any, made: Any) -> None:
        """Say early what an object becomes, so that a cycle finds it."""
        self.done[id(source)] = made

    def _list(self, obj: Any, depth: int) -> JsArray:
        items = list(obj)
        array = self.done[id(obj)] = JsArray.adopt(items)
        if not _is_flat(items):
            convert = self.convert
            for index, item in enumerate(items):
                if type(item) not in _FLAT:
                    items[index] = convert(item, depth)
        return array

    def _dict(self, obj: dict[Any, Any], depth: int) -> Any:
        converter = self.dict_converter
        if converter is None:
            if semantics.current().dict_to_object:
                return self._plain_object(obj, depth)
            return self._map(obj, depth)
        if converter is _from_entries and _has_string_keys(obj):
            return self._object(obj, depth)
        pairs = JsArray.adopt(
            [
                JsArray.adopt([self._key(key, "Map"), self.convert(value, depth)])
                for key, value in list(obj.items())
            ]
        )
        made = self.done[id(obj)] = converter(pairs)
        return made

    def _object(self, obj: dict[Any, Any], depth: int) -> JsObject:
        properties = dict(obj)
        made = self.done[id(obj)] = JsObject.adopt(properties)
        if not _is_flat(properties.values()):
            convert = self.convert
            for key, value in properties.items():
                if type(value) not in _FLAT:
                    properties[key] = convert(value, depth)
        return made

    def _plain_object(self, obj: dict[Any, Any], depth: int) -> JsObject:
        for key in obj:
            if key in _PROTOTYPE_NAMES:
                raise ConversionError(
                    f"Key collision when converting Python dictionary to JavaScript. Key: {key!r}"
                )
        if _has_string_keys(obj):
            return self._object(obj, depth)
        pairs = [(self._key(key, "Map"), value) for key, value in obj.items()]
        made: JsObject = JsObject.fromEntries(pairs)
        self.done[id(obj)] = made
        for key, value in made.__dict__.items():
            made.__dict__[key] = self.convert(value, depth)
        return made

    def _map(self, obj: dict[Any, Any], depth: int) -> JsMap:
        made = self.done[id(obj)] = LiteralMap.empty()
        for key, value in list(obj.items()):
            made.set(self._key(key, "Map"), self.convert(value, depth))
        return made

    def _set(self, obj: set[Any] | frozenset[Any]) -> JsSet:
        made = self.done[id(obj)] = JsSet.of_items(self._key(item, "Set") for item in obj)
        return made

    def _key(self, key: Any, kind: str) -> Any:
        if isinstance(key, str | int | float | JsProxy | JsNull) or key is None:
            return key
        raise ConversionError(f"Cannot use {key!r} as a key for a Javascript {kind}")

    def _buffer(self, obj: Any, view: memoryview) -> Any:
        made: Any
        if view.ndim > 1:
            made = _nested(view.tolist())
        elif view.format == "?":
            made = JsArray.adopt(view.tolist())
        else:
            array_class = class_of_format(view.format)
            if array_class is None:
                raise ConversionError(
                    f"No conversion known for a buffer of format '{view.format}'."
                )
            made = array_class.from_bytes(bytes(contiguous_bytes(view)))
        self.done[id(obj)] = made
        return made

    def _other(self, obj: Any, depth: int) -> Any:
        converter = self.default_converter
        if converter is not None:
            made = converter(obj, lambda inner: self.convert(inner, depth), self.cache)
            if made is not obj:
                self.done[id(obj)] = made
                return made
        return self._proxy(obj)

    def _proxy(self, obj: Any) -> Any:
        if not self.create_pyproxies:
            raise ConversionError("No conversion known for x.")
        if self.pyproxies is not None:
            from .proxy import create_proxy

            self.pyproxies.append(create_proxy(obj))
        return obj

    def left_alone(self, obj: Any) -> bool:
        """Whether the outermost value stands for itself by a proxy."""
        return not isinstance(obj, JsProxy | str | int | float) and id(obj) not in self.done


#: What every plain object inherits; a key with such a name would hide it.
_PROTOTYPE_NAMES: Final = frozenset(
    {
        "constructor", "__defineGetter__", "__defineSetter__", "hasOwnProperty", "__lookupGetter__",
        "__lookupSetter__", "isPrototypeOf", "propertyIsEnumerable", "toString", "valueOf", "__proto__",
        "toLocaleString",
    }
)  # fmt: skip


def _nested(rows: list[Any]) -> JsArray:
    return JsArray.adopt([_nested(row) if isinstance(row, list) else row for row in rows])
