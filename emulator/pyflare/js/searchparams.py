"""``URLSearchParams``.

To Python it is a mutable mapping, because it has ``get``, ``set``, ``size`` and is iterable: it iterates over its
names, and Python's methods of the same name win over JavaScript's. What they do follows from how subscripts read and
delete, which is not always what a dict does.

Source: https://url.spec.whatwg.org/#interface-urlsearchparams and
https://pyodide.org/en/stable/usage/api/python-api/ffi.html#pyodide.ffi.JsMutableMap
"""

from __future__ import annotations

from collections.abc import (
    Callable,
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    MutableMapping,
    ValuesView,
)
from typing import Any

from .array import JsArray
from .callbacks import supervise
from .iterator import JsIterator, iterate
from .urlencoded import encode_pairs, parse_pairs
from .value import JsInstance, jsnull
from .webidl import null, pairs, scalar_text

__all__ = ["URLSearchParams"]

_UNEQUAL = "Invalid URL search params sequence."


class URLSearchParams(JsInstance, js_name="URLSearchParams"):
    """``URLSearchParams.new(init)``; ``init`` is a query string, pairs, a map, an object or other parameters."""

    _python_names = frozenset(
        {"get", "items", "keys", "over", "pop", "popitem", "reload", "setdefault", "update"}
        | {"clear", "values"}
    )
    _iterates_entries = True

    _pairs: list[tuple[str, str]]
    _changed: Callable[[str], None] | None = None

    @classmethod
    def _construct(cls, init: Any = None, *_: Any) -> Any:
        params: URLSearchParams = object.__new__(cls)
        if init is None:
            params._pairs = []
        elif isinstance(init, URLSearchParams):
            params._pairs = list(init._pairs)
        elif isinstance(init, str) or not _is_collection(init):
            query = scalar_text(init)
            params._pairs = parse_pairs(query[1:] if query[:1] == "?" else query)
        else:
            params._pairs = [
                (scalar_text(name), scalar_text(value)) for name, value in pairs(init, _UNEQUAL)
            ]
        return params

    @classmethod
    def over(cls, query: str, changed: Callable[[str], None]) -> URLSearchParams:
        """The parameters of a URL, which is told the new query after each change."""
        params: URLSearchParams = object.__new__(cls)
        params._pairs = parse_pairs(query)
        params._changed = changed
        return params

    def reload(self, query: str) -> None:
        """The URL's query was replaced."""
        self._pairs[:] = parse_pairs(query)

    def _update(self) -> None:
        if self._changed is not None:
            self._changed(encode_pairs(self._pairs))

    @property
    def size(self) -> int:
        return len(self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)

    def append(self, name: Any, value: Any) -> None:
        self._pairs.append((scalar_text(name), scalar_text(value)))
        self._update()

    def delete(self, name: Any, value: Any = None) -> None:
        """Remove the entries of that name, or of that name and value."""
        matches = _matcher(name, value)
        self._pairs[:] = [pair for pair in self._pairs if not matches(pair)]
        self._update()

    def getAll(self, name: Any) -> Any:
        key = scalar_text(name)
        return JsArray.adopt([value for held, value in self._pairs if held == key])

    def has(self, name: Any, value: Any = None) -> bool:
        return any(map(_matcher(name, value), self._pairs))

    def set(self, name: Any, value: Any) -> None:
        """Replace the first entry of that name and drop the others."""
        key, pair = scalar_text(name), (scalar_text(name), scalar_text(value))
        kept: list[tuple[str, str]] = []
        placed = False
        for held in self._pairs:
            if held[0] != key:
                kept.append(held)
            elif not placed:
                placed = True
                kept.append(pair)
        if not placed:
            kept.append(pair)
        self._pairs[:] = kept
        self._update()

    def sort(self) -> None:
        """Order by name, by UTF-16 code units; entries of one name keep their order."""
        self._pairs.sort(key=lambda pair: pair[0].encode("utf-16-be"))
        self._update()

    def _live(self) -> Iterator[tuple[str, str]]:
        index = 0
        while index < len(self._pairs):
            yield self._pairs[index]
            index += 1

    def entries(self) -> JsIterator:
        return iterate(JsArray.adopt(list(pair)) for pair in self._live())

    def forEach(self, callback: Callable[..., Any], this: Any = None) -> None:
        for name, value in self._live():
            supervise(callback(value, name, self))

    def toString(self) -> str:
        return encode_pairs(self._pairs)

    # Python's mapping protocol.

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._live())

    def __contains__(self, name: Any) -> bool:
        return self.has(name)

    def __getitem__(self, name: Any) -> Any:
        key = scalar_text(name)
        for held, value in self._pairs:
            if held == key:
                return value
        return null()

    def __setitem__(self, name: Any, value: Any) -> None:
        self.set(name, value)

    def __delitem__(self, name: Any) -> None:
        self.delete(name)
        # Pyodide takes what `delete` gives for whether the key was there, and here that is undefined.
        raise KeyError(name)

    def get(self, key: Any, default: Any = None) -> Any:
        """The first value of that name, else null: a subscript never fails, so that ``default`` is never given."""
        return self[key]

    def keys(self) -> KeysView[Any]:
        return KeysView(_mapping(self))

    def values(self) -> ValuesView[Any]:
        """Of each name the first value, as often as the name is there."""
        return ValuesView(_mapping(self))

    def items(self) -> ItemsView[Any, Any]:
        """Each name with its first value, as often as the name is there; ``entries`` has all values."""
        return ItemsView(_mapping(self))

    def pop(self, key: Any, default: Any = None) -> None:
        """Deletes the name. Raises: KeyError, whatever there was, as ``del`` does."""
        del self[key]

    def popitem(self) -> tuple[Any, Any]:
        """Deletes the first name. Raises: KeyError, whatever there was."""
        return MutableMapping.popitem(_mapping(self))

    def clear(self) -> None:
        """Deletes the first name; the KeyError of that ends it."""
        MutableMapping.clear(_mapping(self))

    def update(self, other: Mapping[Any, Any] | Iterable[Any] = (), /, **more: Any) -> None:
        """Sets the values of a mapping or of pairs, then of the keywords."""
        MutableMapping.update(_mapping(self), other, **more)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """The first value of that name or null: neither is missing, so that nothing is set."""
        return self[key]


MutableMapping.register(URLSearchParams)


def _mapping(params: Any) -> MutableMapping[Any, Any]:
    return params  # type: ignore[no-any-return]


def _matcher(name: Any, value: Any) -> Callable[[tuple[str, str]], bool]:
    key = scalar_text(name)
    if value is None:
        return lambda pair: pair[0] == key
    wanted = (key, scalar_text(value))
    return lambda pair: pair == wanted


def _is_collection(value: Any) -> bool:
    return not isinstance(value, bool | int | float) and value is not jsnull
