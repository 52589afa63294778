"""The migrations in a project's directory: which there are, in which order, and what the next one is called.

Source: https://developers.cloudflare.com/d1/reference/migrations/
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from .command import CommandError, Project, UsageError

if TYPE_CHECKING:
    from pyflare.config.blocks.storage import D1Database

__all__ = ["MigrationFiles", "ordered"]

_NUMBER: Final = re.compile(r"\d+")


class MigrationFiles:
    """The migrations of one database. Raises CommandError for a pattern that cannot be used."""

    def __init__(self, project: Project, entry: D1Database) -> None:
        base = project.worker.directory
        self.directory = base / entry.migrations_dir
        self.shown = entry.migrations_dir
        if entry.migrations_pattern is None:
            self.pattern = "*.sql"
            return
        inside = PurePosixPath(entry.migrations_dir)
        try:
            self.pattern = str(PurePosixPath(entry.migrations_pattern).relative_to(inside))
        except ValueError:
            raise CommandError(
                f'The "migrations_pattern" {entry.migrations_pattern} of the database {entry.binding} has to lie '
                f'under its "migrations_dir" {entry.migrations_dir}.'
            ) from None

    def names(self) -> list[str]:
        """All migrations by the name under which they are recorded, in order. Raises CommandError without a folder."""
        if not self.directory.is_dir():
            raise CommandError(
                f"No migrations folder found. Create one with `pyflare d1 migrations create`.\n"
                f"No migrations present at {self.shown}."
            )
        found = (
            path.relative_to(self.directory).as_posix()
            for path in self.directory.glob(self.pattern)
            if path.is_file()
        )
        return ordered(
            name for name in found if not any(part.startswith(".") for part in name.split("/"))
        )

    def read(self, name: str) -> str:
        """The text of a migration. Raises CommandError."""
        from pyflare.cli.d1 import read_sql

        return read_sql(self.directory / name, Path(name))

    def new_name(self, message: str) -> str:
        """The name of the next migration. Raises CommandError for a message that no file can be called after."""
        if "/" in message or "\\" in message:
            raise CommandError(
                f"The message {message!r} becomes part of a file's name; it cannot hold / or \\."
            )
        if not message.strip():
            raise UsageError(
                "The message is empty. Say what the migration does; it becomes part of its name."
            )
        names = self.names() if self.directory.is_dir() else []
        numbers = [number for name in names if (number := _number(name.split("/")[0])) is not None]
        name = f"{max(numbers, default=0) + 1:04d}_{message.replace(' ', '_')}.sql"
        if not PurePosixPath(name).match(self.pattern):
            raise CommandError(
                f'The file {name} would not match the "migrations_pattern" {self.pattern}. Create it by hand.'
            )
        return name


def ordered(names: Iterable[str]) -> list[str]:
    """By number, folder for folder: 9 before 10, and what has no number last."""
    return sorted(names, key=lambda name: [_rank(part) for part in name.split("/")])


def _rank(part: str) -> tuple[bool, int, bytes]:
    number = _number(part)
    # Ties go by code units.
    return number is None, number or 0, part.encode("utf-16-be", "surrogatepass")


def _number(part: str) -> int | None:
    found = _NUMBER.match(part.partition("_")[0])
    return None if found is None else int(found.group())
