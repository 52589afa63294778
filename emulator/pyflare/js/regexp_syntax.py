"""Regular expressions of JavaScript as patterns of Python's :mod:`re`.

The source is read by JavaScript's grammar (with what browsers allow beside it when there is no ``u`` flag), and every
part is written out in Python's notation with JavaScript's meaning, so nothing of the two notations can be mistaken.
Without ``u`` a pattern is over UTF-16 code units, with it over code points; see :class:`Translated`.

Source: https://tc39.es/ecma262/#sec-patterns and #sec-regular-expressions-patterns (Annex B)
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import Final, NoReturn

from .regexp_properties import Ranges, complement, property_ranges, ranges_of
from .regexp_sets import brackets, by_upper_case, escaped
from .utf16 import split_units, whole_characters

__all__ = ["PatternError", "Translated", "translate"]

_LINE_ENDS: Final[Ranges] = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
_DIGITS: Final[Ranges] = ((0x30, 0x39),)
_WORD: Final[Ranges] = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_SPACE: Final[Ranges] = (
    (0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029),
    (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF),
)  # fmt: skip
_CLASSES: Final = {"d": _DIGITS, "w": _WORD, "s": _SPACE}
_CONTROLS: Final = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13}
_SYNTAX_CHARACTERS: Final = frozenset("^$\\.*+?()[]{}|/")
_QUANTIFIER: Final = re.compile(r"\{([0-9]+)(?:(,)([0-9]*))?\}")
_GROUP_NAME: Final = re.compile(r"[\w$][\w$\u200c\u200d]*")
_MODIFIERS: Final = re.compile(r"([ims]*)(?:(-)([ims]*))?:")
_WORD_CHARACTER: Final = "(?-i:[0-9A-Z_a-z])"
_EMPTY: Final = "(?:)"
#: Python's own limit of a repetition.
_MOST_REPEATS: Final = 2**32 - 2


class PatternError(Exception):
    """A source that is no pattern, or one that Python cannot match; the text is V8's where it has one."""


@dataclass(frozen=True, slots=True)
class Translated:
    """A pattern for :func:`re.compile`, the flag already in it, and the groups' names with their numbers.

    ``by_units``: it matches text whose characters are UTF-16 code units (:func:`split_units`).
    """

    pattern: str
    names: dict[str, list[int]]
    by_units: bool


def translate(source: str, flags: str) -> Translated:
    """Raises: PatternError."""
    unicode = "u" in flags
    text = whole_characters(source) if unicode else split_units(source)
    reader = _Reader(text, unicode, "i" in flags, "m" in flags, "s" in flags)
    return Translated(reader.read(), reader.names, not unicode)


