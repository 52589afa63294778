"""``js.Array``: a JavaScript array around a Python list.

Python's names win over JavaScript's where both exist, as in Pyodide: ``pop``, ``insert``, ``index``, ``count``,
``remove`` and ``reverse`` are the list's. There is no ``keys``, so that ``dict(array)`` takes it for a sequence.

Source: https://pyodide.org/en/stable/usage/api/python-api/ffi.html#pyodide.ffi.JsArray and
https://tc39.es/ecma262/#sec-array-objects
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, MutableSequence
from functools import cmp_to_key
from typing import Any, Final

from .array_methods import ArrayMethods
from .equality import strictly_equal
from .error import RangeError, TypeError_
from .number import to_index, to_integer, to_string
from .value import JsClass, JsObject, arrived, arriving, get_property, is_nullish, iterable

__all__ = ["JsArray", "items_of"]

_new: Final = object.__new__
_MAX_LENGTH: Final = 2**32 - 1


class JsArray(ArrayMethods, metaclass=JsClass, js_name="Array"):
    """A JavaScript array; also ``js.Array`` itself."""

    __slots__ = ("__weakref__", "_list")
    _python_names = frozenset(
        {
            "adopt", "append", "count", "extend", "index", "insert", "pop", "push", "remove", "reverse"
        }
    )  # fmt: skip

    _list: list[Any]

    @classmethod
    def adopt(cls, items: list[Any]) -> JsArray:
        """An array whose elements *are* this list (no copy)."""
        made: JsArray = _new(cls)
        made._list = items
        return made

    @classmethod
    def _construct(cls, *args: Any) -> Any:
        if len(args) != 1 or isinstance(args[0], bool) or not isinstance(args[0], int | float):
            return cls.adopt(arrived(list(args)))
        length = args[0]
        if length != length or not 0 <= length <= _MAX_LENGTH or length != int(length):
            raise RangeError("Invalid array length")
        return cls.adopt([None] * int(length))

    @classmethod
    def _call(cls, *args: Any) -> Any:
        return cls._construct(*args)

    @staticmethod
    def isArray(value: Any = None) -> bool:
        return isinstance(value, JsArray)

    @staticmethod
    def of(*items: Any) -> JsArray:
        return JsArray.adopt(arrived(list(items)))

    @staticmethod
    def from_(source: Any, function: Any = None, this: Any = None) -> JsArray:
        """``Array.from``: of an iterable or of anything with a ``length``."""
        items = items_of(source)
        if function is not None:
            items = [function(item, index) for index, item in enumerate(items)]
        return JsArray.adopt(arrived(items))

    def _items(self) -> list[Any]:
        return self._list

    # What Python does with an array.

    def __len__(self) -> int:
        return len(self._list)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._list)

    def __reversed__(self) -> Iterator[Any]:
        return self._list.__reversed__()

    def __getitem__(self, key: Any) -> Any:
        try:
            found = self._list[key]
        except IndexError:
            raise IndexError(key) from None
        return JsArray.adopt(found) if isinstance(key, slice) else found

    def __setitem__(self, key: Any, value: Any) -> None:
        if type(value) is float:
            value = arriving(value)
        try:
            self._list[key] = value
        except IndexError:
            # An array grows; a negative position is a property that is no element.
            if (missing := operator.index(key) - len(self._list)) >= 0:
                if operator.index(key) >= _MAX_LENGTH:
                    raise RangeError("Invalid array length") from None
                self._list += [*[None] * missing, value]

    def __delitem__(self, key: Any) -> None:
        try:
            del self._list[key]
        except IndexError:
            raise IndexError(key) from None

    def __add__(self, other: Any) -> JsArray:
        if isinstance(other, JsArray | list | tuple):
            return JsArray.adopt([*self._list, *other])
        return NotImplemented

    def __iadd__(self, other: Iterable[Any]) -> JsArray:  # type: ignore[misc]
        self._list.extend(other)
        return self

    def __mul__(self, count: Any) -> JsArray:
        return JsArray.adopt(self._list * count)

    __rmul__ = __mul__

    def __imul__(self, count: Any) -> JsArray:
        self._list *= count
        return self

    def append(self, item: Any) -> None:
        self._list.append(arriving(item) if type(item) is float else item)

    def extend(self, items: Iterable[Any]) -> None:
        self._list.extend(arrived(list(items)))

    def insert(self, index: int, item: Any) -> None:
        self._list.insert(index, arriving(item) if type(item) is float else item)

    def pop(self, index: int = -1) -> Any:
        """Remove and give an item. Raises: IndexError when there is none."""
        if not self._list:
            raise IndexError("pop from empty list")
        try:
            return self._list.pop(index)
        except IndexError:
            raise IndexError("pop index out of range") from None

    def index(self, item: Any, start: int = 0, stop: int | None = None) -> int:
        """The first index of an item. Raises: ValueError when it is absent."""
        for index in range(*slice(start, stop).indices(len(self._list))):
            if strictly_equal(self._list[index], item):
                return index
        raise ValueError(f"{item!r} is not in list")

    def count(self, item: Any) -> int:
        return sum(strictly_equal(own, item) for own in self._list)

    def remove(self, item: Any) -> None:
        """Remove the first occurrence. Raises: ValueError when there is none."""
        del self._list[self.index(item)]

    def reverse(self) -> None:
        self._list.reverse()

    # What JavaScript's prototype adds.

    @property
    def length(self) -> int:
        return len(self._list)

    @length.setter
    def length(self, value: int) -> None:
        missing = value - len(self._list)
        if missing < 0:
            del self._list[value:]
        else:
            self._list.extend([None] * missing)

    def push(self, *items: Any, **members: Any) -> int:
        if members:
            items = (*items, JsObject.adopt(members))
        self._list.extend(arrived(items))
        return len(self._list)

    def shift(self) -> Any:
        return self._list.pop(0) if self._list else None

    def unshift(self, *items: Any) -> int:
        self._list[:0] = arrived(items)
        return len(self._list)

    def slice(self, start: Any = None, end: Any = None) -> JsArray:
        size = len(self._list)
        return JsArray.adopt(self._list[to_index(start, size, 0) : to_index(end, size, size)])

    def splice(self, start: Any = 0, count: Any = None, *items: Any) -> JsArray:
        size = len(self._list)
        first = to_index(start, size, 0)
        last = size if count is None else min(size, first + max(0, int(to_integer(count))))
        removed = self._list[first:last]
        self._list[first:last] = arrived(items)
        return JsArray.adopt(removed)

    def concat(self, *others: Any) -> JsArray:
        joined = list(self._list)
        for other in others:
            if isinstance(other, JsArray):
                joined.extend(other._list)
            else:
                joined.append(other)
        return JsArray.adopt(joined)

    def map(self, function: Callable[..., Any], this: Any = None) -> JsArray:
        made = [function(item, index, self) for index, item in enumerate(self._list)]
        return JsArray.adopt(arrived(made))

    def filter(self, function: Callable[..., Any], this: Any = None) -> JsArray:
        return JsArray.adopt([self._list[index] for index in self._matches(function)])

    def sort(self, compare: Any = None) -> JsArray:
        """Sort in place, by text unless ``compare(a, b)`` is given; undefined comes last."""
        self._list[:] = _sorted(self._list, compare)
        return self

    def toSorted(self, compare: Any = None) -> JsArray:
        return JsArray.adopt(_sorted(self._list, compare))

    def toReversed(self) -> JsArray:
        return JsArray.adopt(self._list[::-1])

    def toSpliced(self, start: Any = 0, count: Any = None, *items: Any) -> JsArray:
        copy = JsArray.adopt(list(self._list))
        copy.splice(start, count, *items)
        return copy

    def with_(self, index: Any, value: Any) -> JsArray:
        """A copy with one item replaced. Raises: RangeError when there is no such item."""
        position, size = to_integer(index), len(self._list)
        if not -size <= position < size:
            raise RangeError("Invalid index : " + to_string(position))
        copy = list(self._list)
        copy[int(position)] = arriving(value) if type(value) is float else value
        return JsArray.adopt(copy)

    def fill(self, value: Any = None, start: Any = None, end: Any = None) -> JsArray:
        size = len(self._list)
        for index in range(to_index(start, size, 0), to_index(end, size, size)):
            self[index] = value
        return self

    def copyWithin(self, target: Any, start: Any = None, end: Any = None) -> JsArray:
        size = len(self._list)
        at = to_index(target, size, 0)
        moved = self._list[to_index(start, size, 0) : to_index(end, size, size)][: size - at]
        self._list[at : at + len(moved)] = moved
        return self

    def flat(self, depth: Any = 1) -> JsArray:
        return JsArray.adopt(_flattened(self._list, to_integer(depth)))

    def flatMap(self, function: Callable[..., Any], this: Any = None) -> JsArray:
        return self.map(function).flat()


MutableSequence.register(JsArray)


def items_of(source: Any) -> list[Any]:
    """The elements of an iterable or array-like argument. Raises: TypeError for undefined and null."""
    if is_nullish(source):
        raise TypeError_(f"{to_string(source)} is not iterable")
    try:
        return list(iterable(source))
    except TypeError:
        length = get_property(source, "length")
        if length is None:
            return []
    return [get_property(source, str(index)) for index in range(int(to_integer(length)))]


def _sorted(items: list[Any], compare: Any) -> list[Any]:
    defined = [item for item in items if item is not None]
    if compare is None:
        defined.sort(key=_utf16)
    else:
        defined.sort(key=cmp_to_key(compare))
    return defined + [None] * (len(items) - len(defined))


def _utf16(item: Any) -> bytes:
    """A key that orders texts by UTF-16 code units, as JavaScript compares strings."""
    return to_string(item).encode("utf-16-be", "surrogatepass")


def _flattened(items: list[Any], depth: float) -> list[Any]:
    flat: list[Any] = []
    for item in items:
        if depth >= 1 and isinstance(item, JsArray):
            flat.extend(_flattened(item._list, depth - 1))
        else:
            flat.append(item)
    return flat
