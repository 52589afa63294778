"""The direct wrappers of a storage give what the SDK's own give, value for value and error for error."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from typing import Any

import pytest

VALUES: dict[str, Any] = {
    "none": None,
    "bool": True,
    "int": 7,
    "large": 2**40,
    "bigint": 2**80,
    "float": 1.5,
    "whole float": 3.0,
    "minus zero": -0.0,
    "infinity": -math.inf,
    "text": "é🙂",
    "bytes": b"\x00\xff",
    "memoryview": memoryview(b"abc")[1:],
    "list": [1, None, [2.0]],
    "dict": {"b": {"n": None}, "2": 1, "1": 2},
    "number keys": {1: 2, None: 3},
    "set": {"a"},
    "frozenset": frozenset({"a"}),
    "datetime": datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC),
    "exception": KeyError("x"),
    "tuple": (1, 2),
    "tuple in list": [(1,)],
    "bytearray": bytearray(b"a"),
    "range": range(3),
    "complex": 1j,
    "object": object,
    "function": len,
    "deep": {"a": [{"b": [{"c": "d"}]}]},
}


def _stores(value: Any) -> Callable[[Any], Any]:
    async def program(storage: Any) -> Any:
        await storage.put("k", value)
        return [await storage.get("k"), await storage.list(), storage.kv.get("k")]

    return program


def _stores_at_once(value: Any) -> Callable[[Any], Any]:
    def program(storage: Any) -> Any:
        storage.kv.put("k", value)
        return [storage.kv.get("k"), list(storage.kv.list())]

    return program


def _binds(value: Any) -> Callable[[Any], Any]:
    def program(storage: Any) -> Any:
        return storage.sql.exec("SELECT ? AS v, typeof(?1) AS t", value).one()

    return program


async def keys_and_values(storage: Any) -> Any:
    return [
        await storage.put("a", 1),
        await storage.put("b", 2, {"allowUnconfirmed": True}),
        await storage.put("c", 3, allowUnconfirmed=True),
        await storage.put({"d": 4, "e": None}),
        await storage.get("a"),
        await storage.get("missing"),
        await storage.get(["c", "missing", "a", "a"]),
        await storage.get("a", {"noCache": True}),
        await storage.delete("a"),
        await storage.delete("a"),
        await storage.delete(["b", "c", "x"]),
        await storage.list(),
        await storage.list({"reverse": True, "limit": 1}),
        await storage.list(start="e"),
        await storage.deleteAll(),
        await storage.list(),
    ]


async def odd_keys(storage: Any) -> Any:
    await storage.put(5, "number")
    await storage.put(None, "null")
    await storage.put("", "empty")
    return [await storage.list(), await storage.get(5), await storage.delete(None)]


def synchronous(storage: Any) -> Any:
    kv = storage.kv
    kv.put("b", {"n": 1})
    kv.put("a", [None])
    iterator = kv.list()
    return [
        kv.get("b"),
        kv.get("missing"),
        list(iterator),
        iterator.next(),
        kv.list(prefix="b").next(),
        list(kv.list({"reverse": True})),
        kv.delete("a"),
        kv.delete("a"),
    ]


def cursors(storage: Any) -> Any:
    sql = storage.sql
    sql.exec("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, data BLOB, n)")
    written = sql.exec(
        "INSERT INTO t (name, data, n) VALUES (?, ?, ?), ('b', NULL, 9007199254740993)",
        "a",
        b"\x00\x01",
        1.5,
    )
    counters = [written.rowsRead, written.rowsWritten, written.columnNames, written.toArray()]
    cursor = sql.exec("SELECT * FROM t ORDER BY id")
    return [
        counters,
        cursor.columnNames,
        cursor.next(),
        cursor.rowsRead,
        cursor.next(),
        cursor.rowsRead,
        cursor.next(),
        cursor.next(),
        sql.exec("SELECT * FROM t").toArray(),
        list(sql.exec("SELECT id, name FROM t")),
        sql.exec("SELECT id, id FROM t LIMIT 1").one(),
        sql.exec("SELECT id, id, data FROM t").raw().toArray(),
        list(sql.exec("SELECT id FROM t").raw()),
        sql.exec("SELECT id FROM t").raw().next(),
        sql.exec("SELECT 1.0 AS a, 1e999 AS b, NULL AS c").one().a,
        sql.databaseSize > 0,
    ]


def no_rows(storage: Any) -> Any:
    return storage.sql.exec("SELECT 1 WHERE 0").one()


def many_rows(storage: Any) -> Any:
    return storage.sql.exec("SELECT 1 UNION ALL SELECT 2").one()


def wrong_sql(storage: Any) -> Any:
    return storage.sql.exec("SELEC 1")


def sql_without_text(storage: Any) -> Any:
    return storage.sql.exec()


def sql_of_a_number(storage: Any) -> Any:
    return storage.sql.exec(5)


def wrong_count(storage: Any) -> Any:
    return storage.sql.exec("SELECT ?", 1, 2)


async def transactions(storage: Any) -> Any:
    async def kept(txn: Any) -> Any:
        await txn.put("a", 1)
        return {"python": (1, 2)}

    async def failing(txn: Any) -> Any:
        await txn.put("a", 2)
        raise KeyError("own")

    def synchronously() -> Any:
        storage.sql.exec("CREATE TABLE t (x)")
        return [1]

    outcome = [await storage.transaction(kept), storage.transactionSync(synchronously)]
    try:
        await storage.transaction(failing)
    except KeyError as error:
        outcome.append(error.args)
    return [*outcome, await storage.get("a")]


async def alarms(storage: Any) -> Any:
    moment = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
    return [
        await storage.getAlarm(),
        await storage.setAlarm(1_900_000_000_000),
        await storage.getAlarm(),
        await storage.setAlarm(moment),
        await storage.getAlarm(),
        await storage.deleteAlarm(),
        await storage.getAlarm(),
    ]


async def alarm_in_the_past(storage: Any) -> Any:
    return await storage.setAlarm(0)


async def rest(storage: Any) -> Any:
    return [await storage.sync(), await storage.getCurrentBookmark()]


async def put_without_value(storage: Any) -> Any:
    return await storage.put("k")


async def put_of_nothing(storage: Any) -> Any:
    return await storage.put()


async def get_of_nothing(storage: Any) -> Any:
    return await storage.get()


async def kv_get_of_nothing(storage: Any) -> Any:
    return storage.kv.get()


async def entries_and_value(storage: Any) -> Any:
    return await storage.put({"a": 1}, "value")


async def recovery(storage: Any) -> Any:
    return await storage.getBookmarkForTime(1)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    **{f"stores {name}": _stores(value) for name, value in VALUES.items()},
    **{f"stores at once {name}": _stores_at_once(value) for name, value in VALUES.items()},
    **{f"binds {name}": _binds(value) for name, value in VALUES.items()},
    **{
        program.__name__: program
        for program in (
            keys_and_values,
            odd_keys,
            synchronous,
            cursors,
            no_rows,
            many_rows,
            wrong_sql,
            sql_without_text,
            sql_of_a_number,
            wrong_count,
            transactions,
            alarms,
            alarm_in_the_past,
            rest,
            put_without_value,
            put_of_nothing,
            get_of_nothing,
            kv_get_of_nothing,
            entries_and_value,
            recovery,
        )
    },
}


def _shown(value: Any) -> Any:
    """A value with its types, and wrappers by what they wrap."""
    if isinstance(value, dict):
        return (
            type(value).__name__,
            [(_shown(key), _shown(item)) for key, item in value.items()],
        )
    if isinstance(value, list | tuple):
        return (type(value).__name__, [_shown(item) for item in value])
    if isinstance(value, set):
        return ("set", sorted(map(repr, value)))
    if isinstance(value, memoryview):
        return ("memoryview", value.tobytes(), value.readonly)
    if isinstance(value, Exception):
        return (type(value).__name__, str(value))
    return (type(value).__name__, repr(value))


def _outcome(run: Callable[[Any], Any], program: Callable[[Any], Any]) -> Any:
    try:
        return ("gave", _shown(run(program)))
    except Exception as error:
        return ("raised", type(error).__name__, getattr(error, "name", ""), str(error))


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_both_wrappers_agree(storage: Any, tmp_path: Any, program: Callable[[Any], Any]) -> None:
    direct = _outcome(storage, program)
    storage.root = tmp_path / "other"
    assert direct == _outcome(storage.sdk, program)
