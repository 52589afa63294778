"""``js.Reflect``: operations on objects as functions, which say by a boolean whether they did something.

Objects here have plain properties on fixed prototypes, so what asks for more (accessors, other prototypes, objects that
take no more properties) is answered with false.

Source: https://tc39.es/ecma262/#sec-reflect-object
"""

from __future__ import annotations

from typing import Any, Final

from .array import JsArray, items_of
from .error import TypeError_
from .number import to_string
from .prototype import PrototypeMethod
from .symbol import Symbol
from .value import (
    JsClass,
    JsInstance,
    JsObject,
    JsProxy,
    arriving,
    get_property,
    jsnull,
    own_items,
)

__all__ = ["Reflect"]

#: What a proxy offers to Python beside the object's own properties; JavaScript does not have it.
_PYTHON_NAMES: Final = frozenset(
    name
    for name in vars(JsProxy)
    if name not in ("constructor", "hasOwnProperty", "toString", "valueOf")
)
_ABSENT: Final = object()


def _require_object(target: Any, method: str) -> None:
    if target is None or target is jsnull or isinstance(target, str | int | float):
        raise TypeError_(f"Reflect.{method} called on non-object")


def _own(target: Any, key: str) -> Any:
    """The value of an own property, a marker when there is none."""
    if isinstance(target, JsArray) and key == "length":
        return len(target)
    for name, value in own_items(target):
        if name == key:
            return value
    return _ABSENT


def _index(target: Any, key: str) -> int | None:
    """Which element of an array a key stands for."""
    if isinstance(target, JsArray | list) and key.isdecimal() and str(int(key)) == key:
        return int(key)
    return None


class ReflectNamespace(JsInstance, js_name="Object"):
    """``Reflect``."""

    _tag = "Reflect"

    @staticmethod
    def apply(function: Any = None, this: Any = None, args: Any = None) -> Any:
        """Call a function with the items of a list. Raises: TypeError for what cannot be called."""
        if isinstance(function, PrototypeMethod):
            return function.apply(this, items_of(args))
        if not callable(function):
            raise TypeError_(
                f"Function.prototype.apply was called on {to_string(function)}, which is not a function"
            )
        return function(*items_of(args))

    @staticmethod
    def construct(constructor: Any = None, args: Any = None, *_: Any) -> Any:
        """``new constructor(...args)``. Raises: TypeError for what is no class."""
        if not isinstance(constructor, JsClass):
            raise TypeError_(f"{to_string(constructor)} is not a constructor")
        return constructor.new(*items_of(args))

    @staticmethod
    def ownKeys(target: Any = None) -> JsArray:
        _require_object(target, "ownKeys")
        keys = [name for name, _ in own_items(target)]
        return JsArray.adopt([*keys, "length"] if isinstance(target, JsArray) else keys)

    @staticmethod
    def has(target: Any = None, key: Any = None) -> bool:
        """Whether the object or its prototype has a property."""
        _require_object(target, "has")
        name = to_string(key)
        if _own(target, name) is not _ABSENT:
            return True
        return name not in _PYTHON_NAMES and name[:1] != "_" and hasattr(target, name)

    @staticmethod
    def get(target: Any = None, key: Any = None, *_: Any) -> Any:
        """A property, undefined when there is none."""
        _require_object(target, "get")
        if isinstance(key, Symbol):
            # What stubs have; no other class here has a method of a symbol's name.
            stub = key is Symbol.dispose and hasattr(type(target), "_symbol_dispose")
            return target._symbol_dispose if stub else None
        name = to_string(key)
        own = _own(target, name)
        if own is not _ABSENT:
            return own
        return None if name in _PYTHON_NAMES else get_property(target, name)

    @staticmethod
    def set(target: Any = None, key: Any = None, value: Any = None, *_: Any) -> bool:
        _require_object(target, "set")
        name = to_string(key)
        if type(value) is float:
            value = arriving(value)
        if isinstance(target, JsObject):
            target.__dict__[name] = value
        elif isinstance(target, dict):
            target[name] = value
        elif (index := _index(target, name)) is not None:
            target += [None] * (index + 1 - len(target))
            target[index] = value
        else:
            try:
                setattr(target, name, value)
            except AttributeError:
                return False
        return True

    @staticmethod
    def deleteProperty(target: Any = None, key: Any = None) -> bool:
        """Remove a property; true also when there was none."""
        _require_object(target, "deleteProperty")
        name = to_string(key)
        if _own(target, name) is _ABSENT:
            return True
        if isinstance(target, JsObject):
            del target.__dict__[name]
        elif isinstance(target, dict):
            del target[name]
        elif (index := _index(target, name)) is not None:
            # The hole reads as undefined.
            target[index] = None
        else:
            return False
        return True

    @staticmethod
    def getOwnPropertyDescriptor(target: Any = None, key: Any = None) -> JsObject | None:
        _require_object(target, "getOwnPropertyDescriptor")
        name = to_string(key)
        value = _own(target, name)
        if value is _ABSENT:
            return None
        visible = not (isinstance(target, JsArray) and name == "length")
        return JsObject.adopt(
            {"value": value, "writable": True, "enumerable": visible, "configurable": visible}
        )

    @staticmethod
    def defineProperty(target: Any = None, key: Any = None, descriptor: Any = None) -> bool:
        _require_object(target, "defineProperty")
        if any(get_property(descriptor, accessor) is not None for accessor in ("get", "set")):
            return False
        return ReflectNamespace.set(target, key, get_property(descriptor, "value"))

    @staticmethod
    def getPrototypeOf(target: Any = None) -> Any:
        """The prototype of the object's class, null for what is native to Python."""
        _require_object(target, "getPrototypeOf")
        return target.constructor.prototype if isinstance(target, JsProxy) else jsnull

    @staticmethod
    def setPrototypeOf(target: Any = None, prototype: Any = None) -> bool:
        _require_object(target, "setPrototypeOf")
        return False

    @staticmethod
    def isExtensible(target: Any = None) -> bool:
        _require_object(target, "isExtensible")
        return True

    @staticmethod
    def preventExtensions(target: Any = None) -> bool:
        _require_object(target, "preventExtensions")
        return False


Reflect = ReflectNamespace._make()
