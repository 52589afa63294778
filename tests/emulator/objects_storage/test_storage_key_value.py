"""Keys and values: ranges, order, limits, refusals, and when they are committed."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import pytest

KEYS = ["", "a", "a\0", "a1", "a2", "b", "ba", "\U0001f642", "é", "﹏"]

#: options -> the keys that are listed, of KEYS in the order of their UTF-8 bytes.
RANGES: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["", "a", "a\0", "a1", "a2", "b", "ba", "é", "﹏", "\U0001f642"]),
    ({"start": "a1"}, ["a1", "a2", "b", "ba", "é", "﹏", "\U0001f642"]),
    ({"startAfter": "a"}, ["a\0", "a1", "a2", "b", "ba", "é", "﹏", "\U0001f642"]),
    ({"startAfter": "ba"}, ["é", "﹏", "\U0001f642"]),
    ({"end": "a1"}, ["", "a", "a\0"]),
    ({"start": "a", "end": "b"}, ["a", "a\0", "a1", "a2"]),
    ({"start": "b", "end": "a"}, []),
    ({"start": "b", "end": "b"}, []),
    ({"prefix": "a"}, ["a", "a\0", "a1", "a2"]),
    ({"prefix": ""}, ["", "a", "a\0", "a1", "a2", "b", "ba", "é", "﹏", "\U0001f642"]),
    ({"prefix": "x"}, []),
    ({"prefix": "a", "start": "a1"}, ["a1", "a2"]),
    ({"prefix": "a", "start": "b"}, []),
    ({"prefix": "b", "start": "a"}, ["b", "ba"]),
    ({"prefix": "a", "end": "a2"}, ["a", "a\0", "a1"]),
    ({"prefix": "a", "end": "a"}, []),
    ({"prefix": "a", "end": "z"}, ["a", "a\0", "a1", "a2"]),
    ({"limit": 2}, ["", "a"]),
    ({"limit": 2, "reverse": True}, ["\U0001f642", "﹏"]),
    ({"start": "a1", "end": "b", "reverse": True}, ["a2", "a1"]),
    ({"prefix": "a", "reverse": True, "limit": 2}, ["a2", "a1"]),
    ({"startAfter": "a1", "limit": 1}, ["a2"]),
    ({"limit": 1.9}, [""]),
    ({"limit": "3"}, ["", "a", "a\0"]),
    ({"reverse": 0, "limit": 1}, [""]),
    # As on the platform null is no absence but the text "null".
    ({"prefix": None}, []),
]


async def _filled(storage: Any) -> None:
    await storage.put(dict.fromkeys(KEYS, 1))


@pytest.mark.parametrize(("options", "expected"), RANGES, ids=lambda value: str(value)[:40])
def test_a_range_lists_its_keys_in_order(
    storage: Any, options: dict[str, Any], expected: list[str]
) -> None:
    async def program(storage: Any) -> Any:
        await _filled(storage)
        at_once = [key for key, _ in storage.kv.list(options)]
        return list(await storage.list(options)), list(await storage.list(**options)), at_once

    assert storage(program) == (expected, expected, expected)


WRONG_RANGES: list[tuple[dict[str, Any], str]] = [
    (
        {"start": "a", "startAfter": "b"},
        "TypeError: list() cannot be called with both start and startAfter values.",
    ),
    ({"limit": 0}, "TypeError: List limit must be positive."),
    ({"limit": -1}, "TypeError: List limit must be positive."),
    ({"limit": "x"}, "TypeError: List limit must be positive."),
    (
        {"limit": 2**31},
        "TypeError: Value out of range. Must be between -2147483648 and 2147483647 (inclusive).",
    ),
]


@pytest.mark.parametrize(("options", "text"), WRONG_RANGES)
def test_a_wrong_range_is_refused(storage: Any, options: dict[str, Any], text: str) -> None:
    assert storage.error(lambda storage: storage.list(options)) == text
    assert storage.error(lambda storage: storage.kv.list(options)) == text


def test_several_keys_give_those_that_are_there_in_order_and_once(storage: Any) -> None:
    async def program(storage: Any) -> Any:
        await _filled(storage)
        return list((await storage.get(["b", "x", "a", "b", "é"])).items())

    assert storage(program) == [("a", 1), ("b", 1), ("é", 1)]


def test_no_keys_give_nothing(storage: Any) -> None:
    async def program(storage: Any) -> Any:
        return await storage.get([]), await storage.delete([]), await storage.put({})

    assert storage(program) == ({}, 0, None)


def test_deleting_tells_what_was_there(storage: Any) -> None:
    async def program(storage: Any) -> Any:
        await _filled(storage)
        return [
            await storage.delete("a"),
            await storage.delete("a"),
            await storage.delete(["b", "ba", "x"]),
            await storage.delete("", allowUnconfirmed=True),
            await storage.list(end="a2"),
        ]

    assert storage(program) == [True, False, 2, True, {"a\0": 1, "a1": 1}]


def test_undefined_values_are_skipped_among_several_and_refused_alone(storage: Any) -> None:
    from pyflare.js.value import JsObject

    async def program(storage: Any) -> Any:
        await storage.put(JsObject.adopt({"a": None, "b": 1}))
        with pytest.raises(Exception, match=r"^TypeError: put\(\) called with undefined value.$"):
            await storage.put("c", None)
        return list(await storage.list())

    assert storage.raw(program) == ["b"]


def test_one_value_that_cannot_be_cloned_keeps_all_of_them_out(storage: Any) -> None:
    async def program(storage: Any) -> Any:
        with pytest.raises(Exception, match="DataCloneError"):
            await storage.put({"a": 1, "b": 1j})
        return await storage.list()

    assert storage(program) == {}


def test_a_value_beyond_the_row_limit_is_refused_and_the_rest_goes_on(storage: Any) -> None:
    async def program(storage: Any) -> Any:
        await storage.put("a", 1)
        with pytest.raises(Exception, match=r"^Error: string or blob too big: SQLITE_TOOBIG$"):
            await storage.put("b", "x" * 5_000_000)
        return await storage.list()

    assert storage(program) == {"a": 1}


@pytest.mark.parametrize("options", ["text", 5, True])
def test_options_have_to_be_an_object(storage: Any, options: Any) -> None:
    assert storage.error(lambda storage: storage.get("a", options)) == (
        "TypeError: Failed to execute 'get' on 'DurableObjectStorage': parameter 2 is not of type 'GetOptions'."
    )


class TestWithoutSqlite:
    """A class that was declared with ``new_classes`` has the limits of the older back end."""

    @pytest.fixture
    def limited(self, storage: Any) -> Any:
        storage.uses_sql = False
        return storage

    def test_keys_and_values_up_to_the_limits_are_fine(self, limited: Any) -> None:
        async def program(storage: Any) -> Any:
            await storage.put("k" * 2048, "v" * 131_000)
            await storage.put({f"k{n}": n for n in range(128)})
            return len(await storage.get([f"k{n}" for n in range(128)]))

        assert limited(program) == 128

    @pytest.mark.parametrize("operation", ["get", "delete", "put"])
    def test_longer_keys_are_refused(self, limited: Any, operation: str) -> None:
        arguments = ("é" * 1025, 1)[: 2 if operation == "put" else 1]
        assert limited.error(lambda storage: getattr(storage, operation)(*arguments)) == (
            "RangeError: Keys cannot be larger than 2048 bytes. A key of size 2050 was provided."
        )

    def test_larger_values_are_refused(self, limited: Any) -> None:
        text = limited.error(lambda storage: storage.put("k", "v" * 131_200))
        assert text == (
            "RangeError: Values cannot be larger than 131072 bytes. A value of size 131206 was provided."
        )

    @pytest.mark.parametrize("operation", ["get", "delete", "put"])
    def test_more_keys_at_once_are_refused(self, limited: Any, operation: str) -> None:
        keys = [f"k{n}" for n in range(129)]
        argument: Any = dict.fromkeys(keys, 1) if operation == "put" else keys
        assert limited.error(lambda storage: getattr(storage, operation)(argument)) == (
            "RangeError: Maximum number of key value pairs is 128. 129 pairs were provided."
        )

    def test_sql_is_refused_when_it_is_used(self, limited: Any) -> None:
        for program in (
            lambda storage: storage.sql.exec("SELECT 1"),
            lambda storage: storage.sql.databaseSize,
        ):
            text = limited.error(program)
            assert text.startswith(
                "Error: This Durable Object is not backed by SQLite storage, so the SQL API is not available."
            )

    @pytest.mark.parametrize(
        "program",
        [
            lambda storage: storage.kv.get("a"),
            lambda storage: storage.kv.put("a", 1),
            lambda storage: storage.kv.delete("a"),
            lambda storage: storage.kv.list(),
        ],
    )
    def test_the_synchronous_kind_is_refused_when_it_is_used(
        self, limited: Any, program: Any
    ) -> None:
        assert limited.error(program).startswith(
            "Error: The storage.kv (synchronous KV) API is only available for SQLite-backed Durable Objects, but this "
            "object's namespace is not declared to use SQLite."
        )

    def test_synchronous_transactions_are_refused(self, limited: Any) -> None:
        assert limited.error(lambda storage: storage.transactionSync(lambda: 1)) == (
            "Error: Durable Object is not backed by SQL."
        )

    def test_there_is_no_bookmark(self, limited: Any) -> None:
        assert limited.error(lambda storage: storage.getCurrentBookmark()) == (
            "Error: This Durable Object's storage back-end does not implement point-in-time recovery."
        )

    def test_transactions_work(self, limited: Any) -> None:
        async def program(storage: Any) -> Any:
            await storage.transaction(lambda txn: txn.put("a", 1))
            return await storage.get("a")

        assert limited(program) == 1


class TestConfirmation:
    """Who waits for a write: the gate is told once for each implicit transaction, or again when more has to wait."""

    PROGRAMS: ClassVar[dict[str, tuple[Any, list[bool]]]] = {
        "a put": (lambda storage: storage.put("a", 1), [True]),
        "an unconfirmed put": (lambda storage: storage.put("a", 1, allowUnconfirmed=True), [False]),
        "an unconfirmed delete": (lambda storage: storage.delete("a", allowUnconfirmed=True), []),
        "an unconfirmed alarm": (
            lambda storage: storage.setAlarm(2_000_000_000_000, allowUnconfirmed=True),
            [False],
        ),
        "a get": (lambda storage: storage.get("a"), []),
        "a list": (lambda storage: storage.list(), []),
        "a select": (lambda storage: storage.sql.exec("SELECT 1").one(), []),
        "a statement": (lambda storage: storage.sql.exec("CREATE TABLE t (x)").toArray(), [True]),
        "a bookmark": (lambda storage: storage.getCurrentBookmark(), [True]),
    }

    @pytest.mark.parametrize(("program", "told"), PROGRAMS.values(), ids=PROGRAMS)
    def test_one_operation(self, storage: Any, program: Any, told: list[bool]) -> None:
        storage(program)
        assert storage.life.output.told == told

    async def _two(self, storage: Any, first: bool, second: bool) -> None:
        await storage.put("a", 1, allowUnconfirmed=not first)
        await storage.put("b", 1, allowUnconfirmed=not second)

    def test_two_writes_are_one_transaction(self, storage: Any) -> None:
        storage(lambda storage: self._two(storage, True, True))
        assert storage.life.output.told == [True]

    def test_a_confirmed_write_closes_it_for_an_unconfirmed_one_before(self, storage: Any) -> None:
        storage(lambda storage: self._two(storage, False, True))
        assert storage.life.output.told == [False, True]

    def test_an_unconfirmed_write_does_not_open_it_again(self, storage: Any) -> None:
        storage(lambda storage: self._two(storage, True, False))
        assert storage.life.output.told == [True]

    def test_sql_is_always_confirmed(self, storage: Any) -> None:
        async def program(storage: Any) -> None:
            await storage.put("a", 1, allowUnconfirmed=True)
            storage.sql.exec("CREATE TABLE t (x)")

        storage(program)
        assert storage.life.output.told == [False, True]


def test_awaiting_the_storage_lets_nothing_else_run(storage: Any) -> None:
    async def program(storage: Any) -> Any:
        ran: list[str] = []
        asyncio.get_running_loop().call_soon(ran.append, "other")
        await storage.put("a", 1)
        await storage.get("a")
        await storage.list()
        await storage.delete("a")
        await storage.setAlarm(2_000_000_000_000)
        await storage.getAlarm()
        await storage.deleteAll()
        before = list(ran)
        await asyncio.sleep(0)
        return before, ran

    assert storage(program) == ([], ["other"])
    assert storage.raw(program) == ([], ["other"])


def test_a_write_happens_whether_or_not_it_is_awaited(storage: Any) -> None:
    async def program(storage: Any) -> Any:
        storage.put("a", 1)
        return await storage.get("a")

    assert storage.raw(program) == 1


def test_what_was_written_is_there_for_the_next_instance(storage: Any) -> None:
    storage(lambda storage: storage.put("a", {"n": 1}))
    assert storage(lambda storage: storage.get("a")) == {"n": 1}


def test_sync_waits_until_it_is_durable(storage: Any) -> None:
    async def program(raw: Any) -> Any:
        await raw.put("a", 1)
        before = storage.life.storage.in_transaction
        await raw.sync()
        return before, storage.life.storage.in_transaction

    assert storage(program) == (True, False)


def test_after_the_end_of_the_instance_nothing_is_accessible(storage: Any) -> None:
    async def program(wrapped: Any) -> Any:
        await storage.life.storage.close()
        for operation in (
            lambda: wrapped.get("a"),
            lambda: wrapped.put("a", 1),
            lambda: wrapped.list(),
            lambda: wrapped.delete(["a"]),
            lambda: wrapped.setAlarm(2_000_000_000_000),
            lambda: wrapped.transaction(lambda txn: None),
        ):
            with pytest.raises(
                Exception, match=r"^Error: Durable Object storage is no longer accessible.$"
            ):
                await operation()
        for at_once in (
            lambda: wrapped.kv.get("a"),
            lambda: wrapped.sql.exec("SELECT 1"),
            lambda: wrapped.transactionSync(lambda: None),
        ):
            with pytest.raises(Exception, match="no longer accessible"):
                at_once()

    storage(program)


def test_damaged_bytes_are_an_error_of_their_own(storage: Any) -> None:
    async def program(wrapped: Any) -> Any:
        storage.life.storage.put("a", b"\xff\x0f\x99")
        return await wrapped.get("a")

    assert storage.error(program) == "Error: Unable to deserialize cloned data."


class TestDeleteAll:
    async def _everything(self, storage: Any) -> None:
        await storage.put("a", 1)
        storage.sql.exec("CREATE TABLE t (x)")
        await storage.setAlarm(2_000_000_000_000)
        await storage.sync()

    def test_keys_tables_and_what_is_not_committed_are_gone(self, storage: Any) -> None:
        async def program(storage: Any) -> Any:
            await self._everything(storage)
            await storage.put("b", 1)
            await storage.deleteAll()
            await storage.put("c", 1)
            tables = storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 't'").toArray()
            return await storage.list(), tables

        assert storage(program) == ({"c": 1}, [])
        assert storage(lambda storage: storage.list()) == {"c": 1}

    def test_the_alarm_goes_too(self, storage: Any) -> None:
        async def program(storage: Any) -> Any:
            await self._everything(storage)
            await storage.deleteAll()
            return await storage.getAlarm()

        assert storage(program) is None

    def test_the_alarm_stays_where_the_flag_says_so(self, storage: Any) -> None:
        async def program(wrapped: Any) -> Any:
            wrapped._session.alarm_survives = True
            await self._everything(wrapped)
            await wrapped.deleteAll()
            return await wrapped.getAlarm(), await wrapped.list()

        assert storage(program) == (2_000_000_000_000, {})

    def test_an_open_cursor_says_so(self, storage: Any) -> None:
        async def program(storage: Any) -> Any:
            storage.sql.exec("CREATE TABLE t (x)")
            storage.sql.exec("INSERT INTO t VALUES (1), (2), (3)")
            cursor = storage.sql.exec("SELECT x FROM t")
            await storage.deleteAll()
            return cursor.toArray()

        assert storage.error(program) == (
            "Error: SQLite query was canceled because the database was deleted."
        )


class TestAlarm:
    TIMES: ClassVar[list[tuple[Any, int]]] = [
        (1_800_000_000_000, 1_800_000_000_000),
        (1_800_000_000_000.7, 1_800_000_000_000),
        # What has passed counts as now.
        (1, 1_700_000_000_000),
    ]

    @pytest.mark.parametrize(("time", "stored"), TIMES)
    def test_times(self, storage: Any, time: Any, stored: int) -> None:
        async def program(storage: Any) -> Any:
            await storage.setAlarm(time)
            return await storage.getAlarm()

        assert storage(program) == stored

    def test_dates_of_both_languages(self, storage: Any) -> None:
        import datetime

        from pyflare.js.date import Date

        moment = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)

        async def wrapped(storage: Any) -> Any:
            await storage.setAlarm(moment)
            return await storage.getAlarm()

        async def raw(storage: Any) -> Any:
            await storage.setAlarm(Date._make(1_893_456_000_000))
            first = await storage.getAlarm()
            await storage.setAlarm(moment)
            return first, await storage.getAlarm()

        assert storage(wrapped) == 1_893_456_000_000
        assert storage.raw(raw) == (1_893_456_000_000, 1_893_456_000_000)

    WRONG: ClassVar[list[tuple[Any, str]]] = [
        (0, "setAlarm() cannot be called with an alarm time <= 0"),
        (-5, "setAlarm() cannot be called with an alarm time <= 0"),
        (0.5, "setAlarm() cannot be called with an alarm time <= 0"),
        (float("nan"), "The value cannot be converted because it is not a valid Date."),
        (10**13, "The value cannot be converted because it is not a valid Date."),
        (
            "soon",
            "Failed to execute 'setAlarm' on 'DurableObjectStorage': parameter 1 is not of type 'date'.",
        ),
        (
            None,
            "Failed to execute 'setAlarm' on 'DurableObjectStorage': parameter 1 is not of type 'date'.",
        ),
        (
            True,
            "Failed to execute 'setAlarm' on 'DurableObjectStorage': parameter 1 is not of type 'date'.",
        ),
    ]

    @pytest.mark.parametrize(("time", "text"), WRONG)
    def test_wrong_times(self, storage: Any, time: Any, text: str) -> None:
        assert storage.error(lambda storage: storage.setAlarm(time)) == f"TypeError: {text}"

    def test_the_unwrapped_storage_gives_null(self, storage: Any) -> None:
        from pyflare.js.value import jsnull

        assert storage.raw(lambda storage: storage.getAlarm()) is jsnull

    def test_an_alarm_survives_the_instance(self, storage: Any) -> None:
        storage(lambda storage: storage.setAlarm(1_800_000_000_000))
        assert storage(lambda storage: storage.getAlarm()) == 1_800_000_000_000


class TestBookmarks:
    def test_each_is_the_next(self, storage: Any) -> None:
        async def program(storage: Any) -> Any:
            return [await storage.getCurrentBookmark() for _ in range(3)]

        zeros = "0" * 32
        assert storage(program) == [
            f"00000000-{number:08x}-00000000-{zeros}" for number in range(3)
        ]

    @pytest.mark.parametrize("operation", ["getBookmarkForTime", "onNextSessionRestoreBookmark"])
    def test_history_is_refused(self, storage: Any, operation: str) -> None:
        assert storage.error(lambda storage: getattr(storage, operation)("x")) == (
            "Error: This Durable Object's storage back-end does not implement point-in-time recovery."
        )

    def test_snapshots_are_refused(self, storage: Any) -> None:
        assert storage.error(lambda storage: storage.snapshot()) == (
            "Error: Snapshots of Durable Objects are not emulated."
        )

    @pytest.mark.parametrize(
        "name", ["primary", "ensureReplicas", "disableReplicas", "waitForBookmark"]
    )
    def test_what_flags_for_experiments_bring_is_not_there(self, storage: Any, name: str) -> None:
        assert not storage(lambda storage: hasattr(storage, name))


@pytest.mark.parametrize(
    ("call", "where", "kind"),
    [
        (lambda s: s.get(), "'get' on 'DurableObjectStorage': parameter 1", "string or Array"),
        (
            lambda s: s.delete(),
            "'delete' on 'DurableObjectStorage': parameter 1",
            "string or Array",
        ),
        (lambda s: s.put(), "'put' on 'DurableObjectStorage': parameter 1", "string or object"),
        (lambda s: s.put("a", 1, 5), "'put' on 'DurableObjectStorage': parameter 3", "PutOptions"),
        (lambda s: s.list(5), "'list' on 'DurableObjectStorage': parameter 1", "ListOptions"),
        (
            lambda s: s.deleteAll(5),
            "'deleteAll' on 'DurableObjectStorage': parameter 1",
            "PutOptions",
        ),
        (
            lambda s: s.getAlarm(5),
            "'getAlarm' on 'DurableObjectStorage': parameter 1",
            "GetAlarmOptions",
        ),
        (
            lambda s: s.transactionSync(),
            "'transactionSync' on 'DurableObjectStorage': parameter 1",
            "function",
        ),
        (lambda s: s.kv.get(), "'get' on 'SyncKvStorage': parameter 1", "string"),
        (lambda s: s.kv.put("a"), "'put' on 'SyncKvStorage': parameter 2", "Value"),
        (lambda s: s.kv.list(5), "'list' on 'SyncKvStorage': parameter 1", "ListOptions"),
    ],
)
def test_an_argument_that_is_missing_or_wrong_is_named(
    storage: Any, call: Any, where: str, kind: str
) -> None:
    assert storage.error(call) == f"TypeError: Failed to execute {where} is not of type '{kind}'."
