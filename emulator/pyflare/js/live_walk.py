"""Iterating over a map or a set that changes meanwhile, as JavaScript does it.

What was removed is skipped, what was added comes at the end, and so does what was removed and added again. As long as
nothing is added or removed, an iteration costs what one over a list of the keys costs.

Source: https://tc39.es/ecma262/#sec-createmapiterator
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["Walks"]


class _Walk:
    """One iteration: the keys at its start and how many were given; ``left`` those to come, once they changed."""

    __slots__ = ("given", "keys", "left")

    def __init__(self, keys: list[Any]) -> None:
        self.keys = keys
        self.given = 0
        self.left: OrderedDict[Any, None] | None = None

    def changing(self) -> OrderedDict[Any, None]:
        if self.left is None:
            self.left = OrderedDict.fromkeys(self.keys[self.given :])
        return self.left


class Walks(list[_Walk]):
    """The iterations under way over one dict. Who adds or removes keys says so here; empty is false."""

    __slots__ = ()

    def over(self, keys: Iterable[Any]) -> Iterator[Any]:
        """Iterate over the keys of the dict."""
        walk = _Walk(list(keys))
        self.append(walk)
        try:
            for given, key in enumerate(walk.keys, 1):
                walk.given = given
                yield key
                if walk.left is not None:
                    break
            while walk.left:
                yield walk.left.popitem(last=False)[0]
        finally:
            self.remove(walk)

    def added(self, key: Any) -> None:
        for walk in self:
            walk.changing()[key] = None

    def removed(self, key: Any) -> None:
        for walk in self:
            walk.changing().pop(key, None)

    def cleared(self) -> None:
        for walk in self:
            walk.changing().clear()
