"""What SQL of a user may touch: the platform's sandbox as a SQLite authorizer.

Source: `SqliteDatabase::isAuthorized` and its lists in `src/workerd/util/sqlite.c++` of workerd.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import apsw

from .errors import SqlError
from .sql_text import words

TRANSACTION_REFUSED = (
    "To execute a transaction, please use the state.storage.transaction() or "
    "state.storage.transactionSync() APIs instead of the SQL BEGIN TRANSACTION or SAVEPOINT "
    "statements. The JavaScript API is safer because it will automatically roll back on "
    "exceptions, and because it interacts correctly with Durable Objects' automatic atomic write "
    "coalescing."
)

MODULES = frozenset({"fts5", "fts5vocab", "rtree", "rtree_i32"})

FUNCTIONS = words(
    # core
    "abs changes char coalesce concat concat_ws format glob hex ifnull iif instr "
    "last_insert_rowid length like likelihood likely load_extension lower ltrim max_scalar "
    "min_scalar nullif octet_length printf quote random randomblob replace round rtrim sign "
    "soundex substr substring total_changes trim typeof unhex unicode unlikely upper zeroblob "
    # dates
    "date time datetime julianday unixepoch strftime timediff current_date current_time "
    "current_timestamp "
    # aggregates and windows
    "avg count group_concat max min string_agg sum total row_number rank dense_rank percent_rank "
    "cume_dist ntile lag lead first_value last_value nth_value "
    # mathematics
    "acos acosh asin asinh atan atan2 atanh ceil cos cosh degrees exp floor ln log log2 mod pi "
    "pow radians sin sinh sqrt tan tanh trunc "
    # JSON
    "json json_array json_array_length json_extract json_insert json_object json_patch "
    "json_remove json_replace json_set json_group_array json_group_object jsonb jsonb_array "
    "jsonb_extract jsonb_insert jsonb_object jsonb_patch jsonb_remove jsonb_replace jsonb_set "
    "jsonb_group_array jsonb_group_object json_type json_valid json_quote json_each json_tree "
    "-> ->> "
    # full text and R*Tree
    "match highlight bm25 snippet rtreecheck "
    # what ALTER TABLE calls inside
    "sqlite_rename_column sqlite_rename_table sqlite_rename_test sqlite_drop_column "
    "sqlite_rename_quotefix"
)

_BOOLEAN_PRAGMAS = words(
    "case_sensitive_like foreign_keys defer_foreign_keys ignore_check_constraints "
    "legacy_alter_table recursive_triggers reverse_unordered_selects"
)
_NAMED_OBJECT_PRAGMAS = words(
    "table_info table_xinfo foreign_key_list index_info index_list index_xinfo"
)
_BOOLEAN_WORDS = ("true", "false", "yes", "no", "on", "off", "1", "0")

_ONE_NAME = frozenset(
    {
        apsw.SQLITE_CREATE_TABLE,
        apsw.SQLITE_DROP_TABLE,
        apsw.SQLITE_INSERT,
        apsw.SQLITE_DELETE,
        apsw.SQLITE_CREATE_VIEW,
        apsw.SQLITE_DROP_VIEW,
        apsw.SQLITE_REINDEX,
        apsw.SQLITE_READ,
        apsw.SQLITE_UPDATE,
    }
)
_TWO_NAMES = frozenset(
    {
        apsw.SQLITE_CREATE_INDEX,
        apsw.SQLITE_DROP_INDEX,
        apsw.SQLITE_CREATE_TRIGGER,
        apsw.SQLITE_DROP_TRIGGER,
    }
)
_ALWAYS = frozenset({apsw.SQLITE_SELECT, apsw.SQLITE_RECURSIVE, apsw.SQLITE_ANALYZE})
_VIRTUAL_TABLE = frozenset({apsw.SQLITE_CREATE_VTABLE, apsw.SQLITE_DROP_VTABLE})
_TEMP_ALLOWED = frozenset({apsw.SQLITE_READ, apsw.SQLITE_UPDATE})
_REFUSED_LOUDLY = frozenset({apsw.SQLITE_TRANSACTION, apsw.SQLITE_SAVEPOINT})

_OK = apsw.SQLITE_OK
_DENY = apsw.SQLITE_DENY


class Action(NamedTuple):
    """One thing that a statement does, as SQLite told it while compiling."""

    code: int
    first: str | None
    second: str | None
    within: str | None


def is_reserved(name: str | None) -> bool:
    """Whether a table, index, view or trigger of this name belongs to the platform."""
    return name is not None and name[:4].lower() == "_cf_"


class Authorizer:
    """The callback for one connection.

    `internal` is true while the platform's own statements are compiled or run. `actions` collects
    what the statement being compiled does, when it is a list.
    """

    __slots__ = ("actions", "internal")

    def __init__(self) -> None:
        self.internal = False
        self.actions: list[Action] | None = None

    def __call__(
        self,
        code: int,
        first: str | None,
        second: str | None,
        database: str | None,
        within: str | None,
    ) -> int:
        if self.internal:
            # An internal statement must not set a user's trigger going.
            return _OK if within is None else _DENY
        if code == apsw.SQLITE_ALTER_TABLE:
            # SQLite hands this action over with the database first.
            database, first, second = first, second, None
        if self.actions is not None:
            self.actions.append(Action(code, first, second, within))
        return _OK if _allowed(code, first, second, database) else _DENY


def _allowed(code: int, first: str | None, second: str | None, database: str | None) -> bool:
    if code in _REFUSED_LOUDLY:
        raise SqlError(TRANSACTION_REFUSED)
    if (
        database is not None
        and database != "main"
        and not (database == "temp" and code in _TEMP_ALLOWED)
    ):
        return False
    if code in _ONE_NAME or code == apsw.SQLITE_ALTER_TABLE:
        return not is_reserved(first)
    if code in _ALWAYS:
        return True
    if code == apsw.SQLITE_FUNCTION:
        return second is not None and second.lower() in FUNCTIONS
    if code in _TWO_NAMES:
        return not is_reserved(first) and not is_reserved(second)
    if code == apsw.SQLITE_PRAGMA:
        return _pragma_allowed((first or "").lower(), second)
    if code in _VIRTUAL_TABLE:
        return not is_reserved(first) and second is not None and second.lower() in MODULES
    return False


def _pragma_allowed(name: str, argument: str | None) -> bool:
    if name in _BOOLEAN_PRAGMAS:
        return argument is None or _unquoted(argument).lower().startswith(_BOOLEAN_WORDS)
    if name in _NAMED_OBJECT_PRAGMAS:
        return argument is not None and not is_reserved(argument)
    match name:
        case "table_list":
            return True
        case "data_version" | "page_size":
            return argument is None
        case "foreign_key_check" | "quick_check":
            # A number passes as a name that is not reserved.
            return argument is None or not is_reserved(argument)
        case "optimize":
            return argument is None or _is_int32(argument)
        case _:
            return False


def _unquoted(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text


def _is_int32(text: str) -> bool:
    if re.fullmatch(r"[+-]?(0[xX][0-9a-fA-F]+|[0-9]+)", text) is None:
        return False
    sign = -1 if text.startswith("-") else 1
    digits = text.lstrip("+-")
    value = sign * (int(digits, 16) if digits[:2].lower() == "0x" else int(digits))
    return -(2**31) <= value < 2**32
