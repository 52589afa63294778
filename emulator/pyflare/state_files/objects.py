"""Durable Objects: a database each, and the alarms of a class in one more."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import apsw

from pyflare_bindings.objects import ObjectId, ObjectIdError, ObjectNamespace
from pyflare_bindings.registry import BindingRegistry
from pyflare_bindings.storage.errors import StateError, state_error

from .blob_files import unwritable
from .errors import SourceError
from .layout import METADATA_FILE, WranglerState, is_object_file
from .options import Options
from .outcome import Outcome
from .private_copy import copy_of
from .tables import ForeignDatabase, move_database

__all__ = ["export_class", "import_class"]

_KIND: Final = "Durable Object class"
_UNIT: Final = "objects"
_NANOSECONDS: Final = 1_000_000
_NAME_TABLE: Final = "__miniflare_do_name"
_CREATE_NAMES: Final = f"CREATE TABLE {_NAME_TABLE} (id INTEGER PRIMARY KEY, name TEXT)"
_INSERT_NAME: Final = f"INSERT INTO {_NAME_TABLE} (id, name) VALUES (1, ?)"
_READ_NAME: Final = f"SELECT name FROM {_NAME_TABLE} WHERE id = 1"
_ALARMS: Final = "_cf_ALARM"
# Without the column for the name that later runtimes add: the earlier ones do not start with it.
_ALARM_SCHEMA: Final = (
    f"CREATE TABLE IF NOT EXISTS {_ALARMS}"
    " (actor_id TEXT PRIMARY KEY, scheduled_time INTEGER) WITHOUT ROWID"
)
_INSERT_ALARM: Final = f"INSERT INTO {_ALARMS} (actor_id, scheduled_time) VALUES (?, ?)"


async def import_class(
    source: WranglerState, unique_key: str, registry: BindingRegistry, work: Path, options: Options
) -> Outcome:
    """Carry the objects of one class over, each with its alarm. Raises StateError.

    An object that cannot be read is among the problems, and the others are carried over.
    """
    directory = source.objects(unique_key)
    paths = list(source.database_files(directory))
    if not paths:
        return Outcome(_KIND, unique_key, "absent")
    _check_name(registry, unique_key)
    outcome = Outcome(_KIND, unique_key, "imported", unit=_UNIT)
    namespace = registry.objects(unique_key)
    names = _names(directory / METADATA_FILE, work, outcome)
    kept = 0
    for path in paths:
        id = _id_of(path, namespace, outcome)
        if id is None:
            continue
        if not options.overwrite and namespace.holds(id):
            kept += 1
            continue
        try:
            copied = ForeignDatabase(copy_of(path, work), path)
            name = _name_of(copied) or names.get(id.hex)
            moved = await namespace.restore(_named(id, name, namespace), copied.copy)
        except StateError as error:
            told = outcome.notes if options.skip_damaged else outcome.problems
            told.append(str(error))
            continue
        finally:
            (work / path.name).unlink(missing_ok=True)
        outcome.count += not moved.is_empty
    if kept:
        outcome.notes.append(f"{kept} objects that have data here already were kept")
    if outcome.problems:
        outcome.action = "failed"
    elif not outcome.count:
        outcome.action = "kept" if kept else "absent"
    return outcome


def _id_of(path: Path, namespace: ObjectNamespace, outcome: Outcome) -> ObjectId | None:
    if not is_object_file(path):
        outcome.notes.append(
            f"left out {path}: the storage of a facet, which pyflare does not have"
        )
        return None
    try:
        return namespace.ids.from_string(path.stem)
    except ObjectIdError:
        outcome.problems.append(f"{path}: the name of this file is no id of the class")
        return None


def _named(id: ObjectId, name: str | None, namespace: ObjectNamespace) -> ObjectId:
    if name is not None and namespace.ids.from_name(name) == id:
        return ObjectId(id.raw, name)
    return id


def _name_of(database: ForeignDatabase) -> str | None:
    """The name of the object; the table that has it is removed."""
    if not database.has_table(_NAME_TABLE):
        return None
    found = [row[0] for row in database.rows(_READ_NAME)]
    database.change(f"DROP TABLE {_NAME_TABLE}")
    return found[0] if found and isinstance(found[0], str) else None


def _names(path: Path, work: Path, outcome: Outcome) -> dict[str, str]:
    """The names that the table of alarms knows. The alarms themselves are in the objects' databases."""
    if not path.is_file():
        return {}
    try:
        database = ForeignDatabase(copy_of(path, work), path)
        columns = {
            row[0] for row in database.rows("SELECT name FROM pragma_table_info(?)", (_ALARMS,))
        }
        if "actor_name" not in columns:
            return {}
        rows = database.rows(f"SELECT actor_id, actor_name FROM {_ALARMS} WHERE actor_name <> ''")
        return dict(rows)
    except SourceError as error:
        outcome.notes.append(f"{error} The objects have their alarms themselves.")
        return {}
    finally:
        (work / path.name).unlink(missing_ok=True)


