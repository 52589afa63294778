"""The owner of one Secrets Store."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import apsw

from .clock import Clock
from .storage.row_file import Execute, RowFile
from .storage.sqlite import Durability

__all__ = ["SecretError", "SecretsStore", "StoredSecret"]

#: https://developers.cloudflare.com/secrets-store/manage-secrets/
MAX_VALUE_BYTES: Final = 1024

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS secrets (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    value TEXT NOT NULL,
    comment TEXT NOT NULL,
    created REAL NOT NULL,
    modified REAL NOT NULL
);
"""
_COLUMNS: Final = "id, name, comment, created, modified"
_GET: Final = "SELECT value FROM secrets WHERE name = ?"
_LIST: Final = f"SELECT {_COLUMNS} FROM secrets ORDER BY name"
_PUT: Final = (
    "INSERT INTO secrets (id, name, value, comment, created, modified)"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?5)"
    " ON CONFLICT (name) DO UPDATE SET value = ?3, comment = ?4, modified = ?5"
    f" RETURNING {_COLUMNS}"
)
_DELETE: Final = "DELETE FROM secrets WHERE name = ? RETURNING 1"


class SecretError(Exception):
    """A secret that cannot be had or stored; `str()` says why, and never shows a value."""


@dataclass(slots=True, frozen=True)
class StoredSecret:
    """What can be told of a secret: all but its value. Times in seconds since the epoch."""

    id: str
    name: str
    comment: str
    created: float
    modified: float


class SecretsStore:
    """Secrets by name, shared by every worker that names the store.

    Values are kept as plain text in the state directory, which only this user can read. Every
    method raises StateError when the file cannot be used and ClosedError after `close`.
    """

    __slots__ = ("_clock", "_rows", "id", "path")

    def __init__(
        self,
        id: str,
        path: Path,
        clock: Clock,
        durability: Durability = "process",
        prepare_file: Callable[[], None] = lambda: None,
    ) -> None:
        self.id = id
        self.path = path
        self._clock = clock
        self._rows = RowFile(path, durability, _SCHEMA, prepare_file)

    async def get(self, name: str) -> str:
        """The value of a secret. Raises SecretError, with the platform's text, when there is none."""
        found = await self._read(_GET, (name,))
        if not found:
            raise SecretError(f'Secret "{name}" not found')
        value: str = found[0][0]
        return value

    async def put(self, name: str, value: str, comment: str = "") -> StoredSecret:
        """Create a secret, or give the one of this name another value. Raises SecretError."""
        if not name:
            raise SecretError("A secret needs a name.")
        size = len(value.encode())
        if not 0 < size <= MAX_VALUE_BYTES:
            raise SecretError(
                f'The value of secret "{name}" has {size} bytes; 1 to {MAX_VALUE_BYTES} are allowed.'
            )
        await self._rows.open()
        row = (secrets.token_hex(16), name, value, comment, self._clock.now())
        return StoredSecret(*await self._rows.write(lambda execute: _one(execute, _PUT, row)))

    async def delete(self, name: str) -> bool:
        """Remove a secret. Out: whether there was one."""
        await self._rows.open()
        return bool(await self._rows.write(lambda execute: _one(execute, _DELETE, (name,))))

    async def list(self) -> list[StoredSecret]:
        """The secrets by name, without their values."""
        return [StoredSecret(*row) for row in await self._read(_LIST, ())]

    def check_file(self) -> None:
        """See :meth:`pyflare_bindings.storage.row_file.RowFile.check_file`."""
        self._rows.check_file()

    async def close(self) -> None:
        """Close the file. Idempotent."""
        await self._rows.close()

    async def _read(self, sql: str, parameters: tuple[Any, ...]) -> Sequence[tuple[Any, ...]]:
        await self._rows.open()
        try:
            return self._rows.read(sql, parameters).fetchall()
        except apsw.Error as error:
            raise self._rows.failure(error) from error


def _one(execute: Execute, sql: str, parameters: tuple[Any, ...]) -> Any:
    rows = execute(sql, parameters).fetchall()
    return rows[0] if rows else None
