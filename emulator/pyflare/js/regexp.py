"""``js.RegExp`` over Python's :mod:`re`; :mod:`pyflare.js.regexp_syntax` translates the patterns.

Places in a text (``index``, ``lastIndex``, ``indices``) count UTF-16 code units, as all of JavaScript does.

Source: https://tc39.es/ecma262/#sec-regexp-regular-expression-objects
"""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from typing import Any, Final

from .array import JsArray
from .error import SyntaxError_
from .number import to_integer, to_string
from .regexp_syntax import PatternError, Translated, translate
from .utf16 import split_units, whole_characters
from .value import JsInstance, JsObject, jsnull

__all__ = ["RegExp"]

_ACCEPTED_FLAGS: Final = frozenset("dgimsuy")
_IN_SOURCE: Final = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|/|[\n\r\u2028\u2029]", re.DOTALL)
_LINE_ENDS: Final = {"\n": r"\n", "\r": r"\r", "\u2028": r"\u2028", "\u2029": r"\u2029"}

_LINE_ENDS_ESCAPED: Final = str.maketrans(_LINE_ENDS)


@lru_cache(maxsize=512)
def _compiled(source: str, flags: str) -> tuple[Translated, re.Pattern[str]]:
    """Raises: SyntaxError."""
    try:
        translated = translate(source, flags)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return translated, re.compile(translated.pattern)
    except PatternError as error:
        reason = str(error)
    except (re.error, OverflowError, RecursionError) as error:
        reason = f"Python's re, which Pyflare matches with, cannot match it: {error}"
    raise SyntaxError_(f"Invalid regular expression: /{source}/{flags}: {reason}")


def _written(source: str) -> str:
    """The source as it could stand between slashes."""

    def replaced(found: re.Match[str]) -> str:
        text = found[0]
        if text == "/":
            return r"\/"
        return (text[1:] if text[1:] in _LINE_ENDS else text).translate(_LINE_ENDS_ESCAPED)

    return _IN_SOURCE.sub(replaced, source) or "(?:)"


class RegExp(JsInstance, js_name="RegExp"):
    """A regular expression with ``test`` and ``exec``."""

    def __init__(self, source: str, flags: str) -> None:
        if not set(flags) <= _ACCEPTED_FLAGS or len(set(flags)) != len(flags):
            unsupported = ": Pyflare does not support the flag v" if "v" in flags else ""
            raise SyntaxError_(
                f"Invalid flags supplied to RegExp constructor '{flags}'{unsupported}"
            )
        self.flags = "".join(sorted(flags))
        self._translated, self._pattern = _compiled(source, self.flags)
        self.source = _written(source)
        self.lastIndex = 0

    @classmethod
    def _construct(cls, pattern: Any = "", flags: Any = None, *_: Any) -> Any:
        """Raises: SyntaxError for flags or a pattern that cannot be read."""
        if isinstance(pattern, RegExp):
            return cls._make(pattern.source, pattern.flags if flags is None else to_string(flags))
        return cls._make(
            "" if pattern is None else to_string(pattern), "" if flags is None else to_string(flags)
        )

    @classmethod
    def _call(cls, *args: Any) -> Any:
        return cls._construct(*args)

    # `global` is a reserved word, so Pyodide reaches this as `global_`.
    @property
    def global_(self) -> bool:
        return "g" in self.flags

    @property
    def ignoreCase(self) -> bool:
        return "i" in self.flags

    @property
    def multiline(self) -> bool:
        return "m" in self.flags

    @property
    def dotAll(self) -> bool:
        return "s" in self.flags

    @property
    def unicode(self) -> bool:
        return "u" in self.flags

    @property
    def hasIndices(self) -> bool:
        return "d" in self.flags

    @property
    def sticky(self) -> bool:
        return "y" in self.flags

    def _match(self, text: str) -> _Match | None:
        places = _Places(text, self._translated.by_units)
        moves = self.global_ or self.sticky
        start = to_integer(self.lastIndex) if moves else 0
        found = None
        if 0 <= start <= places.length:
            find = self._pattern.match if self.sticky else self._pattern.search
            found = find(places.text, places.inward(int(start)))
        if moves:
            self.lastIndex = places.outward(found.end()) if found else 0
        return None if found is None else _Match(found, places)

    def test(self, text: Any = None) -> bool:
        return self._match(to_string(text)) is not None

    def exec(self, text: Any = None) -> Any:
        """The whole match and its groups as an array with ``index``, ``input`` and ``groups``; null when none."""
        found = self._match(string := to_string(text))
        if found is None:
            return jsnull
        match: Any = MatchArray.adopt(found.texts())
        match.index = found.places.outward(found.match.start())
        match.input = string
        match.groups = self._named(match)
        if self.hasIndices:
            match.indices = MatchArray.adopt(found.spans())
            match.indices.groups = self._named(match.indices)
        return match

    def _named(self, groups: JsArray) -> JsObject | None:
        """The groups with names; of several with one name the one that took part."""
        names = self._translated.names
        if not names:
            return None
        return JsObject.adopt(
            {
                name: next(
                    (groups[number] for number in numbers if groups[number] is not None), None
                )
                for name, numbers in names.items()
            }
        )

    def toString(self) -> str:
        return f"/{self.source}/{self.flags}"


class _Places:
    """A text as its pattern sees it, and the way from its places to those of UTF-16 and back."""

    __slots__ = ("_same", "length", "text")

    def __init__(self, text: str, by_units: bool) -> None:
        self.text = split_units(text) if by_units else whole_characters(text)
        self._same = by_units or text.isascii() or max(self.text) <= "\uffff"
        self.length = len(self.text) if self._same else len(split_units(self.text))

    def outward(self, place: int) -> int:
        return place if self._same or place < 0 else len(split_units(self.text[:place]))

    def inward(self, place: int) -> int:
        if self._same:
            return place
        return len(whole_characters(split_units(self.text)[:place]))


class _Match:
    __slots__ = ("match", "places")

    def __init__(self, match: re.Match[str], places: _Places) -> None:
        self.match = match
        self.places = places

    def texts(self) -> list[Any]:
        groups = [self.match.group(), *self.match.groups()]
        return [None if text is None else whole_characters(text) for text in groups]

    def spans(self) -> list[Any]:
        outward = self.places.outward
        return [
            None if start < 0 else JsArray.adopt([outward(start), outward(end)])
            for start, end in self.match.regs
        ]


class MatchArray(JsArray, js_name="Array"):
    """The result of ``exec``; ``index`` is the place of the match, not the list's search method."""

    __slots__ = ("groups", "index", "indices", "input")

    groups: Any
    index: Any
    indices: Any
    input: str
