"""The methods that arrays and typed arrays have in common: those that read the elements.

Source: https://tc39.es/ecma262/#sec-properties-of-the-array-prototype-object
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .calling import adapt
from .equality import same_value_zero, strictly_equal, to_boolean
from .error import TypeError_
from .iterator import JsIterator
from .number import to_index, to_integer, to_string
from .value import JsProxy, is_nullish

__all__ = ["ArrayMethods"]


class ArrayMethods(JsProxy):
    """Reading methods over :meth:`_items`. Callbacks get ``(item, index, array)``, as in JavaScript."""

    __slots__ = ()

    def _items(self) -> Sequence[Any]:
        """The elements, in order."""
        raise NotImplementedError

    def __contains__(self, item: Any) -> bool:
        return self.includes(item)

    def at(self, index: Any = 0) -> Any:
        position = to_integer(index)
        size = len(self._items())
        return self._items()[int(position)] if -size <= position < size else None

    def join(self, separator: Any = ",") -> str:
        glue = "," if separator is None else to_string(separator)
        return glue.join("" if is_nullish(item) else to_string(item) for item in self._items())

    def toString(self) -> str:
        try:
            return self.join()
        except RecursionError:  # An array inside itself is written as nothing in JavaScript.
            return ""

    def forEach(self, function: Callable[..., Any], this: Any = None) -> None:
        for index, item in enumerate(self._items()):
            function(item, index, self)

    def _matches(self, function: Callable[..., Any]) -> Iterator[int]:
        for index, item in enumerate(self._items()):
            if to_boolean(function(item, index, self)):
                yield index

    def find(self, function: Callable[..., Any], this: Any = None) -> Any:
        return next((self._items()[index] for index in self._matches(function)), None)

    def findIndex(self, function: Callable[..., Any], this: Any = None) -> int:
        return next(self._matches(function), -1)

    def findLastIndex(self, function: Callable[..., Any], this: Any = None) -> int:
        for index in range(len(self._items()) - 1, -1, -1):
            if to_boolean(function(self._items()[index], index, self)):
                return index
        return -1

    def findLast(self, function: Callable[..., Any], this: Any = None) -> Any:
        index = self.findLastIndex(function)
        return None if index < 0 else self._items()[index]

    def some(self, function: Callable[..., Any], this: Any = None) -> bool:
        return next(self._matches(function), -1) >= 0

    def every(self, function: Callable[..., Any], this: Any = None) -> bool:
        return all(
            to_boolean(function(item, index, self)) for index, item in enumerate(self._items())
        )

    def reduce(self, function: Callable[..., Any], *initial: Any) -> Any:
        """Fold from the left. Raises: TypeError when empty and without an initial value."""
        return self._fold(function, initial, list(enumerate(self._items())))

    def reduceRight(self, function: Callable[..., Any], *initial: Any) -> Any:
        return self._fold(function, initial, list(enumerate(self._items()))[::-1])

    def _fold(
        self, function: Callable[..., Any], initial: tuple[Any, ...], items: list[tuple[int, Any]]
    ) -> Any:
        if initial:
            total = initial[0]
        elif items:
            total = items.pop(0)[1]
        else:
            raise TypeError_("Reduce of empty array with no initial value")
        for index, item in items:
            total = function(total, item, index, self)
        return total

    def includes(self, item: Any = None, start: Any = 0) -> bool:
        first = to_index(start, len(self._items()), 0)
        return any(same_value_zero(own, item) for own in self._items()[first:])

    def indexOf(self, item: Any = None, start: Any = 0) -> int:
        for index in range(to_index(start, len(self._items()), 0), len(self._items())):
            if strictly_equal(self._items()[index], item):
                return index
        return -1

    def lastIndexOf(self, item: Any = None, start: Any = None) -> int:
        size = len(self._items())
        last = size - 1 if start is None else to_integer(start)
        for index in range(int(min(last + size if last < 0 else last, size - 1)), -1, -1):
            if strictly_equal(self._items()[index], item):
                return index
        return -1

    def values(self) -> JsIterator:
        return JsIterator._make(self._items())  # type: ignore[no-any-return]

    def entries(self) -> JsIterator:
        from .array import JsArray

        return JsIterator._make(JsArray.adopt([*pair]) for pair in enumerate(self._items()))  # type: ignore[no-any-return]

    def _own_items(self) -> Iterator[tuple[str, Any]]:
        for index, item in enumerate(self._items()):
            yield str(index), item


adapt(ArrayMethods, vars(ArrayMethods))
