"""``js.Map`` and ``js.Set``: keys compared as JavaScript compares them, entries in insertion order.

A Python dict takes ``1`` and ``True`` for one key and compares tuples by content; here keys that JavaScript tells
apart are stored under a key of their own.

Source: https://tc39.es/ecma262/#sec-map-objects and
https://pyodide.org/en/stable/usage/api/python-api/ffi.html#pyodide.ffi.JsMap
"""

from __future__ import annotations

import collections.abc
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, ValuesView
from typing import Any, Final

from .array import JsArray
from .error import TypeError_
from .iterator import JsIterator
from .live_walk import Walks
from .number import to_string
from .value import JsClass, JsNull, JsProxy, arriving, is_nullish, iterable, with_indices_first

__all__ = ["JsMap", "JsSet", "LiteralMap"]

_new: Final = object.__new__
#: Types whose Python equality and hash are JavaScript's.
_PLAIN_KEYS: Final = frozenset({str, int, type(None), JsNull})


class _Identity:
    """A stored key that is equal only to the same object."""

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        self.key = key

    def __hash__(self) -> int:
        return id(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other.key is self.key


_NAN: Final = _Identity(float("nan"))
_TRUE: Final = _Identity(True)
_FALSE: Final = _Identity(False)


def _stored(key: Any) -> Any:
    """The dict key that stands for a JavaScript key under SameValueZero."""
    if type(key) in _PLAIN_KEYS:
        return key
    if key is True:
        return _TRUE
    if key is False:
        return _FALSE
    if isinstance(key, float):
        return _NAN if key != key else arriving(key)
    if isinstance(key, str | int):
        return key
    return _Identity(key)


def _original(stored: Any) -> Any:
    return stored.key if type(stored) is _Identity else stored


def _pair(entry: Any) -> tuple[Any, Any]:
    if isinstance(entry, str | int | float | bool) or is_nullish(entry):
        raise TypeError_(f"Iterator value {to_string(entry)} is not an entry object")
    items = list(entry)
    return (items[0] if items else None), (items[1] if len(items) > 1 else None)


class JsMap(JsProxy, metaclass=JsClass, js_name="Map"):
    """A JavaScript map; to Python a mutable mapping that iterates over its keys."""

    __slots__ = ("__weakref__", "_entries", "_walks")
    _python_names = frozenset({"empty", "pop", "popitem", "setdefault", "update"})

    _tag = "Map"
    _iterates_entries = True
    _entries: dict[Any, Any]
    _walks: Walks | None

    @classmethod
    def empty(cls) -> JsMap:
        made: JsMap = _new(cls)
        made._entries = {}
        made._walks = None
        return made

    @classmethod
    def from_dict(cls, entries: dict[Any, Any]) -> JsMap:
        """A map with the entries of a dict."""
        made: JsMap = _new(cls)
        made._entries = {_stored(key): value for key, value in entries.items()}
        made._walks = None
        return made

    @classmethod
    def _construct(cls, entries: Any = None, *_: Any) -> Any:
        made = cls.empty()
        if isinstance(entries, JsMap):
            made._entries = dict(entries._entries)
        elif not is_nullish(entries):
            for entry in iterable(entries):
                key, value = _pair(entry)
                made._entries[_stored(key)] = arriving(value) if type(value) is float else value
        return made

    @classmethod
    def _call(cls, *_: Any) -> Any:
        raise TypeError_("Constructor Map requires 'new'")

    # JavaScript's methods.

    @property
    def size(self) -> int:
        return len(self._entries)

    def has(self, key: Any = None) -> bool:
        return _stored(key) in self._entries

    def set(self, key: Any = None, value: Any = None) -> JsMap:
        stored = _stored(key)
        if self._walks and stored not in self._entries:
            self._walks.added(stored)
        self._entries[stored] = arriving(value) if type(value) is float else value
        return self

    def delete(self, key: Any = None) -> bool:
        """Remove an entry; False when there was none."""
        stored = _stored(key)
        if stored not in self._entries:
            return False
        del self._entries[stored]
        if self._walks:
            self._walks.removed(stored)
        return True

    def entries(self) -> JsIterator:
        return JsIterator._make(JsArray.adopt([key, value]) for key, value in self._pairs())  # type: ignore[no-any-return]

    def forEach(self, function: Callable[..., Any], this: Any = None) -> None:
        for key, value in self._pairs():
            function(value, key, self)

    def _pairs(self) -> Iterator[tuple[Any, Any]]:
        if self._walks is None:
            self._walks = Walks()
        for stored in self._walks.over(self._entries):
            yield _original(stored), self._entries[stored]

    # Python's mapping protocol; its names win where both have one.

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in self._pairs())

    def __contains__(self, key: Any) -> bool:
        return _stored(key) in self._entries

    def __getitem__(self, key: Any) -> Any:
        try:
            return self._entries[_stored(key)]
        except KeyError:
            raise KeyError(key) from None

    def __setitem__(self, key: Any, value: Any) -> None:
        self.set(key, value)

    def __delitem__(self, key: Any) -> None:
        if not self.delete(key):
            raise KeyError(key)

    def get(self, key: Any = None, default: Any = None, *_: Any) -> Any:
        return self._entries.get(_stored(key), default)

    def keys(self) -> KeysView[Any]:
        return KeysView(self)

    def values(self) -> ValuesView[Any]:
        return ValuesView(self)

    def items(self) -> ItemsView[Any, Any]:
        return ItemsView(self)

    def clear(self) -> None:
        self._entries.clear()
        if self._walks:
            self._walks.cleared()

    def setdefault(self, key: Any, default: Any = None) -> Any:
        if not self.has(key):
            self.set(key, default)
        return self._entries[_stored(key)]

    def update(self, other: Any = (), /, **more: Any) -> None:
        """Take over the entries of a mapping or of an iterable of pairs, then the keywords."""
        pairs: Iterable[Any] = other.items() if hasattr(other, "keys") else other
        for key, value in pairs:
            self[key] = value
        for name, value in more.items():
            self[name] = value

    def pop(self, key: Any, *default: Any) -> Any:
        """Remove a key and give its value. Raises: KeyError when absent and without a default."""
        stored = _stored(key)
        try:
            value = self._entries.pop(stored, *default)
        except KeyError:
            raise KeyError(key) from None
        if self._walks:
            self._walks.removed(stored)
        return value

    def popitem(self) -> tuple[Any, Any]:
        stored, value = self._entries.popitem()
        if self._walks:
            self._walks.removed(stored)
        return _original(stored), value


