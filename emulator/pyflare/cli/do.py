"""``pyflare do``: what local Durable Objects have stored, SQL on one of them, and their alarms."""

from __future__ import annotations

import argparse
import datetime
from typing import Any

from .data.command import CommandError, Project, UsageError, add_common, run_action
from .data.output import is_terminal, notice, print_json, print_table

__all__ = ["configure", "run"]

run = run_action


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the commands below ``do``."""
    commands = parser.add_subparsers(dest="action_name", metavar="COMMAND", required=True)
    add = add_common(commands, "list", "list the objects that have stored something", _list)
    _add_class(add)
    add("--json", action="store_true", help="print JSON and nothing else")
    add = add_common(commands, "sql", "run SQL on the storage of one object", _sql)
    _add_class(add)
    add("--id", metavar="HEX", help="the id of the object")
    add("--name", metavar="NAME", help="the name that the object was made from")
    add("--command", dest="sql", metavar="SQL", required=True, help="the SQL to run")
    add("--json", action="store_true", help="print JSON and nothing else")
    add = add_common(commands, "alarms", "list the alarms of objects", _alarms)
    _add_class(add)
    add("--json", action="store_true", help="print JSON and nothing else")


def _add_class(add: Any) -> None:
    add("class_name", nargs="?", metavar="CLASS",
        help="the class or the binding; not needed where there is only one")  # fmt: skip


def _namespace(project: Project, given: str | None) -> str:
    """The id under which the objects of a class are kept. Raises CommandError."""
    project.need_configuration()
    worker = project.worker
    known: dict[str, str] = {}
    for class_name in worker.object_classes:
        known[class_name] = f"{worker.name}-{class_name}"
    for binding in worker.durable_objects:
        known.setdefault(binding.class_name, binding.local_id)
        if given == binding.binding:
            return binding.local_id
    if given is not None and given in known:
        return known[given]
    if given is None and len(set(known.values())) == 1:
        return next(iter(known.values()))
    names = ", ".join(sorted(known)) or "none"
    if given is None:
        raise CommandError(f"Say which class is meant. Those in {project.file}: {names}.")
    raise CommandError(
        f"Couldn't find a Durable Object class or binding '{given}' in your {project.file} file. "
        f"Those in it: {names}."
    )


def _list(arguments: argparse.Namespace) -> None:
    project = Project(arguments)
    namespace = _namespace(project, arguments.class_name)
    with project.state() as state:
        found = state.call("do.list", id=namespace)
    if is_terminal() and not arguments.json:
        print_table(("id", "name", "bytes"), [(id, name or "", size) for id, name, size in found])
        notice(f"{len(found)} object{'' if len(found) == 1 else 's'}")
    else:
        print_json([{"id": id, "name": name, "size": size} for id, name, size in found])


def _sql(arguments: argparse.Namespace) -> None:
    if (arguments.id is None) == (arguments.name is None):
        raise UsageError("Exactly one of the arguments id and name is required.")
    project = Project(arguments)
    namespace = _namespace(project, arguments.class_name)
    with project.state() as state:
        result = state.call(
            "do.sql",
            id=namespace,
            object=arguments.id,
            name=arguments.name,
            sql=arguments.sql,
        )
    columns, rows = result["columns"], result["rows"]
    if is_terminal() and not arguments.json:
        if rows:
            print_table(
                columns, [["null" if each is None else each for each in row] for row in rows]
            )
        notice(f"{result['rows_read']} rows read, {result['rows_written']} rows written")
        return
    print_json(
        {
            "results": [dict(zip(columns, row, strict=True)) for row in rows],
            "meta": {"rows_read": result["rows_read"], "rows_written": result["rows_written"]},
        }
    )


def _alarms(arguments: argparse.Namespace) -> None:
    project = Project(arguments)
    namespace = _namespace(project, arguments.class_name)
    with project.state() as state:
        found = state.call("do.alarms", id=namespace)
    shown = [(id, name, _time(milliseconds)) for id, milliseconds, name in found]
    if is_terminal() and not arguments.json:
        print_table(("id", "name", "time"), [(id, name or "", time) for id, name, time in shown])
    else:
        print_json([{"id": id, "name": name, "time": time} for id, name, time in shown])


def _time(milliseconds: int) -> str:
    found = datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.UTC)
    return found.isoformat(timespec="milliseconds").replace("+00:00", "Z")
