"""Classes of ``pyodide.ffi`` that name what a JavaScript value can do, for ``isinstance``.

Source: https://pyodide.org/en/stable/usage/api/python-api/ffi.html
"""

from __future__ import annotations

from typing import Any, ClassVar

from ...js.object_map import ObjectMap
from ...js.value import JsProxy

__all__ = [
    "JsAsyncGenerator",
    "JsAsyncIterable",
    "JsAsyncIterator",
    "JsCallable",
    "JsDomElement",
    "JsFetchResponse",
    "JsGenerator",
    "JsIterable",
    "JsIterator",
    "JsMap",
    "JsMutableMap",
]


class _Shape(type):
    """The metaclass: an instance is a JavaScript value whose class has every name in ``_required``."""

    _required: tuple[str, ...]
    #: Classes whose instances count too, though their names are Python's.
    _also: tuple[type, ...] = ()

    def __instancecheck__(cls, instance: Any) -> bool:
        return cls.__subclasscheck__(type(instance))

    def __subclasscheck__(cls, subclass: type) -> bool:
        if type.__subclasscheck__(cls, subclass):
            return True
        if not issubclass(subclass, JsProxy):
            return False
        return issubclass(subclass, cls._also) or all(
            _has(subclass, name) for name in cls._required
        )

    def __getitem__(cls, _: Any) -> _Shape:
        """``JsMap[str, int]`` in an annotation."""
        return cls


def _has(kind: type, name: str) -> bool:
    # Not `getattr`, which also finds what the class itself can do by its metaclass.
    return any(base.__dict__.get(name) is not None for base in kind.__mro__)


class JsCallable(metaclass=_Shape):
    """A JavaScript function, or an object that can be called."""

    _required: ClassVar[tuple[str, ...]] = ("__call__",)


class JsIterable(metaclass=_Shape):
    _required: ClassVar[tuple[str, ...]] = ("__iter__",)


class JsIterator(metaclass=_Shape):
    _required: ClassVar[tuple[str, ...]] = ("__next__",)


class JsGenerator(metaclass=_Shape):
    _required: ClassVar[tuple[str, ...]] = ("__next__", "send", "throw")


class JsAsyncIterable(metaclass=_Shape):
    _required: ClassVar[tuple[str, ...]] = ("__aiter__",)


class JsAsyncIterator(metaclass=_Shape):
    _required: ClassVar[tuple[str, ...]] = ("__anext__",)


class JsAsyncGenerator(metaclass=_Shape):
    _required: ClassVar[tuple[str, ...]] = ("__anext__", "asend", "athrow")


class JsMap(metaclass=_Shape):
    """A JavaScript map, or an object with a map's reading methods and size."""

    _required: ClassVar[tuple[str, ...]] = ("get", "has", "size", "keys", "__iter__")
    _also: ClassVar[tuple[type, ...]] = (ObjectMap,)


class JsMutableMap(metaclass=_Shape):
    """A :class:`JsMap` that can be written."""

    _required: ClassVar[tuple[str, ...]] = (*JsMap._required, "set", "delete")
    _also: ClassVar[tuple[type, ...]] = (ObjectMap,)


class JsFetchResponse(metaclass=_Shape):
    """A ``Response``."""

    _required: ClassVar[tuple[str, ...]] = ("arrayBuffer", "json", "status", "bodyUsed")


class JsDomElement(metaclass=_Shape):
    """An element of a document; workers have none."""

    _required: ClassVar[tuple[str, ...]] = ("tagName", "style")