class _Reader:
    """Reads one pattern and writes it."""

    def __init__(
        self, text: str, unicode: bool, ignore_case: bool, multiline: bool, dot_all: bool
    ) -> None:
        self._text = text
        self._at = 0
        self._unicode = unicode
        self._ignore_case = ignore_case
        self._multiline = multiline
        self._dot_all = dot_all
        self._highest = 0xFFFF if not unicode else sys.maxunicode
        self._opened = 0
        self._closed: set[int] = set()
        self.names: dict[str, list[int]] = {}
        self._referenced: set[str] = set()
        self._count, self._has_names = _count_groups(text)

    def read(self) -> str:
        ignore_case = self._ignore_case
        pattern, _ = self._disjunction()
        if self._at < len(self._text):
            self._fail("Unmatched ')'")
        if not self._referenced <= self.names.keys():
            self._fail("Invalid named capture referenced")
        return f"(?i:{pattern})" if ignore_case else pattern

    def _fail(self, message: str) -> NoReturn:
        raise PatternError(message)

    def _peek(self, length: int = 1) -> str:
        return self._text[self._at : self._at + length]

    def _take(self, wanted: str) -> bool:
        if self._text.startswith(wanted, self._at):
            self._at += len(wanted)
            return True
        return False

    def _take_match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self._text, self._at)
        if found is not None:
            self._at = found.end()
        return found

    # Disjunctions, alternatives and terms.

    def _disjunction(self) -> tuple[str, set[str]]:
        """Gives the pattern and the names of its groups. A name may be used again in another alternative."""
        alternatives, names = [], set()
        while True:
            pattern, own = self._alternative()
            alternatives.append(pattern)
            names |= own
            if not self._take("|"):
                return "|".join(alternatives), names

    def _alternative(self) -> tuple[str, set[str]]:
        terms: list[str] = []
        names: set[str] = set()
        while self._at < len(self._text) and self._peek() not in ("|", ")"):
            term, repeatable, own = self._term()
            if names & own:
                self._fail("Duplicate capture group name")
            names |= own
            if repeatable is False:
                terms.append(term)
                continue
            quantifier = self._quantifier()
            if quantifier and repeatable is None:
                self._fail("Invalid quantifier")
            terms.append(f"(?:{term}){quantifier}" if quantifier else term)
        return "".join(terms), names

    def _term(self) -> tuple[str, bool | None, set[str]]:
        """One term, whether it may be repeated (None: trying to is an error of its own), and the names inside."""
        character = self._peek()
        self._at += 1
        match character:
            case "^":
                return self._line_start(), False, set()
            case "$":
                return self._line_end(), False, set()
            case ".":
                outside = () if self._dot_all else _LINE_ENDS
                return self._set(complement(outside), cased=False), True, set()
            case "(":
                return self._group()
            case "[":
                return self._class(), True, set()
            case "\\":
                term, repeatable = self._escape()
                return term, repeatable, set()
            case "*" | "+" | "?":
                self._fail("Nothing to repeat")
            case "{" if _QUANTIFIER.match(self._text, self._at - 1):
                self._fail("Nothing to repeat")
            case "{" | "}" | "]" if self._unicode:
                self._fail("Lone quantifier brackets")
        return self._literal(ord(character)), True, set()

    def _quantifier(self) -> str:
        quantifier = ""
        if self._peek() in ("*", "+", "?") and self._peek():
            quantifier = self._peek()
            self._at += 1
        elif (found := self._take_match(_QUANTIFIER)) is not None:
            quantifier = self._counted(found)
        elif self._unicode and self._peek() == "{":
            self._fail("Incomplete quantifier")
        if quantifier and self._take("?"):
            quantifier += "?"
        return quantifier

    def _counted(self, found: re.Match[str]) -> str:
        least = int(found[1])
        most = least if found[2] is None else int(found[3]) if found[3] else None
        if most is not None and most < least:
            self._fail("numbers out of order in {} quantifier")
        if least > _MOST_REPEATS:
            self._fail("Regular expression too large")
        if most is None or most > _MOST_REPEATS:
            return f"{{{least},}}"
        return f"{{{least},{most}}}"

    def _line_start(self) -> str:
        return f"(?<!{self._written(complement(_LINE_ENDS))})" if self._multiline else r"\A"

    def _line_end(self) -> str:
        return f"(?!{self._written(complement(_LINE_ENDS))})" if self._multiline else r"\Z"

    # Groups.

    def _group(self) -> tuple[str, bool | None, set[str]]:
        if not self._take("?"):
            return self._capturing(set())
        for opening in ("=", "!", "<=", "<!"):
            if self._take(opening):
                inner, names = self._to_closing()
                repeatable = None if self._unicode or len(opening) == 2 else True
                return f"(?{opening}{inner})", repeatable, names
        if self._take("<"):
            return self._capturing({self._group_name()})
        if self._take(":"):
            inner, names = self._to_closing()
            return f"(?:{inner})", True, names
        found = self._take_match(_MODIFIERS)
        if found is None:
            self._fail("Invalid group")
        return self._modified(found)

    def _to_closing(self) -> tuple[str, set[str]]:
        inner = self._disjunction()
        if not self._take(")"):
            self._fail("Unterminated group")
        return inner

    def _capturing(self, names: set[str]) -> tuple[str, bool, set[str]]:
        self._opened += 1
        number = self._opened
        for name in names:
            self.names.setdefault(name, []).append(number)
        inner, inner_names = self._to_closing()
        if names & inner_names:
            self._fail("Duplicate capture group name")
        self._closed.add(number)
        return f"({inner})", True, names | inner_names

    def _group_name(self) -> str:
        found = self._take_match(_GROUP_NAME)
        if found is None or found[0][0].isdecimal() or not self._take(">"):
            self._fail("Invalid capture group name")
        return found[0]

    def _modified(self, found: re.Match[str]) -> tuple[str, bool, set[str]]:
        added, removed = found[1], found[3] or ""
        letters = added + removed
        if len(set(letters)) != len(letters):
            self._fail("Repeated flag in modifier group" if letters else "Invalid group")
        if not letters:
            self._fail("Invalid flag group")
        before = self._ignore_case, self._multiline, self._dot_all
        self._ignore_case, self._multiline, self._dot_all = (
            (held or letter in added) and letter not in removed
            for held, letter in zip(before, "ims", strict=True)
        )
        inner, names = self._to_closing()
        cased = "i" if self._ignore_case else "-i"
        self._ignore_case, self._multiline, self._dot_all = before
        return f"(?{cased}:{inner})", True, names

    # Escapes.

    def _escape(self) -> tuple[str, bool]:
        """What follows a backslash outside of a class, and whether it may be repeated."""
        letter = self._peek()
        if not letter:
            self._fail("\\ at end of pattern")
        if letter in "bB":
            self._at += 1
            return self._word_boundary(letter), False
        if (ranges := self._class_escape()) is not None:
            return self._set(ranges, cased=letter in "pP"), True
        if letter == "k" and (self._unicode or self._has_names):
            self._at += 1
            return self._named_reference(), True
        if letter in "123456789" and (reference := self._numbered_reference()) is not None:
            return reference, True
        return self._literal(self._character_escape(in_class=False)), True

    def _word_boundary(self, letter: str) -> str:
        word = _WORD_CHARACTER
        if self._unicode and self._ignore_case:
            word = "(?-i:[0-9A-Z_a-z\u017f\u212a])"
        if letter == "b":
            return f"(?:(?<={word})(?!{word})|(?<!{word})(?={word}))"
        return f"(?:(?<={word})(?={word})|(?<!{word})(?!{word}))"

    def _class_escape(self) -> Ranges | None:
        """``d``, ``w``, ``s``, their opposites, and properties; None for another escape."""
        letter = self._peek()
        if letter and letter in "dDwWsS":
            self._at += 1
            ranges = _CLASSES[letter.lower()]
            if letter in "wW" and self._unicode and self._ignore_case:
                ranges = ranges_of((*ranges, (0x17F, 0x17F), (0x212A, 0x212A)))
            return ranges if letter.islower() else complement(ranges)
        if letter and letter in "pP" and self._unicode:
            return self._property()
        return None

    def _property(self) -> Ranges:
        negated = self._peek() == "P"
        end = self._text.find("}", self._at)
        if self._peek(2)[1:] != "{" or end < 0:
            self._fail("Invalid property name")
        text = self._text[self._at + 2 : end]
        self._at = end + 1
        ranges = property_ranges(text)
        if ranges is None:
            self._fail(
                f"Invalid property name, or one that Pyflare does not support: \\p{{{text}}}. General categories, Any, "
                "ASCII, Assigned, White_Space, Uppercase, Lowercase and ID_Start are supported"
            )
        return complement(ranges) if negated else ranges

    def _named_reference(self) -> str:
        if not self._take("<"):
            self._fail("Invalid named reference")
        found = self._take_match(_GROUP_NAME)
        if found is None or not self._take(">"):
            self._fail("Invalid named reference")
        name = found[0]
        self._referenced.add(name)
        # The group of that name which took part, empty when none did.
        return "".join(map(self._reference, self.names.get(name, ()))) or _EMPTY

    def _numbered_reference(self) -> str | None:
        end = self._at
        while end < len(self._text) and self._text[end] in "0123456789":
            end += 1
        number = int(self._text[self._at : end])
        if number > self._count:
            if self._unicode:
                self._fail("Invalid escape")
            return None
        self._at = end
        return self._reference(number)

    def _reference(self, number: int) -> str:
        """What a group matched. A group that has not taken part, or is still open, stands for the empty string."""
        return f"(?({number})\\{number}|)" if number in self._closed else _EMPTY

    def _character_escape(self, *, in_class: bool) -> int:
        """The code point that an escape stands for."""
        letter = self._peek()
        if not letter:
            self._fail("\\ at end of pattern")
        self._at += 1
        if letter in _CONTROLS:
            return _CONTROLS[letter]
        if letter == "c":
            return self._control(in_class)
        if letter in "01234567":
            return self._octal(letter, in_class)
        if letter == "x":
            return self._hexadecimal(2, letter)
        if letter == "u":
            return self._unicode_escape()
        if self._unicode and letter not in _SYNTAX_CHARACTERS and not (in_class and letter == "-"):
            self._fail("Invalid escape")
        return ord(letter)

    def _control(self, in_class: bool) -> int:
        following = self._peek()
        letters = following.isascii() and following.isalpha()
        if letters or (in_class and not self._unicode and re.match(r"[0-9_]", following)):
            self._at += 1
            return ord(following) % 32
        if self._unicode:
            self._fail("Invalid Unicode escape")
        # The backslash stands for itself, and the letter is read again.
        self._at -= 1
        return ord("\\")

    def _octal(self, first: str, in_class: bool) -> int:
        if first == "0" and not (self._peek() and self._peek() in "0123456789"):
            return 0
        if self._unicode:
            self._fail("Invalid class escape" if in_class else "Invalid decimal escape")
        digits = first
        while len(digits) < 3 and self._peek() and self._peek() in "01234567":
            if int(digits + self._peek(), 8) > 0xFF:
                break
            digits += self._peek()
            self._at += 1
        return int(digits, 8)

    def _hexadecimal(self, length: int, letter: str) -> int:
        digits = self._peek(length)
        if re.fullmatch(f"[0-9A-Fa-f]{{{length}}}", digits) is None:
            if self._unicode:
                self._fail("Invalid Unicode escape" if letter == "u" else "Invalid escape")
            return ord(letter)
        self._at += length
        return int(digits, 16)

    def _unicode_escape(self) -> int:
        if not self._unicode:
            return self._hexadecimal(4, "u")
        if self._take("{"):
            found = self._take_match(re.compile(r"([0-9A-Fa-f]+)\}"))
            if found is None or int(found[1], 16) > sys.maxunicode:
                self._fail("Invalid Unicode escape")
            return int(found[1], 16)
        unit = self._hexadecimal(4, "u")
        if 0xD800 <= unit <= 0xDBFF:
            found = self._take_match(re.compile(r"\\u([dD][c-fC-F][0-9A-Fa-f]{2})"))
            if found is not None:
                return 0x10000 + ((unit - 0xD800) << 10) + int(found[1], 16) - 0xDC00
        return unit

    # Characters and sets of characters.

    def _literal(self, point: int) -> str:
        if self._ignore_case and not self._unicode:
            return self._set(((point, point),))
        return escaped(point)

    def _class(self) -> str:
        negated = self._take("^")
        members: list[tuple[int, int]] = []
        while not self._take("]"):
            if self._at >= len(self._text):
                self._fail("Unterminated character class")
            first = self._class_member()
            if self._peek() != "-" or self._peek(2) in ("-", "-]"):
                members.extend(first)
                continue
            self._at += 1
            if self._at >= len(self._text):
                self._fail("Unterminated character class")
            last = self._class_member()
            if isinstance(first, _Point) and isinstance(last, _Point):
                if first.point > last.point:
                    self._fail("Range out of order in character class")
                members.append((first.point, last.point))
            elif self._unicode:
                self._fail("Invalid character class")
            else:
                members += [*first, (0x2D, 0x2D), *last]
        return self._set(ranges_of(members), negated=negated)

    def _class_member(self) -> tuple[tuple[int, int], ...]:
        character = self._peek()
        self._at += 1
        if character != "\\":
            return _Point(ord(character))
        if self._take("b"):
            return _Point(8)
        if (ranges := self._class_escape()) is not None:
            return ranges
        return _Point(self._character_escape(in_class=True))

    def _set(self, ranges: Ranges, *, cased: bool = True, negated: bool = False) -> str:
        """A set of characters; ``cased`` when the flag for letter case applies to it."""
        if not self._ignore_case:
            return self._written(ranges, negated)
        if not cased:
            return f"(?-i:{self._written(ranges, negated)})"
        return self._written(ranges, negated) if self._unicode else by_upper_case(ranges, negated)

    def _written(self, ranges: Ranges, negated: bool = False) -> str:
        return brackets(ranges, negated, self._highest)


class _Point(tuple[tuple[int, int], ...]):
    """A single character of a class, which a range may start or end with."""

    __slots__ = ()

    def __new__(cls, point: int) -> _Point:
        return super().__new__(cls, ((point, point),))

    @property
    def point(self) -> int:
        return self[0][0]


_SKIPPED: Final = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]?|\((?!\?)|\(\?<(?![=!])([^>]*)>", re.DOTALL)


def _count_groups(text: str) -> tuple[int, bool]:
    """How many groups capture, and whether one has a name; both decide how escapes before them are read."""
    opening = [found for found in _SKIPPED.finditer(text) if found[0][0] == "("]
    return len(opening), any(found[1] is not None for found in opening)
