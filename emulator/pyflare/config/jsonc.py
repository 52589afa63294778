"""JSON with comments, trailing commas and the place of every value.

The grammar and the names of the errors are those of the reader that wrangler uses for both
`wrangler.json` and `wrangler.jsonc` (npm package jsonc-parser, trailing commas allowed).
"""

from __future__ import annotations

from json import JSONDecodeError, decoder
from json.scanner import NUMBER_RE
from typing import TYPE_CHECKING, NamedTuple, NoReturn, cast

if TYPE_CHECKING:
    import re
    from collections.abc import Callable


Path = tuple[str | int, ...]

# The fast parts of the standard reader; the type stubs leave them out.
_WHITESPACE = cast("re.Pattern[str]", vars(decoder)["WHITESPACE"])
_scan_string = cast("Callable[[str, int, bool], tuple[str, int]]", vars(decoder)["scanstring"])

MAX_DEPTH = 128

_KEYWORDS: tuple[tuple[str, bool | None], ...] = (("true", True), ("false", False), ("null", None))
_WORD_END = frozenset(' \t\r\n}]{[":,/')

EXPLANATIONS = {
    "InvalidSymbol": "This is not a JSON value. Texts and keys need double quotes.",
    "PropertyNameExpected": 'A key in double quotes is expected here, such as "name".',
    "ValueExpected": "A value is expected here.",
    "ColonExpected": 'A ":" is expected between the key and its value.',
    "CommaExpected": 'A "," is expected between two entries.',
    "CloseBraceExpected": 'A "}" is missing.',
    "CloseBracketExpected": 'A "]" is missing.',
    "EndOfFileExpected": "The configuration ends before this; only one value is allowed.",
    "UnexpectedEndOfComment": 'This comment is never closed with "*/".',
    "UnexpectedEndOfString": "This text is not closed with a double quote on its line.",
    "UnexpectedEndOfNumber": "This number lacks digits.",
    "InvalidUnicode": 'Four hexadecimal digits are expected after "\\u".',
    "InvalidEscapeCharacter": 'Only \\" \\\\ \\/ \\b \\f \\n \\r \\t \\u are escapes in JSON.',
    "InvalidCharacter": "A control character in a text must be escaped.",
    "TooDeep": f"Objects and arrays are nested more than {MAX_DEPTH} deep.",
}


class JsoncSyntaxError(ValueError):
    """`code` is the reader's name of the mistake, `offset` its index in the text."""

    def __init__(self, code: str, offset: int) -> None:
        super().__init__(code, offset)
        self.code = code
        self.offset = offset


class Document(NamedTuple):
    """`offsets` maps the path of a value to where its key (or the array element) starts;
    `repeated` names the keys that an object holds more than once."""

    value: object
    offsets: dict[Path, int]
    repeated: tuple[Path, ...]


def read(text: str) -> Document:
    """Read `text` (without a byte order mark). Raises JsoncSyntaxError for the first mistake."""
    reader = _Reader(text)
    value = reader.document()
    return Document(value, reader.offsets, tuple(reader.repeated))