collections.abc.MutableMapping.register(JsMap)


_MAP_SLOTS: Final = frozenset(("_entries", "_walks"))


class LiteralMap(JsMap, js_name="LiteralMap"):
    """What ``to_js`` makes of a dict: a map whose string keys also read as properties. The map's own names win."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        try:
            return self._entries[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _MAP_SLOTS:
            object.__setattr__(self, name, value)
        else:
            self.set(name, value)

    def __delattr__(self, name: str) -> None:
        self.delete(name)

    def _own_items(self) -> Iterator[tuple[str, Any]]:
        own = {key: value for key, value in self._pairs() if isinstance(key, str)}
        yield from with_indices_first(own).items()


class JsSet(JsProxy, metaclass=JsClass, js_name="Set"):
    """A JavaScript set."""

    __slots__ = ("__weakref__", "_members", "_walks")

    _members: dict[Any, None]
    _walks: Walks | None

    @classmethod
    def of_items(cls, items: Iterable[Any]) -> JsSet:
        made: JsSet = _new(cls)
        made._members = {_stored(item): None for item in items}
        made._walks = None
        return made

    @classmethod
    def _construct(cls, items: Any = None, *_: Any) -> Any:
        return cls.of_items(() if is_nullish(items) else iterable(items))

    @classmethod
    def _call(cls, *_: Any) -> Any:
        raise TypeError_("Constructor Set requires 'new'")

    @property
    def size(self) -> int:
        return len(self._members)

    def add(self, item: Any = None) -> JsSet:
        stored = _stored(item)
        if self._walks and stored not in self._members:
            self._walks.added(stored)
        self._members[stored] = None
        return self

    def has(self, item: Any = None) -> bool:
        return _stored(item) in self._members

    def delete(self, item: Any = None) -> bool:
        """Remove a member; False when there was none."""
        stored = _stored(item)
        if stored not in self._members:
            return False
        del self._members[stored]
        if self._walks:
            self._walks.removed(stored)
        return True

    def clear(self) -> None:
        self._members.clear()
        if self._walks:
            self._walks.cleared()

    def values(self) -> JsIterator:
        return JsIterator._make(self)  # type: ignore[no-any-return]

    def keys(self) -> JsIterator:
        return self.values()

    def entries(self) -> JsIterator:
        return JsIterator._make(JsArray.adopt([item, item]) for item in self)  # type: ignore[no-any-return]

    def forEach(self, function: Callable[..., Any], this: Any = None) -> None:
        for item in self:
            function(item, item, self)

    def union(self, other: Any) -> JsSet:
        return JsSet.of_items([*self, *_keys_of(other)])

    def intersection(self, other: Any) -> JsSet:
        return JsSet.of_items(item for item in self if other.has(item))

    def difference(self, other: Any) -> JsSet:
        return JsSet.of_items(item for item in self if not other.has(item))

    def symmetricDifference(self, other: Any) -> JsSet:
        beyond = [item for item in _keys_of(other) if not self.has(item)]
        return JsSet.of_items([*self.difference(other), *beyond])

    def isSubsetOf(self, other: Any) -> bool:
        return all(other.has(item) for item in self)

    def isSupersetOf(self, other: Any) -> bool:
        return all(self.has(item) for item in _keys_of(other))

    def isDisjointFrom(self, other: Any) -> bool:
        return not any(other.has(item) for item in self)

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[Any]:
        if self._walks is None:
            self._walks = Walks()
        for stored in self._walks.over(self._members):
            yield _original(stored)

    def __contains__(self, item: Any) -> bool:
        return _stored(item) in self._members


def _keys_of(other: Any) -> list[Any]:
    if not hasattr(other, "has") or not hasattr(other, "keys"):
        raise TypeError_("The argument must be a Set-like object with 'size', 'has' and 'keys'.")
    return list(other.keys())
