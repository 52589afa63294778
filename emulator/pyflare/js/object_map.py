"""``JsProxy.as_object_map()``: the properties of a JavaScript object as a live Python mapping.

Source: https://pyodide.org/en/stable/usage/api/python-api/ffi.html#pyodide.ffi.JsProxy.as_object_map
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any

from .array import JsArray
from .value import JsClass, JsObject, JsProxy, arriving, own_items

__all__ = ["ObjectMap", "as_py_json"]


class ObjectMap(JsProxy, MutableMapping[str, Any]):
    """Another view of the same object: what is written here is written there.

    Args: ``hereditary`` whether objects read from it come as such views too.
    """

    __slots__ = ("_hereditary", "_object")

    def __init__(self, target: JsProxy, *, hereditary: bool = False) -> None:
        self._object = target
        self._hereditary = hereditary

    @property
    def constructor(self) -> Any:
        return self._object.constructor

    @property
    def js_id(self) -> int:
        return self._object.js_id

    def __getitem__(self, key: str) -> Any:
        value = self._find(key)
        if self._hereditary and isinstance(value, JsObject):
            return ObjectMap(value, hereditary=True)
        return value

    def _find(self, key: str) -> Any:
        if isinstance(self._object, JsObject):
            return self._object.__dict__[key]
        for name, value in own_items(self._object):
            if name == key:
                return value
        raise KeyError(key)

    def __setitem__(self, key: str, value: Any) -> None:
        if isinstance(self._object, JsObject):
            self._object.__dict__[key] = arriving(value) if type(value) is float else value
        else:
            setattr(self._object, key, value)

    def __delitem__(self, key: str) -> None:
        self._find(key)
        if isinstance(self._object, JsObject):
            del self._object.__dict__[key]
        else:
            delattr(self._object, key)

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, _ in own_items(self._object)])

    def __len__(self) -> int:
        return sum(1 for _ in own_items(self._object))

    def __contains__(self, key: object) -> bool:
        return any(name == key for name, _ in own_items(self._object))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._object, name)

    def _own_items(self) -> Iterator[tuple[str, Any]]:
        return own_items(self._object)

    def toString(self) -> str:
        return str(self._object)

    def __repr__(self) -> str:
        return str(self._object)

    def to_py(self, *, depth: int = -1, default_converter: Any = None) -> Any:
        """As the object's own ``to_py``."""
        return self._object.to_py(depth=depth, default_converter=default_converter)


class JsonMap(ObjectMap):
    """What ``as_py_json`` makes of an object."""

    __slots__ = ()

    def __getitem__(self, key: str) -> Any:
        return _json_item(self._find(key))


class JsonArray(JsArray, metaclass=JsClass, js_name="Array"):
    """What ``as_py_json`` makes of an array: one over the same list."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        return _json_item(JsArray.__getitem__(self, key))

    def __iter__(self) -> Iterator[Any]:
        return map(_json_item, self._list)

    def __reversed__(self) -> Iterator[Any]:
        return map(_json_item, reversed(self._list))

    def pop(self, index: int = -1) -> Any:
        return _json_item(JsArray.pop(self, index))


def _json_item(value: Any) -> Any:
    return as_py_json(value) if isinstance(value, JsObject | JsArray) else value


def as_py_json(value: JsProxy) -> Any:
    """The view; see :meth:`JsProxy.as_py_json`."""
    return JsonArray.adopt(value._list) if isinstance(value, JsArray) else JsonMap(value)