def _check_name(registry: BindingRegistry, unique_key: str) -> None:
    """Raises: StateError for a class that was renamed, whose ids are those of the name before."""
    before = registry.renamed_objects().kept_as(unique_key)
    if before != unique_key:
        raise StateError(
            registry.root,
            f"the objects of {unique_key} are kept under {before}, the name it had before; wrangler has other ids",
            "Carry them over with a configuration that still has the name before",
        )


async def export_class(
    registry: BindingRegistry, unique_key: str, target: WranglerState, options: Options
) -> Outcome:
    """Write the objects of one class, each with its alarm. Raises StateError."""
    _check_name(registry, unique_key)
    namespace = registry.objects(unique_key)
    ids = namespace.stored_ids()
    if not ids:
        return Outcome(_KIND, unique_key, "absent")
    directory = target.objects(unique_key)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(directory, error) from error
    outcome = Outcome(_KIND, unique_key, "exported", unit=_UNIT)
    kept = 0
    alarms: dict[str, int | None] = {}
    for id in ids:
        path = directory / f"{id.hex}.sqlite"
        if path.exists() and not options.overwrite:
            kept += 1
            continue
        alarms[id.hex] = _export_object(namespace, id, path)
        outcome.count += 1
    if alarms:
        _write_alarms(directory / METADATA_FILE, alarms)
    if kept:
        outcome.notes.append(f"{kept} objects that are there already were kept")
    if not outcome.count:
        outcome.action = "kept"
    return outcome


def _export_object(namespace: ObjectNamespace, id: ObjectId, path: Path) -> int | None:
    """Write one object. Out: its alarm."""
    unfinished = path.with_name(f"{path.name}.new")
    try:
        unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(unfinished, error) from error
    moved = namespace.copy_to(id, unfinished)
    assert moved is not None, "it is among the stored ones"
    if moved.name is not None:
        _change(unfinished, (_CREATE_NAMES, ()), (_INSERT_NAME, (moved.name,)))
    move_database(unfinished, path)
    return moved.alarm


def _write_alarms(path: Path, alarms: Mapping[str, int | None]) -> None:
    removed: list[tuple[str, tuple[Any, ...]]] = []
    added: list[tuple[str, tuple[Any, ...]]] = []
    for id, alarm in alarms.items():
        removed.append((f"DELETE FROM {_ALARMS} WHERE actor_id = ?", (id,)))
        if alarm is not None:
            added.append((_INSERT_ALARM, (id, alarm * _NANOSECONDS)))
    if added or path.exists():
        _change(path, (_ALARM_SCHEMA, ()), *removed, *added)


def _change(path: Path, *statements: tuple[str, tuple[Any, ...]]) -> None:
    try:
        with closing(apsw.Connection(str(path))) as connection, connection:
            for statement, values in statements:
                connection.execute(statement, values).fetchall()
    except apsw.Error as error:
        raise state_error(path, error) from error
