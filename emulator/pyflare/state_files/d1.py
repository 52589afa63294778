"""D1 databases: whole files, since both sides keep a database as SQLite has it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pyflare_bindings.registry import BindingRegistry

from .blob_files import unwritable
from .layout import WranglerState
from .names import D1
from .options import Options
from .outcome import Outcome
from .private_copy import copy_of
from .tables import ForeignDatabase, move_database

__all__ = ["export_database", "import_database"]

_KIND: Final = "D1 database"
_UNIT: Final = "tables"
_TABLES: Final = (
    "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE '$_cf$_%' ESCAPE '$'"
    " AND name NOT LIKE 'sqlite$_%' ESCAPE '$'"
)
_NAME_TABLE: Final = "__miniflare_do_name"


async def import_database(
    source: WranglerState, id: str, registry: BindingRegistry, work: Path, options: Options
) -> Outcome:
    """Carry one database over. Raises StateError."""
    path = source.database(D1, id)
    if not path.is_file():
        return Outcome(_KIND, id, "absent")
    database = registry.d1(id)
    if not options.overwrite and not await database.is_empty():
        return Outcome(_KIND, id, "kept")
    copied = ForeignDatabase(copy_of(path, work), path)
    # A table of the local tools' own would show, and the number of a bookmark is one.
    copied.change(f"DROP TABLE IF EXISTS {_NAME_TABLE}")
    if copied.has_table("_cf_METADATA"):
        copied.change("DELETE FROM _cf_METADATA WHERE typeof(value) <> 'integer'")
    ((tables,),) = copied.rows(_TABLES)
    if not tables:
        copied.copy.unlink()
        return Outcome(_KIND, id, "absent")
    await database.restore(copied.copy)
    return Outcome(_KIND, id, "imported", tables, _UNIT)


async def export_database(
    registry: BindingRegistry, id: str, target: WranglerState, options: Options
) -> Outcome:
    """Write one database. Raises StateError."""
    database = registry.d1(id)
    if await database.is_empty():
        return Outcome(_KIND, id, "absent")
    path = target.database(D1, id)
    if path.exists() and not options.overwrite:
        return Outcome(_KIND, id, "kept")
    unfinished = path.with_name(f"{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(path, error) from error
    await database.copy_to(unfinished)
    ((tables,),) = ForeignDatabase(unfinished, path).rows(_TABLES)
    move_database(unfinished, path)
    return Outcome(_KIND, id, "exported", tables, _UNIT)
