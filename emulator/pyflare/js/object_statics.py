"""The statics of ``js.Object``.

Objects here have plain properties on fixed prototypes. What asks for more than that (accessors, other prototypes) is
refused with an error; ``freeze``, ``seal`` and ``preventExtensions`` leave the object as it is, and ``isFrozen`` and
its kin say so.

Source: https://tc39.es/ecma262/#sec-properties-of-the-object-constructor
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import value as model
from .calling import adapt, by_keywords_too

__all__ = ["ObjectStatics"]

_PRIMITIVES = (str, int, float, type(None))


class ObjectStatics:
    """A base of the metaclass of plain objects."""

    @staticmethod
    def fromEntries(entries: Iterable[Any] = (), *_: Any) -> Any:
        """``Object.fromEntries``: from an iterable of pairs. Raises: TypeError for what is no pair."""
        properties = {}
        try:
            for key, value in model.iterable(entries):
                if type(value) is float:
                    value = model.arriving(value)
                properties[key if type(key) is str else model.property_key(key)] = value
        except (TypeError, ValueError):
            properties = dict(_entry(entry) for entry in _iterable(entries))
        return model.JsObject.adopt(properties)

    @staticmethod
    def keys(value: Any = None, *_: Any, **members: Any) -> Any:
        return model.array(key for key, _ in _own(value, members))

    @staticmethod
    def values(value: Any = None, *_: Any, **members: Any) -> Any:
        return model.array(item for _, item in _own(value, members))

    @staticmethod
    def entries(value: Any = None, *_: Any, **members: Any) -> Any:
        return model.array(model.array(pair) for pair in _own(value, members))

    @staticmethod
    def getOwnPropertyNames(value: Any = None) -> Any:
        _require_value(value)
        return _reflect().ownKeys(value) if _is_object(value) else model.JsObject.keys(value)

    @staticmethod
    def getOwnPropertySymbols(value: Any = None) -> Any:
        _require_value(value)
        return model.array(())

    @staticmethod
    def hasOwn(value: Any = None, key: Any = None) -> bool:
        wanted = model.property_key(key)
        return any(name == wanted for name, _ in _own(value, {}))

    @staticmethod
    def assign(target: Any = None, *sources: Any) -> Any:
        """Copy the own properties of the sources. Gives the target."""
        _require_value(target)
        for source in sources:
            if not model.is_nullish(source):
                for key, value in model.own_items(source):
                    _reflect().set(target, key, value)
        return target

    @staticmethod
    def create(prototype: Any = None, properties: Any = None) -> Any:
        """A plain object. Raises: TypeError for a prototype that objects here cannot have."""
        if prototype is not model.jsnull and prototype is not model.JsObject.prototype:
            raise _type_error(
                f"Object prototype may only be an Object or null: {_text(prototype)}"
                if not _is_object(prototype)
                else "Object.create with another prototype than null and Object.prototype is not supported by Pyflare"
            )
        made = model.JsObject.adopt({})
        return made if properties is None else ObjectStatics.defineProperties(made, properties)

    @staticmethod
    def defineProperty(target: Any = None, key: Any = None, descriptor: Any = None) -> Any:
        """Set the value of a property. Raises: TypeError for a getter or setter, which objects here cannot have."""
        if not _is_object(target):
            raise _type_error("Object.defineProperty called on non-object")
        if not _is_object(descriptor):
            raise _type_error(f"Property description must be an object: {_text(descriptor)}")
        if not _reflect().defineProperty(target, key, descriptor):
            raise _type_error(
                f"Cannot define property {_text(key)}: accessors are not supported by Pyflare"
            )
        return target

    @staticmethod
    def defineProperties(target: Any = None, properties: Any = None) -> Any:
        for key, descriptor in _own(properties, {}):
            ObjectStatics.defineProperty(target, key, descriptor)
        return target

    @staticmethod
    def getOwnPropertyDescriptor(target: Any = None, key: Any = None) -> Any:
        _require_value(target)
        if not _is_object(target):
            return None
        return _reflect().getOwnPropertyDescriptor(target, key)

    @staticmethod
    def getOwnPropertyDescriptors(target: Any = None) -> Any:
        names = ObjectStatics.getOwnPropertyNames(target)
        return model.JsObject.adopt(
            {name: ObjectStatics.getOwnPropertyDescriptor(target, name) for name in names}
        )

    @staticmethod
    def getPrototypeOf(target: Any = None) -> Any:
        _require_value(target)
        if _is_object(target):
            return _reflect().getPrototypeOf(target)
        return _class_of(target).prototype

    @staticmethod
    def setPrototypeOf(target: Any = None, prototype: Any = None) -> Any:
        """Raises: TypeError for another prototype than the object has."""
        if ObjectStatics.getPrototypeOf(target) is not prototype:
            raise _type_error("Object.setPrototypeOf is not supported by Pyflare")
        return target

    @staticmethod
    def freeze(value: Any = None) -> Any:
        return value

    @staticmethod
    def seal(value: Any = None) -> Any:
        return value

    @staticmethod
    def preventExtensions(value: Any = None) -> Any:
        return value

    @staticmethod
    def isFrozen(value: Any = None) -> bool:
        return not _is_object(value)

    @staticmethod
    def isSealed(value: Any = None) -> bool:
        return not _is_object(value)

    @staticmethod
    def isExtensible(value: Any = None) -> bool:
        return _is_object(value)

    @staticmethod
    def groupBy(items: Any = None, function: Any = None) -> Any:
        """The items by what the function gives for each."""
        from .array import items_of

        groups: dict[str, list[Any]] = {}
        for index, item in enumerate(items_of(items)):
            groups.setdefault(model.property_key(function(item, index)), []).append(item)
        return model.JsObject.adopt({key: model.array(group) for key, group in groups.items()})

    # `Object.is` cannot be written with that name; Pyodide reaches it as `Object.is_`.
    @staticmethod
    def is_(left: Any = None, right: Any = None) -> bool:
        from .equality import same_value

        return same_value(left, right)


def _own(value: Any, members: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    """The own properties of the argument, or of the object that keywords make when there is none."""
    if value is None and members:
        return model.own_items(members)
    _require_value(value)
    return model.own_items(value)


def _require_value(value: Any) -> None:
    if model.is_nullish(value):
        raise _type_error("Cannot convert undefined or null to object")


def _is_object(value: Any) -> bool:
    return not isinstance(value, _PRIMITIVES) and value is not model.jsnull


def _iterable(entries: Any) -> Iterable[Any]:
    from .array import items_of

    return items_of(entries)


def _entry(entry: Any) -> tuple[str, Any]:
    """Key and value of an object that holds them as its members 0 and 1; what it lacks is undefined."""
    if not _is_object(entry):
        raise _type_error(f"Iterator value {_text(entry)} is not an entry object")
    members = dict(model.own_items(entry))
    return model.property_key(members.get("0")), members.get("1")


def _class_of(primitive: Any) -> Any:
    from .number import Number
    from .string import Boolean, String

    if isinstance(primitive, str):
        return String
    return Boolean if isinstance(primitive, bool) else Number


def _reflect() -> Any:
    from .reflect import Reflect

    return Reflect


def _text(value: Any) -> str:
    from .number import to_string

    return to_string(value)


def _type_error(message: str) -> Exception:
    from .error import TypeError_

    return TypeError_(message)


# Its class is no `JsClass`, which would do this.
adapt(ObjectStatics, vars(ObjectStatics))
by_keywords_too(ObjectStatics)
