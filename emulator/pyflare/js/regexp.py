"""``js.RegExp`` over Python's :mod:`re`.

Patterns are translated where the two notations differ. Sticky and Unicode-set patterns are not supported.

Source: https://tc39.es/ecma262/#sec-regexp-regular-expression-objects
"""

from __future__ import annotations

import re
from typing import Any, Final

from .array import JsArray
from .error import SyntaxError_
from .number import to_string
from .value import JsInstance, JsObject, jsnull

__all__ = ["RegExp"]

_FLAGS: Final = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}
_ACCEPTED_FLAGS: Final = frozenset("dgimsuy")
#: Where JavaScript's notation means something else in Python, outside and inside of a character class.
_DIFFERENCES: Final = re.compile(
    r"\\c(?P<control>[A-Za-z])|\\u\{(?P<point>[0-9A-Fa-f]+)\}|\\k<(?P<back>[^>]*)>|(?P<slash>\\/)"
    r"|(?P<digit>\\[dD])|(?P<word>\\[wW])|\\.|(?P<any>\[\^\])|(?P<none>\[\])|\(\?<(?P<name>[A-Za-z_$][\w$]*)>"
    r"|(?P<open>\[)|(?P<close>\])|(?P<end>\$)|(?P<doubled>&&|\|\||~~|--)",
    re.DOTALL,
)


def _translate(source: str, multiline: bool) -> str:
    inside = False

    def replaced(found: re.Match[str]) -> str:
        nonlocal inside
        text = found.group()
        if (letter := found["control"]) is not None:
            return f"\\x{ord(letter) % 32:02x}"
        if (point := found["point"]) is not None:
            return re.escape(chr(int(point, 16)))
        if found["slash"]:
            return "/"
        if found["digit"]:
            return (
                ("0-9" if inside else "[0-9]") if text == r"\d" else ("\\D" if inside else "[^0-9]")
            )
        if found["word"] and not inside:
            return "[A-Za-z0-9_]" if text == r"\w" else "[^A-Za-z0-9_]"
        if found["open"]:
            was_inside, inside = inside, True
            return r"\[" if was_inside else "["
        if found["close"]:
            was_inside, inside = inside, False
            return "]" if was_inside else r"\]"
        if inside and (found["any"] or found["none"]):
            inside = False
            return "\\" + text
        if inside:
            # Python warns of a doubled sign in a class, which it may take for an operation on sets one day.
            return f"{text[0]}\\{text[1]}" if found["doubled"] else text
        if (name := found["back"]) is not None:
            return f"(?P={name})"
        if (name := found["name"]) is not None:
            return f"(?P<{name}>"
        if found["any"]:
            return r"[\s\S]"
        if found["none"]:
            return "(?!)"
        # Python's `$` also matches before a line feed at the very end.
        return r"\Z" if found["end"] and not multiline else text

    return _DIFFERENCES.sub(replaced, source)


class RegExp(JsInstance, js_name="RegExp"):
    """A regular expression with ``test`` and ``exec``."""

    def __init__(self, source: str, flags: str) -> None:
        if not set(flags) <= _ACCEPTED_FLAGS or len(set(flags)) != len(flags):
            raise SyntaxError_(f"Invalid flags supplied to RegExp constructor '{flags}'")
        self.source = source or "(?:)"
        self.flags = "".join(sorted(flags))
        self.lastIndex = 0
        options = re.RegexFlag(0)
        for flag in flags:
            options |= _FLAGS.get(flag, re.RegexFlag(0))
        try:
            self._pattern = re.compile(_translate(source, "m" in flags), options)
        except (re.error, OverflowError) as error:
            raise SyntaxError_(f"Invalid regular expression: /{source}/{flags}: {error}") from None

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
    def sticky(self) -> bool:
        return "y" in self.flags

    def _match(self, text: str) -> re.Match[str] | None:
        moves = self.global_ or self.sticky
        start = self.lastIndex if moves else 0
        found = None
        if start <= len(text):
            find = self._pattern.match if self.sticky else self._pattern.search
            found = find(text, start)
        if moves:
            self.lastIndex = found.end() if found else 0
        return found

    def test(self, text: Any = None) -> bool:
        return self._match(to_string(text)) is not None

    def exec(self, text: Any = None) -> Any:
        """The whole match and its groups as an array with ``index``, ``input`` and ``groups``; null when none."""
        found = self._match(string := to_string(text))
        if found is None:
            return jsnull
        match: Any = MatchArray.adopt([found.group(), *found.groups()])
        match.index = found.start()
        match.input = string
        named = found.groupdict()
        match.groups = JsObject.adopt(named) if named else None
        return match

    def toString(self) -> str:
        return f"/{self.source}/{self.flags}"


class MatchArray(JsArray, js_name="Array"):
    """The result of ``exec``; ``index`` is the place of the match, not the list's search method."""

    __slots__ = ("groups", "index", "input")

    groups: Any
    index: Any
    input: str
