"""JavaScript iterators over Python ones: what ``headers.entries()``, ``formData.keys()`` and their kin give."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .value import JsInstance, JsObject

__all__ = ["JsIterator", "iterate"]


class JsIterator(JsInstance, js_name="Iterator"):
    """An iterator that Python code loops over and that also has JavaScript's ``next()``.

    Args: ``items`` anything iterable; it is consumed lazily.
    """

    def __init__(self, items: Iterable[Any]) -> None:
        self._items = iter(items)

    def __iter__(self) -> Iterator[Any]:
        return self._items

    def __next__(self) -> Any:
        return next(self._items)

    def next(self, *_: Any) -> JsObject:
        """The next ``{done, value}``."""
        for value in self._items:
            return JsObject.adopt({"done": False, "value": value})
        return JsObject.adopt({"done": True, "value": None})


def iterate(items: Iterable[Any]) -> JsIterator:
    """A JavaScript iterator over these items."""
    made: JsIterator = JsIterator._make(items)
    return made
