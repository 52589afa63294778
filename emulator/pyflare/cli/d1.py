"""``pyflare d1``: SQL, migrations and exports of local D1 databases.

Source: https://developers.cloudflare.com/d1/wrangler-commands/
"""

from __future__ import annotations

import argparse
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from .data.command import (
    CommandError,
    Project,
    UsageError,
    add_common,
    add_confirmation,
    run_action,
)
from .data.output import is_terminal, notice, print_json, print_table, progress, say

if TYPE_CHECKING:
    from pyflare.config.blocks.storage import D1Database

__all__ = ["configure", "database_of", "run"]

run = run_action

#: Statements from which on a person may wonder what is going on.
_MANY: Final = 100


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the commands below ``d1``."""
    commands = parser.add_subparsers(dest="action_name", metavar="COMMAND", required=True)
    add = add_common(commands, "execute", "run SQL", _execute)
    _add_database(add)
    add("--command", dest="sql", metavar="SQL", help="the SQL to run")
    add("--file", type=Path, metavar="FILE", help="a file with the SQL to run")
    add("--json", action="store_true", help="print JSON and nothing else")
    add("--preview", action="store_true", help=argparse.SUPPRESS)
    add_confirmation(add)
    add = add_common(commands, "export", "write a database to a file, as SQL", _export)
    _add_database(add)
    add("--output", type=Path, required=True, metavar="FILE", help="the file to write")
    add("--table", action="append", default=[], metavar="NAME", help="only this table; repeatable")
    add("--no-schema", action="store_true", help="only data")
    add("--no-data", action="store_true", help="only tables, indexes, triggers and views")
    for name in ("schema", "data"):
        add(f"--{name}", dest=f"no_{name}", action="store_false", default=False,
            help=argparse.SUPPRESS)  # fmt: skip
    add_confirmation(add)
    add = add_common(commands, "info", "show the tables and the size of a database", _info)
    _add_database(add)
    add("--json", action="store_true", help="print JSON and nothing else")
    migrations = commands.add_parser(
        "migrations", help="create, list and apply migrations", allow_abbrev=False
    ).add_subparsers(dest="migrations_name", metavar="COMMAND", required=True)
    add = add_common(migrations, "create", "create an empty migration", _migrations)
    _add_database(add)
    add("message", nargs="+", help="what the migration does; part of its name")
    add = add_common(migrations, "list", "list migrations to be applied", _migrations)
    _add_database(add)
    add("--json", action="store_true", help="print JSON and nothing else")
    add = add_common(migrations, "apply", "apply migrations", _migrations)
    _add_database(add)
    add_confirmation(add)


def _add_database(add: Any) -> None:
    add("database", metavar="DATABASE", help="the name or the binding of the database")


def database_of(project: Project, name: str) -> D1Database:
    """The configured database of this name or binding. Raises CommandError."""
    project.need_configuration()
    for entry in project.worker.d1_databases:
        if name in (entry.database_name, entry.binding):
            return entry
    raise CommandError(
        f"Couldn't find a D1 DB with the name or binding '{name}' in your {project.file} file."
    )


def _migrations(arguments: argparse.Namespace) -> None:
    from .data import d1_migrations

    project = Project(arguments)
    entry = database_of(project, arguments.database)
    match arguments.migrations_name:
        case "create":
            d1_migrations.create(project, entry, " ".join(arguments.message))
        case "list":
            d1_migrations.show(project, entry, as_json=arguments.json)
        case _:
            d1_migrations.apply(project, entry, yes=arguments.yes)


def _execute(arguments: argparse.Namespace) -> None:
    from .data.sql_text import statements

    if arguments.sql is not None and arguments.file is not None:
        raise UsageError("can't provide both --command and --file.")
    if arguments.sql is None and arguments.file is None:
        raise UsageError(
            "Missing required option --command or --file. Give the SQL to run with one of them."
        )
    if arguments.preview:
        raise CommandError("Cannot use --preview without --remote. Local data has no preview.")
    project = Project(arguments)
    entry = database_of(project, arguments.database)
    text = arguments.sql
    if text is None:
        text = read_sql(project.cwd / arguments.file, arguments.file)
    found = statements(text)
    shown = entry.database_name or entry.binding
    if not arguments.json:
        notice(
            f"🌀 Executing on local database {shown} ({entry.local_id}) from {project.shown_root}:"
        )
    with project.state() as state, _long_work(found):
        results = query(state, entry.local_id, found)
    if not arguments.json:
        count = len(results)
        notice(f"🚣 {count} command{'' if count == 1 else 's'} executed successfully.")
    if is_terminal() and not arguments.json:
        for result in results:
            if result["rows"]:
                rows = [[_cell(value) for value in row] for row in result["rows"]]
                print_table(result["columns"], rows)
    else:
        print_json([_as_object(result) for result in results])


def _long_work(found: list[str]) -> AbstractContextManager[Any]:
    return (
        progress(f"Running {len(found)} statements", None) if len(found) > _MANY else nullcontext()
    )


def read_sql(path: Path, given: Path) -> str:
    """The text of an SQL file. Raises CommandError."""
    try:
        data = path.read_bytes()
    except OSError:
        raise CommandError(
            f'Unable to read SQL text file "{given}". Please check the file path and try again.'
        ) from None
    if data.startswith(b"SQLite format 3"):
        raise CommandError(
            "Provided file is a binary SQLite database file instead of an SQL text file. Write its content as SQL "
            f"first: sqlite3 {given} .dump > dump.sql"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as failure:
        raise CommandError(
            f'The SQL text file "{given}" is not UTF-8 (byte {failure.start}). Save it as UTF-8.'
        ) from None


def query(state: Any, database: str, found: list[str]) -> list[dict[str, Any]]:
    """Run statements in one transaction. Raises CommandError that names the statement at fault."""
    from pyflare.owner.client import OwnerRefused

    try:
        results: list[dict[str, Any]] = state.call("d1.query", id=database, statements=found)
    except OwnerRefused as refused:
        if refused.statement is None or len(found) == 1:
            raise
        at = found[refused.statement]
        shown = at if len(at) <= 300 else f"{at[:300]}…"
        raise CommandError(f"{refused}\nin statement {refused.statement + 1}: {shown}") from refused
    return results


def _as_object(result: dict[str, Any]) -> dict[str, Any]:
    columns = result["columns"]
    return {
        "results": [
            {name: _json_value(value) for name, value in zip(columns, row, strict=True)}
            for row in result["rows"]
        ],
        "success": True,
        "meta": {"duration": result["meta"]["duration"]},
    }


def _json_value(value: Any) -> Any:
    # A BLOB, as wrangler prints it.
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list) else value


def _cell(value: Any) -> str:
    return "null" if value is None else str(_json_value(value))


def _export(arguments: argparse.Namespace) -> None:
    from .data.whole_file import WholeFile

    if arguments.no_schema and arguments.no_data:
        raise UsageError(
            "Cannot use --no-schema and --no-data together. Nothing would be left to export."
        )
    project = Project(arguments)
    entry = database_of(project, arguments.database)
    path = project.cwd / arguments.output
    if path.is_dir() or str(arguments.output).endswith("/"):
        raise CommandError("Please specify a file path for --output, not a directory.")
    shown = entry.database_name or entry.binding
    notice(f"🌀 Exporting local database {shown} ({entry.local_id}) from {project.shown_root}:")
    with project.state() as state:
        told, pieces = state.fetch(
            "d1.export",
            id=entry.local_id,
            tables=arguments.table,
            schema=not arguments.no_schema,
            data=not arguments.no_data,
        )
        with WholeFile(path) as file, progress("Exporting", told["size"], in_bytes=True) as step:
            for piece in pieces:
                file.write(piece)
                step(len(piece))
    say(f"Done! File is at {arguments.output}")


def _info(arguments: argparse.Namespace) -> None:
    project = Project(arguments)
    entry = database_of(project, arguments.database)
    with project.state() as state:
        found = state.call("d1.info", id=entry.local_id)
    if arguments.json or not is_terminal():
        print_json(
            {
                "uuid": entry.local_id,
                "name": entry.database_name or entry.binding,
                "binding": entry.binding,
                "num_tables": len(found["tables"]),
                "file_size": found["size"],
                "tables": [{"name": name, "rows": rows} for name, rows in found["tables"]],
            }
        )
        return
    print_table(
        ("DB", entry.local_id),
        [
            ("name", entry.database_name or entry.binding),
            ("size", f"{found['size']} bytes"),
            *((f"table {name}", f"{rows} rows") for name, rows in found["tables"]),
        ],
    )
