"""``js.WeakMap``, ``js.WeakSet``, ``js.WeakRef`` and ``js.FinalizationRegistry``.

Source: https://tc39.es/ecma262/#sec-weakmap-objects and #sec-managing-memory
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from .error import TypeError_
from .number import to_string
from .value import JsInstance, is_nullish, type_of

__all__ = ["FinalizationRegistry", "WeakMap", "WeakRef", "WeakSet"]


def _check(key: Any, what: str) -> None:
    if type_of(key) not in ("object", "function") or is_nullish(key):
        raise TypeError_(f"{what}: {to_string(key)}")


class WeakMap(JsInstance, js_name="WeakMap"):
    """Values kept as long as their key lives. A key that Python cannot refer to weakly is kept."""

    def __init__(self) -> None:
        #: id of the key -> (what keeps or watches the key, value)
        self._entries: dict[int, tuple[Any, Any]] = {}

    @classmethod
    def _construct(cls, entries: Any = None, *_: Any) -> Any:
        made = cls._make()
        if not is_nullish(entries):
            for key, value in entries:
                made.set(key, value)
        return made

    def set(self, key: Any, value: Any = None) -> WeakMap:
        """Raises: TypeError for a key that is no object."""
        _check(key, "Invalid value used as weak map key")
        identity, entries = id(key), self._entries
        try:
            holder: Any = weakref.ref(key, lambda _: entries.pop(identity, None))
        except TypeError:
            holder = key
        entries[identity] = (holder, value)
        return self

    def get(self, key: Any) -> Any:
        return self._entries.get(id(key), (None, None))[1]

    # What has these methods is a mapping to Python.

    def __getitem__(self, key: Any) -> Any:
        if not self.has(key):
            raise KeyError(key)
        return self.get(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.set(key, value)

    def __delitem__(self, key: Any) -> None:
        if not self.delete(key):
            raise KeyError(key)

    def __contains__(self, key: Any) -> bool:
        return bool(self.has(key))

    def has(self, key: Any) -> bool:
        return id(key) in self._entries

    def delete(self, key: Any) -> bool:
        return self._entries.pop(id(key), None) is not None


class WeakSet(JsInstance, js_name="WeakSet"):
    """Members that this set does not keep alive."""

    def __init__(self) -> None:
        self._members = WeakMap._make()

    @classmethod
    def _construct(cls, items: Any = None, *_: Any) -> Any:
        made = cls._make()
        if not is_nullish(items):
            for item in items:
                made.add(item)
        return made

    def add(self, item: Any) -> WeakSet:
        """Raises: TypeError for a value that is no object."""
        _check(item, "Invalid value used in weak set")
        self._members.set(item, True)
        return self

    def has(self, item: Any) -> bool:
        return bool(self._members.has(item))

    def delete(self, item: Any) -> bool:
        return bool(self._members.delete(item))


class WeakRef(JsInstance, js_name="WeakRef"):
    """A reference that does not keep its target alive."""

    def __init__(self, target: Any) -> None:
        self._target: Callable[[], Any]
        try:
            self._target = weakref.ref(target)
        except TypeError:
            self._target = lambda: target

    @classmethod
    def _construct(cls, target: Any = None, *_: Any) -> Any:
        _check(target, "WeakRef: invalid target")
        return cls._make(target)

    def deref(self) -> Any:
        """The target, None when it is gone."""
        return self._target()


class FinalizationRegistry(JsInstance, js_name="FinalizationRegistry"):
    """Accepts registrations; the platform promises no callback, and none comes here."""

    @classmethod
    def _construct(cls, callback: Any = None, *_: Any) -> Any:
        if not callable(callback):
            raise TypeError_("FinalizationRegistry: cleanup must be callable")
        return cls._make()

    def register(self, target: Any, held: Any = None, token: Any = None) -> None:
        _check(target, "FinalizationRegistry.prototype.register: invalid target")

    def unregister(self, token: Any) -> bool:
        return False
