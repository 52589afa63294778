"""A configuration as it was written: its values and where each of them stands."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from datetime import date, time
from pathlib import Path, PurePath
from typing import Any

from .diagnostics import ConfigError, Diagnostic, Position
from .jsonc import EXPLANATIONS, MAX_DEPTH, JsoncSyntaxError
from .jsonc import Path as KeyPath
from .paths import display_name
from .stringify import stringify

SUFFIXES = (".toml", ".json", ".jsonc")

_FOREIGN_MARKS = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)


class Source:
    """One configuration: `data` is its top-level object, `path` its file (None when it came
    from Python objects), `display` the name that messages use."""

    __slots__ = ("_line_starts", "_offsets", "_text", "data", "display", "path", "repeated")

    def __init__(
        self,
        data: dict[str, object],
        *,
        path: Path | None = None,
        display: str = "wrangler",
        text: str = "",
        offsets: dict[KeyPath, int] | None = None,
        repeated: tuple[KeyPath, ...] = (),
    ) -> None:
        self.data = data
        self.path = path
        self.display = display
        self.repeated = repeated
        self._text = text
        self._offsets = offsets
        self._line_starts: list[int] | None = None

    def position(self, path: KeyPath) -> Position | None:
        """Where the value at `path` stands; of something absent, where its owner stands."""
        if self.path is None:
            return None
        if self._offsets is None:
            from .toml_positions import scan

            self._offsets = scan(self._text)
        for length in range(len(path), 0, -1):
            offset = self._offsets.get(path[:length])
            if offset is not None:
                if self._line_starts is None:
                    self._line_starts = _line_starts(self._text)
                return _position(self.display, self._line_starts, offset)
        return Position(self.display, 1)

    @property
    def is_toml(self) -> bool:
        return self.path is not None and self.path.suffix == ".toml"


def read_source(path: Path, cwd: Path) -> Source:
    """Read a configuration file by its suffix. Raises ConfigError with the place and an excerpt
    when it cannot be read or parsed."""
    display = display_name(path, cwd)
    if path.suffix not in SUFFIXES:
        # wrangler takes such a file for an empty configuration, which hides the mistake.
        raise _failure(
            path,
            f'The configuration file "{display}" has an unknown suffix; '
            f"accepted are {', '.join(SUFFIXES)}.",
        )
    text = read_text(path, display)
    if path.suffix == ".toml":
        return _read_toml(path, display, text)
    return _read_json(path, display, text)


def read_text(path: Path, display: str) -> str:
    """The text of a UTF-8 file without byte order mark and with `\\n` line ends."""
    try:
        raw = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _failure(path, f"Could not read file: {display}", hint=reason) from error
    for mark, encoding in _FOREIGN_MARKS:
        if raw.startswith(mark):
            raise _failure(path, f'"{display}" is written in {encoding}. Save it as UTF-8, please.')
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8")
        position = _position(display, _line_starts(before), len(before))
        raise _failure(path, f'"{display}" is not UTF-8 text.', position=position) from error
    return text.replace("\r\n", "\n")


def _read_json(path: Path, display: str, text: str) -> Source:
    from .jsonc import read

    try:
        document = read(text)
    except JsoncSyntaxError as error:
        raise _syntax_failure(
            path, display, text, error.code, error.offset, EXPLANATIONS[error.code]
        ) from None
    if not isinstance(document.value, dict):
        raise _failure(
            path,
            f'Expected "{display}" to hold an object, but got {stringify(document.value)[:80]}.',
            position=Position(display, 1),
        )
    return Source(
        document.value,
        path=path,
        display=display,
        text=text,
        offsets=document.offsets,
        repeated=document.repeated,
    )


def _read_toml(path: Path, display: str, text: str) -> Source:
    import tomllib

    try:
        data = tomllib.loads(text)
        plain = plain_table(data)
    except RecursionError:
        raise _failure(
            path, f'"{display}": {EXPLANATIONS["TooDeep"]}', position=Position(display, 1)
        ) from None
    except ValueError as error:
        message, offset = _toml_mistake(str(error), text)
        raise _syntax_failure(path, display, text, message, offset, None) from None
    return Source(plain, path=path, display=display, text=text)


def _toml_mistake(message: str, text: str) -> tuple[str, int]:
    """The standard reader appends the place to its message: `... (at line 1, column 5)`."""
    head, found, tail = message.rpartition(" (at ")
    if not found:
        return message, 0
    numbers = [int(word) for word in tail.replace(",", " ").rstrip(")").split() if word.isdigit()]
    if len(numbers) != 2:
        return head, len(text.rstrip())
    starts = _line_starts(text)
    line = min(numbers[0], len(starts))
    return head, starts[line - 1] + numbers[1] - 1


def _line_starts(text: str) -> list[int]:
    starts = [0]
    index = text.find("\n")
    while index >= 0:
        starts.append(index + 1)
        index = text.find("\n", index + 1)
    return starts


def _position(display: str, starts: list[int], offset: int) -> Position:
    line = bisect_right(starts, offset)
    return Position(display, line, offset - starts[line - 1] + 1)


def _syntax_failure(
    path: Path, display: str, text: str, message: str, offset: int, hint: str | None
) -> ConfigError:
    starts = _line_starts(text)
    position = _position(display, starts, min(offset, len(text)))
    line = text[starts[position.line - 1] :].split("\n", 1)[0]
    return _failure(path, message, position=position, source_line=line, hint=hint)


def _failure(
    path: Path,
    message: str,
    *,
    position: Position | None = None,
    source_line: str | None = None,
    hint: str | None = None,
) -> ConfigError:
    diagnostic = Diagnostic("error", message, position=position, source_line=source_line, hint=hint)
    return ConfigError([diagnostic], files=(path,))


def plain_table(data: Mapping[Any, Any]) -> dict[str, object]:
    """A copy of `data` made of dict, list, str, int, float, bool, None, dates and times.

    Raises ValueError naming the key for any other value, RecursionError when it is nested more
    than MAX_DEPTH deep."""
    return _plain_mapping(data, "", 1)


def _plain_mapping(data: Mapping[Any, Any], field: str, depth: int) -> dict[str, object]:
    result: dict[str, object] = {}
    for key, value in data.items():
        if not isinstance(key, str):
            where = f'in "{field}" ' if field else ""
            raise ValueError(f"Keys {where}must be of type str, but got {key!r}.")
        result[key] = _plain(value, f"{field}.{key}" if field else key, depth)
    return result


def _plain(value: object, field: str, depth: int) -> object:
    if depth > MAX_DEPTH:
        raise RecursionError
    match value:
        case None | str() | bool() | int() | float() | date() | time():
            return value
        case PurePath():
            return str(value)
        case Mapping():
            return _plain_mapping(value, field, depth + 1)
        case Sequence() if not isinstance(value, bytes | bytearray | memoryview):
            return [_plain(each, f"{field}[{i}]", depth + 1) for i, each in enumerate(value)]
        case _:
            raise ValueError(
                f'The field "{field}" has the type {type(value).__name__}, which a configuration '
                "cannot hold; accepted are str, int, float, bool, None, mappings and lists."
            )
