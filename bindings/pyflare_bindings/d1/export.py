"""A D1 database as SQL text, in one consistent state, while others go on writing.

Source: https://developers.cloudflare.com/d1/best-practices/import-export-data/ and the local export of wrangler.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from math import isinf
from pathlib import Path
from typing import Any, Final

import apsw

from ..storage.errors import state_error
from .database import D1Database
from .errors import D1Error
from .results import Statement

__all__ = ["export_lines"]

_NAMES: Final = "SELECT name FROM sqlite_schema WHERE lower(substr(tbl_name, 1, 4)) <> '_cf_'"
_CHUNK_CHARACTERS: Final = 256 * 1024
_OBJECTS: Final = (
    "SELECT name, type, sql FROM sqlite_schema WHERE type = 'table' AND lower(substr(name, 1, 4)) <> '_cf_'"
    " ORDER BY name = 'sqlite_sequence', rowid"
)
_REST: Final = (
    "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND type IN ('index', 'trigger', 'view')"
    " AND lower(substr(tbl_name, 1, 4)) <> '_cf_' ORDER BY type, rowid"
)


async def export_lines(
    database: D1Database,
    *,
    tables: frozenset[str] = frozenset(),
    schema: bool = True,
    data: bool = True,
) -> tuple[int, AsyncIterator[bytes]]:
    """The text in pieces, and the size in bytes of the database it is about.

    In: `tables` to keep to, which also chooses indexes, triggers and views by their names, all
    where it is empty; `schema` and `data`, what to write.
    Raises D1Error for a database with virtual tables and for a name that nothing has, and StateError.
    """
    # The owner creates the file, and finds out whether it can be used.
    results = await database.query([Statement("SELECT 1")])
    reader = await asyncio.to_thread(_Reader, database.path, tables, schema, data)
    return results[0].meta.size_after, _Pieces(reader)


class _Pieces(AsyncIterator[bytes]):
    """The text in pieces. `aclose` ends it, wherever it is."""

    __slots__ = ("_reader", "_reading")

    def __init__(self, reader: _Reader) -> None:
        self._reader = reader
        self._reading: asyncio.Future[bytes] | None = None

    async def __anext__(self) -> bytes:
        self._reading = asyncio.ensure_future(asyncio.to_thread(self._reader.next_piece))
        # The thread goes on reading also when the caller is cancelled.
        piece = await asyncio.shield(self._reading)
        if not piece:
            await self.aclose()
            raise StopAsyncIteration
        return piece

    async def aclose(self) -> None:
        """Close the connection. Harmless twice."""
        if self._reading is not None and not self._reading.done():
            await asyncio.wait([self._reading])
        self._reader.close()


class _Reader:
    """A connection of its own, whose one transaction sees the database as it is now."""

    __slots__ = ("_connection", "_lines", "_path")

    def __init__(self, path: Path, tables: frozenset[str], schema: bool, data: bool) -> None:
        self._path = path
        try:
            self._connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
            self._connection.execute("BEGIN")
            objects: list[Any] = self._connection.execute(_OBJECTS).fetchall()
            names: list[Any] = self._connection.execute(_NAMES).fetchall()
        except apsw.Error as error:
            raise state_error(path, error) from error
        try:
            _refuse_virtual_tables(objects)
            _refuse_unknown(tables, names)
        except D1Error:
            self.close()
            raise
        self._lines = self._all_lines(objects, tables, schema, data)

    def next_piece(self) -> bytes:
        """The next lines; empty at the end."""
        lines: list[str] = []
        length = 0
        try:
            for line in self._lines:
                lines.append(line)
                length += len(line)
                if length > _CHUNK_CHARACTERS:
                    break
        except apsw.Error as error:
            raise state_error(self._path, error) from error
        return "".join(f"{line}\n" for line in lines).encode()

    def close(self) -> None:
        self._connection.close(force=True)

    def _all_lines(
        self,
        objects: Sequence[tuple[str, str, str]],
        tables: frozenset[str],
        schema: bool,
        data: bool,
    ) -> Iterator[str]:
        yield "PRAGMA defer_foreign_keys=TRUE;"
        for name, _, sql in objects:
            if tables and name not in tables:
                continue
            if name == "sqlite_sequence":
                if data or schema:
                    yield "DELETE FROM sqlite_sequence;"
            elif name.startswith("sqlite_stat"):
                if schema:
                    yield "ANALYZE sqlite_schema;"
            elif name.startswith("sqlite_"):
                continue
            elif schema:
                yield f"{_creating(sql)};"
            if data:
                yield from self._rows(name)
        if schema:
            for name, sql in self._connection.execute(_REST):
                if not tables or name in tables:
                    yield f"{sql};"

    def _rows(self, table: str) -> Iterator[str]:
        # A generated column cannot be written; `table_info` leaves those out.
        columns = [
            row[1] for row in self._connection.execute(f"PRAGMA table_info({_quoted(table)})")
        ]
        names = ",".join(map(_quoted, columns))
        start = f"INSERT INTO {_quoted(table)} ({names}) VALUES("
        for row in self._connection.execute(f"SELECT {names} FROM {_quoted(table)}"):
            yield f"{start}{_values(row)});"


def _refuse_virtual_tables(objects: Iterable[tuple[str, str, str]]) -> None:
    for _, _, sql in objects:
        words = (sql or "").split(None, 3)
        if [word.upper() for word in words[:3]] == ["CREATE", "VIRTUAL", "TABLE"]:
            module = sql.upper().partition(" USING ")[2].split("(")[0].split()
            kind = module[0].lower() if module else "virtual"
            raise D1Error(f"D1 Export error: cannot export databases with Virtual Tables ({kind})")


def _refuse_unknown(tables: frozenset[str], names: Iterable[tuple[str]]) -> None:
    unknown = sorted(tables.difference(name for (name,) in names))
    if unknown:
        raise D1Error(f"D1 Export error: there is no table {', '.join(unknown)}")


def _creating(sql: str) -> str:
    """The statement that creates a table; one with a quoted name may be there already, as wrangler writes it."""
    head = "CREATE TABLE "
    if sql.startswith((f'{head}"', f"{head}'", f"{head}`", f"{head}[")):
        return f"{head}IF NOT EXISTS {sql.removeprefix(head)}"
    return sql


def _values(row: Sequence[Any]) -> str:
    return ",".join(map(_literal, row))


def _literal(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case str():
            return _text(value)
        case bytes():
            return f"X'{value.hex()}'"
        case float() if isinf(value):
            return "9.0e+999" if value > 0 else "-9.0e+999"
        case _:
            # A whole REAL keeps its point and so its type in a column of any type.
            return repr(value)


def _text(value: str) -> str:
    if "\0" in value:
        # A statement would end there.
        return f"CAST(X'{value.encode().hex()}' AS TEXT)"
    quoted = "'" + value.replace("'", "''") + "'"
    if "\n" in value:
        quoted = f"replace({_escaped(quoted, chr(10), 'n')},char(10))"
    if "\r" in value:
        quoted = f"replace({_escaped(quoted, chr(13), 'r')},char(13))"
    return quoted


def _escaped(literal: str, character: str, letter: str) -> str:
    """The literal with every `character` written as a mark that the text does not have, and the mark as a literal."""
    mark = f"\\{letter}"
    while mark in literal:
        mark = f"\\{mark}"
    return f"{literal.replace(character, mark)},'{mark}'"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