class _Reader:
    __slots__ = ("offsets", "pos", "repeated", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.pos = 0
        self.offsets: dict[Path, int] = {}
        self.repeated: list[Path] = []

    def document(self) -> object:
        self._skip()
        value = self._value((), 0)
        if self._skip():
            self._check_symbol()
            self._fail("EndOfFileExpected")
        return value

    def _fail(self, code: str, offset: int | None = None) -> NoReturn:
        raise JsoncSyntaxError(code, self.pos if offset is None else offset)

    def _skip(self) -> str:
        """Pass blanks and comments; the next character, or nothing at the end."""
        text = self.text
        while True:
            blank = _WHITESPACE.match(text, self.pos)
            if blank is not None:
                self.pos = blank.end()
            if not text.startswith("/", self.pos):
                return text[self.pos : self.pos + 1]
            if text.startswith("//", self.pos):
                end = text.find("\n", self.pos)
                self.pos = len(text) if end < 0 else end
            elif text.startswith("/*", self.pos):
                end = text.find("*/", self.pos + 2)
                if end < 0:
                    self._fail("UnexpectedEndOfComment")
                self.pos = end + 2
            else:
                self._fail("InvalidSymbol")

    def _keyword(self) -> tuple[str, bool | None] | None:
        for word, value in _KEYWORDS:
            if self.text.startswith(word, self.pos):
                after = self.text[self.pos + len(word) : self.pos + len(word) + 1]
                if not after or after in _WORD_END:
                    return word, value
        return None

    def _check_symbol(self) -> None:
        """A bare word is a mistake of its own, before what is missing at its place."""
        char = self.text[self.pos : self.pos + 1]
        if char and char not in '{}[],:"-0123456789' and self._keyword() is None:
            self._fail("InvalidSymbol")

    def _value(self, path: Path, depth: int) -> object:
        char = self.text[self.pos : self.pos + 1]
        if char == '"':
            return self._string()
        if char == "{" or char == "[":
            if depth >= MAX_DEPTH:
                self._fail("TooDeep")
            return self._object(path, depth + 1) if char == "{" else self._array(path, depth + 1)
        if char == "-" or (char.isascii() and char.isdigit()):
            return self._number()
        keyword = self._keyword()
        if keyword is not None:
            self.pos += len(keyword[0])
            return keyword[1]
        self._check_symbol()
        raise JsoncSyntaxError("ValueExpected", self.pos)

    def _object(self, path: Path, depth: int) -> dict[str, object]:
        result: dict[str, object] = {}
        self.pos += 1
        char = self._skip()
        needs_comma = False
        while char and char != "}":
            if char == ",":
                if not needs_comma:
                    self._fail("ValueExpected")
                self.pos += 1
                char = self._skip()
                if char == "}":
                    break
            elif needs_comma:
                self._check_symbol()
                self._fail("CommaExpected")
            if not char:
                break
            if char != '"':
                self._check_symbol()
                self._fail("PropertyNameExpected")
            start = self.pos
            key = self._string()
            here = (*path, key)
            if key in result:
                self.repeated.append(here)
            self.offsets[here] = start
            if self._skip() != ":":
                self._check_symbol()
                self._fail("ColonExpected")
            self.pos += 1
            self._skip()
            result[key] = self._value(here, depth)
            needs_comma = True
            char = self._skip()
        if char != "}":
            self._fail("CloseBraceExpected")
        self.pos += 1
        return result

    def _array(self, path: Path, depth: int) -> list[object]:
        result: list[object] = []
        self.pos += 1
        char = self._skip()
        needs_comma = False
        while char and char != "]":
            if char == ",":
                if not needs_comma:
                    self._fail("ValueExpected")
                self.pos += 1
                char = self._skip()
                if char == "]":
                    break
            elif needs_comma:
                self._check_symbol()
                self._fail("CommaExpected")
            if not char:
                break
            here = (*path, len(result))
            self.offsets[here] = self.pos
            result.append(self._value(here, depth))
            needs_comma = True
            char = self._skip()
        if char != "]":
            self._fail("CloseBracketExpected")
        self.pos += 1
        return result

    def _number(self) -> int | float:
        start = self.pos
        match = NUMBER_RE.match(self.text, start)
        if match is None:
            self._fail("InvalidSymbol")
        whole, fraction, exponent = match.groups()
        self.pos = match.end()
        after = self.text[self.pos : self.pos + 1]
        if (after == "." and fraction is None) or (after in ("e", "E") and exponent is None):
            self._fail("UnexpectedEndOfNumber", start)
        # Python refuses to turn thousands of digits into an int; JavaScript has doubles anyway.
        if fraction is None and exponent is None and len(whole) <= 4000:
            return int(whole)
        return float(match.group())

    def _string(self) -> str:
        try:
            value, self.pos = _scan_string(self.text, self.pos + 1, True)
        except JSONDecodeError as error:
            self._fail(*_string_mistake(self.text, self.pos, error.pos))
        return value


def _string_mistake(text: str, start: int, pos: int) -> tuple[str, int]:
    """The name and the place of what is wrong in the string that opens at `start`. The standard
    reader stopped at `pos`, which is the opening quote when the text ends inside the string."""
    if pos == start:
        return "UnexpectedEndOfString", start
    if text[pos : pos + 1] in ("\n", "\r"):
        return "UnexpectedEndOfString", start
    if text[pos : pos + 1] < " ":
        return "InvalidCharacter", pos
    escape = pos if text[pos : pos + 1] == "\\" else pos - 1
    if text[escape + 1 : escape + 2] in ("\n", "\r", ""):
        return "UnexpectedEndOfString", start
    if text[escape + 1 : escape + 2] == "u":
        return "InvalidUnicode", escape
    return "InvalidEscapeCharacter", escape
