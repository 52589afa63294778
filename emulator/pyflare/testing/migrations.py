"""Applies a D1 database's migrations from a test.

Source: https://developers.cloudflare.com/workers/testing/vitest-integration/test-apis/#d1
"""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

__all__ = ["apply_d1_migrations", "read_d1_migrations"]


def read_d1_migrations(directory: str | Path) -> list[dict[str, Any]]:
    """The ``.sql`` files of a directory in order of name, as ``{"name", "queries"}``.

    Raises FileNotFoundError for a directory that is not there and ValueError for SQL without an end.
    """
    folder = Path(directory)
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no directory of migrations at {folder}")
    return [
        {"name": path.name, "queries": list(_queries(path))}
        for path in sorted(folder.glob("*.sql"), key=_order)
    ]


def _order(path: Path) -> tuple[float, str]:
    """By the number at the front, as wrangler numbers them, then by name."""
    number = re.match(r"\d+", path.name)
    return (float(number[0]) if number else math.inf, path.name)


def _queries(path: Path) -> Iterator[str]:
    text = ""
    for part in path.read_text(encoding="utf-8").split(";"):
        text += f"{part};"
        if sqlite3.complete_statement(text):
            if _has_code(text[:-1]):
                yield text.strip()
            text = ""
    if _has_code(text[:-1]):
        raise ValueError(f"{path} ends within a statement: {text.strip()[:80]!r}")


def _has_code(text: str) -> bool:
    return bool(re.sub(r"--[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL).strip())


async def apply_d1_migrations(
    database: Any, migrations: Iterable[Mapping[str, Any]], table: str = "d1_migrations"
) -> list[str]:
    """Apply those that have not been applied yet, one batch each; gives their names.

    Args: ``database`` a binding such as ``env.DB``; ``migrations`` as :func:`read_d1_migrations` gives them; ``table``
    where the names of applied ones are kept, as the deployed database has it. Raises what the database raises.
    """
    quoted = '"' + table.replace('"', '""') + '"'
    await database.prepare(
        f"CREATE TABLE IF NOT EXISTS {quoted} (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, "
        "applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL)"
    ).run()
    known = await database.prepare(f"SELECT name FROM {quoted}").raw()
    applied = {row[0] for row in known}
    done = []
    for migration in migrations:
        name = migration["name"]
        if name in applied:
            continue
        note = database.prepare(f"INSERT INTO {quoted} (name) VALUES (?)").bind(name)
        await database.batch([*map(database.prepare, migration["queries"]), note])
        done.append(name)
    return done
