"""``pyflare d1 migrations``: create, list and apply.

Source: https://developers.cloudflare.com/d1/reference/migrations/
"""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

from pyflare.owner.client import OwnerRefused

from .command import CommandError, Project
from .migration_files import MigrationFiles
from .output import confirm, error, print_json, print_table, say
from .sql_text import statements

if TYPE_CHECKING:
    from pyflare.config.blocks.storage import D1Database
    from pyflare.owner.access import Access

__all__ = ["apply", "create", "show"]


def create(project: Project, entry: D1Database, message: str) -> None:
    """Write an empty migration with the next number."""
    files = MigrationFiles(project, entry)
    name = files.new_name(message)
    path = files.directory / name
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(
                f"-- Migration number: {name.partition('_')[0]} \t {now.replace('+00:00', 'Z')}\n"
            )
    except OSError as failure:
        raise CommandError(f"{path} cannot be created: {failure.strerror}.") from failure
    say(f"✅ Successfully created Migration '{name}'!")
    say(f"\nThe migration is available for editing here\n{path}")


def show(project: Project, entry: D1Database, *, as_json: bool) -> None:
    """List what has not been applied."""
    files = MigrationFiles(project, entry)
    names = files.names()
    with project.state() as state:
        waiting = _waiting(state, entry, names)
    if as_json:
        print_json([{"Name": name} for name in waiting])
        return
    if not waiting:
        say("✅ No migrations to apply!")
        return
    say("Migrations to be applied:")
    print_table(("Name",), [(name,) for name in waiting])


def apply(project: Project, entry: D1Database, *, yes: bool) -> None:
    """Apply what has not been applied, each migration as a whole or not at all, up to the first that fails."""
    files = MigrationFiles(project, entry)
    names = files.names()
    with project.state() as state:
        waiting = _waiting(state, entry, names)
    if not waiting:
        say("✅ No migrations to apply!")
        return
    say("Migrations to be applied:")
    print_table(("name",), [(name,) for name in waiting])
    if not confirm(
        f"About to apply {len(waiting)} migration(s)\n"
        "Your database may not be available to serve requests during the migration, continue?",
        yes=yes,
    ):
        return
    status = dict.fromkeys(waiting, "🕒️")
    failure: CommandError | OwnerRefused | None = None
    with project.state() as state:
        for name in waiting:
            try:
                _apply_one(state, entry, files, name)
            except (CommandError, OwnerRefused) as refused:
                if name not in _waiting(state, entry, names):
                    # Somebody else was faster.
                    status[name] = "✅"
                    continue
                status[name] = "❌"
                failure = refused
                break
            status[name] = "✅"
    print_table(("name", "status"), list(status.items()))
    if failure is not None:
        error(f"Migration {name} failed with the following errors:")
        raise failure


def _apply_one(state: Access, entry: D1Database, files: MigrationFiles, name: str) -> None:
    from pyflare.cli.d1 import query

    text = name.replace("'", "''")
    record = f"INSERT INTO {_table(entry)} (name) VALUES ('{text}');"
    query(state, entry.local_id, [*statements(files.read(name)), record])


def _waiting(state: Access, entry: D1Database, names: list[str]) -> list[str]:
    table = _table(entry)
    results: list[dict[str, Any]] = state.call(
        "d1.query",
        id=entry.local_id,
        statements=[
            f"CREATE TABLE IF NOT EXISTS {table} (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE,"
            " applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL);",
            f"SELECT name FROM {table}",
        ],
    )
    applied = {row[0] for row in results[1]["rows"]}
    return [name for name in names if name not in applied]


def _table(entry: D1Database) -> str:
    return '"' + entry.migrations_table.replace('"', '""') + '"'
