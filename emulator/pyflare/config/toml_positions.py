"""Where the keys of a TOML document stand.

The standard reader gives values without places. This scan runs over a text that it has already
accepted, so it checks nothing: it only walks over keys and values and notes where they start.
"""

from __future__ import annotations

import re

Path = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BASIC_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_LITERAL_STRING = re.compile(r"'[^'\n]*'")
_LONG_BASIC = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}(?!")', re.DOTALL)
_LONG_LITERAL = re.compile(r"'''.*?'{3,5}(?!')", re.DOTALL)
_SCALAR = re.compile(r"[^,\]}#\n]+")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)")
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r"}


def scan(text: str) -> dict[Path, int]:
    """The offset of every key, array element and table header, by path."""
    scanner = _Scanner(text)
    try:
        scanner.statements()
    except _Lost:
        pass  # places are a help for the reader of a message; fewer of them is no error
    return scanner.offsets


class _Lost(Exception):
    pass


class _Scanner:
    __slots__ = ("arrays", "offsets", "pos", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.pos = 0
        self.offsets: dict[Path, int] = {}
        self.arrays: dict[Path, int] = {}

    def statements(self) -> None:
        table: Path = ()
        while True:
            self._pass(_BLANK)
            if self.pos >= len(self.text):
                return
            start = self.pos
            if self.text.startswith("[", start):
                table = self._header()
                self.offsets.setdefault(table, start)
            else:
                self._pair(table)

    def _pass(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.pos)
        if match is None:
            raise _Lost
        self.pos = match.end()
        return match.group()

    def _expect(self, char: str) -> None:
        self._pass(_SPACE)
        if not self.text.startswith(char, self.pos):
            raise _Lost
        self.pos += len(char)

    def _header(self) -> Path:
        is_array = self.text.startswith("[[", self.pos)
        self.pos += 2 if is_array else 1
        names = self._dotted_key()
        self._expect("]]" if is_array else "]")
        if not is_array:
            return self._resolve((), names)
        owner = (*self._resolve((), names[:-1]), names[-1])
        index = self.arrays.get(owner, -1) + 1
        self.arrays[owner] = index
        self.offsets.setdefault(owner, self.pos)
        return (*owner, index)

    def _resolve(self, base: Path, names: list[str]) -> Path:
        """A name that stands for an array of tables means its latest element."""
        path = base
        for name in names:
            path = (*path, name)
            if path in self.arrays:
                path = (*path, self.arrays[path])
        return path

    def _dotted_key(self) -> list[str]:
        names = [self._simple_key()]
        while True:
            self._pass(_SPACE)
            if not self.text.startswith(".", self.pos):
                return names
            self.pos += 1
            names.append(self._simple_key())

    def _simple_key(self) -> str:
        self._pass(_SPACE)
        if self.text.startswith('"', self.pos):
            return _ESCAPE.sub(_unescape, self._pass(_BASIC_STRING)[1:-1])
        if self.text.startswith("'", self.pos):
            return self._pass(_LITERAL_STRING)[1:-1]
        return self._pass(_BARE_KEY)

    def _pair(self, table: Path) -> None:
        self._pass(_SPACE)
        start = self.pos
        path = (*table, *self._dotted_key())
        for length in range(len(table) + 1, len(path) + 1):
            self.offsets.setdefault(path[:length], start)
        self._expect("=")
        self._value(path)

    def _value(self, path: Path) -> None:
        self._pass(_SPACE)
        text = self.text
        if text.startswith('"""', self.pos):
            self._pass(_LONG_BASIC)
        elif text.startswith("'''", self.pos):
            self._pass(_LONG_LITERAL)
        elif text.startswith('"', self.pos):
            self._pass(_BASIC_STRING)
        elif text.startswith("'", self.pos):
            self._pass(_LITERAL_STRING)
        elif text.startswith("[", self.pos):
            self._array(path)
        elif text.startswith("{", self.pos):
            self._inline_table(path)
        else:
            self._pass(_SCALAR)

    def _array(self, path: Path) -> None:
        self.pos += 1
        index = 0
        while True:
            self._pass(_BLANK)
            if self.text.startswith("]", self.pos):
                self.pos += 1
                return
            if self.text.startswith(",", self.pos):
                self.pos += 1
                continue
            here = (*path, index)
            self.offsets[here] = self.pos
            self._value(here)
            index += 1

    def _inline_table(self, path: Path) -> None:
        self.pos += 1
        while True:
            self._pass(_BLANK)
            if self.text.startswith("}", self.pos):
                self.pos += 1
                return
            if self.text.startswith(",", self.pos):
                self.pos += 1
                continue
            self._pair(path)


def _unescape(match: re.Match[str]) -> str:
    body = match.group(1)
    if body[0] in "uU" and len(body) > 1:
        return chr(int(body[1:], 16))
    return _ESCAPES.get(body, body)
