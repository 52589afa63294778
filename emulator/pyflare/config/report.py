"""Collects what is found wrong, so that a person sees all of it at once."""

from __future__ import annotations

from collections.abc import Iterable

from .diagnostics import Diagnostic, Level, Position
from .jsonc import Path as KeyPath
from .source import Source
from .stringify import printable


class Report:
    """Messages about one source, under the headings in `section`."""

    __slots__ = ("found", "section", "source")

    def __init__(
        self, source: Source, section: tuple[str, ...] = (), found: list[Diagnostic] | None = None
    ) -> None:
        self.source = source
        self.section = section
        self.found: list[Diagnostic] = [] if found is None else found

    def within(self, heading: str) -> Report:
        """The same collection, one heading deeper."""
        return Report(self.source, (*self.section, printable(heading)), self.found)

    def alone(self) -> Report:
        """The same collection, for messages that stand under no heading."""
        return Report(self.source, (), self.found)

    def error(
        self,
        message: str,
        path: KeyPath = (),
        hint: str | None = None,
        at: Position | None = None,
    ) -> None:
        """Record an error about what stands at `path` in the source, or at a known place."""
        self._add("error", message, path, hint, at)

    def warning(
        self,
        message: str,
        path: KeyPath = (),
        hint: str | None = None,
        at: Position | None = None,
    ) -> None:
        """Record a warning; arguments as for `error`."""
        self._add("warning", message, path, hint, at)

    def unexpected(
        self, field: str, path: KeyPath, keys: Iterable[str], known: Iterable[str]
    ) -> bool:
        """Warn of keys that nothing reads; whether there were any."""
        known = tuple(known)
        unknown = [key for key in keys if key not in known]
        if not unknown:
            return False
        names = ",".join(f'"{key}"' for key in unknown)
        self.warning(
            f"Unexpected fields found in {field} field: {names}",
            (*path, unknown[0]),
            nearest(unknown, known),
        )
        return True

    @property
    def has_errors(self) -> bool:
        return any(each.level == "error" for each in self.found)

    def _add(
        self, level: Level, message: str, path: KeyPath, hint: str | None, at: Position | None
    ) -> None:
        self.found.append(
            Diagnostic(
                level,
                printable(message),
                position=self.source.position(path) if path else at,
                section=self.section,
                hint=None if hint is None else printable(hint),
            )
        )


def nearest(unknown: Iterable[str], known: Iterable[str]) -> str | None:
    """`Did you mean ...?` for the names that resemble a known one."""
    from difflib import get_close_matches

    names = list(known)
    pairs = [(key, get_close_matches(key, names, n=1, cutoff=0.7)) for key in unknown]
    guesses = [f'Did you mean "{match[0]}" instead of "{key}"?' for key, match in pairs if match]
    return "\n".join(guesses) or None
