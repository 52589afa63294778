"""Explicit transactions: what is kept, what is undone, and what is refused."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import pytest

OPERATIONS: dict[str, tuple[Any, ...]] = {
    "get": ("a",),
    "list": (),
    "put": ("a", 1),
    "delete": ("a",),
    "getAlarm": (),
    "setAlarm": (2_000_000_000_000,),
    "deleteAlarm": (),
}


class TestAsync:
    def test_what_it_wrote_is_kept_and_its_result_given(self, storage: Any) -> None:
        async def transfer(txn: Any) -> str:
            await txn.put("a", (await txn.get("a")) - 10)
            await asyncio.sleep(0)
            await txn.put("b", (await txn.get("b")) + 10)
            return "done"

        async def program(storage: Any) -> Any:
            await storage.put({"a": 100, "b": 0})
            return await storage.transaction(transfer), await storage.list()

        assert storage(program) == ("done", {"a": 90, "b": 10})
        assert storage(lambda storage: storage.list()) == {"a": 90, "b": 10}

    def test_a_plain_function_will_do(self, storage: Any) -> None:
        async def program(storage: Any) -> Any:
            return await storage.transaction(lambda txn: 7)

        assert storage(program) == 7

    def test_an_exception_undoes_it_and_is_raised_again(self, storage: Any) -> None:
        class OwnError(Exception):
            pass

        raised = OwnError("own")

        async def failing(txn: Any) -> None:
            await txn.put("a", 2)
            await txn.setAlarm(2_000_000_000_000)
            await asyncio.sleep(0)
            raise raised

        async def program(storage: Any) -> Any:
            await storage.put("a", 1)
            with pytest.raises(OwnError) as caught:
                await storage.transaction(failing)
            assert caught.value is raised
            return await storage.get("a"), await storage.getAlarm()

        assert storage(program) == (1, None)
        assert storage.life.failures == []

    def test_direct_calls_and_sql_belong_to_it(self, storage: Any) -> None:
        async def program(storage: Any) -> Any:
            storage.sql.exec("CREATE TABLE t (x)")

            async def failing(txn: Any) -> None:
                await storage.put("direct", 1)
                storage.kv.put("at once", 1)
                storage.sql.exec("INSERT INTO t VALUES (1)")
                raise KeyError

            with pytest.raises(KeyError):
                await storage.transaction(failing)
            return await storage.list(), storage.sql.exec("SELECT count(*) AS n FROM t").one().n

        assert storage(program) == ({}, 0)

    def test_rollback_undoes_it_and_may_be_repeated(self, storage: Any) -> None:
        async def undone(txn: Any) -> str:
            await txn.put("a", 2)
            txn.rollback()
            txn.rollback()
            return "result"

        async def program(storage: Any) -> Any:
            await storage.put("a", 1)
            return await storage.transaction(undone), await storage.get("a")

        assert storage(program) == ("result", 1)

    def test_what_is_written_after_a_rollback_is_kept(self, storage: Any) -> None:
        async def program(storage: Any) -> Any:
            async def undone(txn: Any) -> None:
                await txn.put("a", 1)
                txn.rollback()
                await storage.put("b", 1)

            await storage.transaction(undone)
            return await storage.list()

        assert storage(program) == {"b": 1}
        assert storage(lambda storage: storage.list()) == {"b": 1}

    @pytest.mark.parametrize("name", OPERATIONS)
    def test_a_rolled_back_transaction_refuses(self, storage: Any, name: str) -> None:
        async def program(storage: Any) -> Any:
            async def undone(txn: Any) -> None:
                txn.rollback()
                await getattr(txn, name)(*OPERATIONS[name])

            await storage.transaction(undone)

        assert storage.error(program) == f"Error: Cannot {name}() on rolled back transaction"

    @pytest.mark.parametrize("name", [*OPERATIONS, "rollback"])
    def test_a_committed_transaction_refuses(self, storage: Any, name: str) -> None:
        async def program(storage: Any) -> Any:
            kept: list[Any] = []
            await storage.transaction(kept.append)
            result = getattr(kept[0], name)(*OPERATIONS.get(name, ()))
            await result

        assert storage.error(program) == (
            f"Error: Cannot call {name}() on transaction that has already committed: did you move `txn` outside of "
            "the closure?"
        )

    def test_a_failed_transaction_counts_as_rolled_back(self, storage: Any) -> None:
        async def program(storage: Any) -> Any:
            kept: list[Any] = []

            def failing(txn: Any) -> None:
                kept.append(txn)
                raise KeyError

            with pytest.raises(KeyError):
                await storage.transaction(failing)
            await kept[0].get("a")

        assert storage.error(program) == "Error: Cannot get() on rolled back transaction"

    def test_delete_all_is_refused_in_it(self, storage: Any) -> None:
        async def program(storage: Any) -> Any:
            async def through_txn(txn: Any) -> None:
                txn.deleteAll()

            async def directly(txn: Any) -> None:
                await storage.deleteAll()

            for function in (through_txn, directly):
                with pytest.raises(
                    Exception, match=r"^Error: Cannot call deleteAll\(\) within a transaction$"
                ):
                    await storage.transaction(function)

        storage(program)

    def test_the_function_gets_javascript_values(self, storage: Any) -> None:
        from pyflare.js.value import JsObject

        async def program(storage: Any) -> Any:
            await storage.put("a", {"n": 1})

            async def look(txn: Any) -> Any:
                value = await txn.get("a")
                with pytest.raises(Exception, match="DataCloneError"):
                    await txn.put("b", {"python": 1})
                return type(txn)._js_name, type(value) is JsObject, value.n

            return await storage.transaction(look)

        assert storage(program) == ("DurableObjectTransaction", True, 1)

    def test_what_is_no_function_is_refused(self, storage: Any) -> None:
        assert storage.error(lambda storage: storage.transaction(5)) == (
            "TypeError: Failed to execute 'transaction' on 'DurableObjectStorage': parameter 1 is not of type "
            "'function'."
        )


class TestNested:
    async def _nested(self, storage: Any, inner_fails: bool, outer_fails: bool) -> Any:
        async def inner(txn: Any) -> None:
            await txn.put("inner", 1)
            if inner_fails:
                raise KeyError("inner")

        async def outer(txn: Any) -> None:
            await txn.put("outer", 1)
            try:
                await storage.transaction(inner)
            except KeyError:
                await txn.put("noticed", 1)
            if outer_fails:
                raise ValueError("outer")

        try:
            await storage.transaction(outer)
        except ValueError:
            pass
        return await storage.list()

    CASES: ClassVar[list[tuple[bool, bool, dict[str, int]]]] = [
        (False, False, {"inner": 1, "outer": 1}),
        (True, False, {"noticed": 1, "outer": 1}),
        (False, True, {}),
        (True, True, {}),
    ]

    @pytest.mark.parametrize(("inner_fails", "outer_fails", "left"), CASES)
    def test_each_level_is_undone_by_itself_and_with_what_is_around_it(
        self, storage: Any, inner_fails: bool, outer_fails: bool, left: dict[str, int]
    ) -> None:
        assert storage(lambda storage: self._nested(storage, inner_fails, outer_fails)) == left
        assert storage(lambda storage: storage.list()) == left

    def test_the_outer_one_cannot_be_rolled_back_under_the_inner_one(self, storage: Any) -> None:
        async def program(storage: Any) -> Any:
            async def outer(txn: Any) -> None:
                async def inner(_: Any) -> None:
                    txn.rollback()

                await storage.transaction(inner)

            await storage.transaction(outer)

        assert storage.error(program) == (
            "Error: Cannot roll back an outer transaction while a nested transaction is still running."
        )

    def test_nor_under_a_synchronous_one(self, storage: Any) -> None:
        async def program(storage: Any) -> Any:
            async def outer(txn: Any) -> None:
                storage.transactionSync(txn.rollback)

            await storage.transaction(outer)

        assert storage.error(program).startswith("Error: Cannot roll back an outer transaction")
        assert storage.life.failures == []

    def test_the_inner_one_alone_can_be_rolled_back(self, storage: Any) -> None:
        async def program(storage: Any) -> Any:
            async def inner(txn: Any) -> None:
                await txn.put("inner", 1)
                txn.rollback()

            async def outer(txn: Any) -> None:
                await txn.put("outer", 1)
                await storage.transaction(inner)
                await txn.put("after", 1)

            await storage.transaction(outer)
            return await storage.list()

        assert storage(program) == {"after": 1, "outer": 1}


class TestCommit:
    def test_nothing_is_committed_before_the_end(self, storage: Any) -> None:
        async def program(wrapped: Any) -> Any:
            async def slow(txn: Any) -> Any:
                await txn.put("a", 1)
                for _ in range(5):
                    await asyncio.sleep(0)
                return list(storage.life.output.told), storage.life.storage.in_transaction

            return await wrapped.transaction(slow), list(storage.life.output.told)

        assert storage(program) == (([], True), [True])

    def test_what_was_pending_is_committed_before_it_begins(self, storage: Any) -> None:
        async def program(wrapped: Any) -> Any:
            async def interrupted(txn: Any) -> None:
                await txn.put("inside", 1)
                await storage.life.storage.close()

            await wrapped.put("before", 1)
            promise = wrapped._binding.transaction(interrupted)
            await wrapped.put("also before", 1)
            with pytest.raises(Exception, match="no longer accessible"):
                await promise

        storage(program)
        assert storage(lambda storage: storage.list()) == {"also before": 1, "before": 1}

    OUTCOMES: ClassVar[dict[str, tuple[Any, list[bool]]]] = {
        "confirmed": (lambda txn: txn.put("a", 1), [True]),
        "unconfirmed": (lambda txn: txn.put("a", 1, {"allowUnconfirmed": True}), [False]),
        "nothing": (lambda txn: None, []),
        "reads": (lambda txn: txn.list(), []),
    }

    @pytest.mark.parametrize(("function", "told"), OUTCOMES.values(), ids=OUTCOMES)
    def test_the_gate_is_told_when_it_ends(
        self, storage: Any, function: Any, told: list[bool]
    ) -> None:
        storage(lambda storage: storage.transaction(function))
        assert storage.life.output.told == told

    def test_a_rolled_back_one_leaves_no_transaction_open(self, storage: Any) -> None:
        async def program(wrapped: Any) -> Any:
            def undone(txn: Any) -> None:
                txn.put("a", 1).result()
                txn.rollback()

            await wrapped.transaction(undone)
            return storage.life.storage.in_transaction, storage.life.output.told

        assert storage(program) == (False, [])

    def test_later_writes_are_reported_as_usual(self, storage: Any) -> None:
        async def program(wrapped: Any) -> Any:
            await wrapped.transaction(lambda txn: None)
            await wrapped.put("a", 1)
            return list(storage.life.output.told)

        assert storage(program) == [True]

    def test_an_instance_that_ends_meanwhile_keeps_nothing(self, storage: Any) -> None:
        async def program(wrapped: Any) -> Any:
            async def interrupted(txn: Any) -> None:
                await txn.put("a", 1)
                await storage.life.storage.close()
                raise KeyError

            with pytest.raises(KeyError):
                await wrapped.transaction(interrupted)

        storage(program)
        assert storage(lambda storage: storage.list()) == {}


class TestSync:
    def test_its_result_is_given_and_what_it_wrote_kept(self, storage: Any) -> None:
        async def program(storage: Any) -> Any:
            def inside() -> Any:
                storage.sql.exec("CREATE TABLE t (x)")
                storage.kv.put("a", 1)
                return {"n": 1}

            return storage.transactionSync(inside), await storage.get("a")

        assert storage(program) == ({"n": 1}, 1)
        assert storage(lambda storage: storage.get("a")) == 1

    def test_an_exception_undoes_it_and_is_raised_again(self, storage: Any) -> None:
        async def program(storage: Any) -> Any:
            storage.sql.exec("CREATE TABLE t (x)")

            def failing() -> None:
                storage.sql.exec("INSERT INTO t VALUES (1)")
                storage.kv.put("a", 1)
                raise KeyError("own")

            with pytest.raises(KeyError):
                storage.transactionSync(failing)
            return await storage.get("a"), storage.sql.exec("SELECT * FROM t").toArray()

        assert storage(program) == (None, [])

    def test_levels_nest(self, storage: Any) -> None:
        def program(storage: Any) -> Any:
            def inner() -> None:
                storage.kv.put("inner", 1)
                raise KeyError

            def outer() -> None:
                storage.kv.put("outer", 1)
                with pytest.raises(KeyError):
                    storage.transactionSync(inner)
                storage.transactionSync(lambda: storage.kv.put("second", 1))

            storage.transactionSync(outer)
            return dict(map(tuple, storage.kv.list()))

        assert storage(program) == {"outer": 1, "second": 1}

    def test_an_async_function_is_not_waited_for(self, storage: Any) -> None:
        async def program(storage: Any) -> Any:
            async def later() -> str:
                return "later"

            coroutine = storage.transactionSync(later)
            return await coroutine

        assert storage(program) == "later"

    def test_it_works_inside_an_async_one(self, storage: Any) -> None:
        async def program(storage: Any) -> Any:
            async def outer(txn: Any) -> None:
                storage.transactionSync(lambda: storage.kv.put("kept", 1))
                with pytest.raises(ZeroDivisionError):
                    storage.transactionSync(lambda: storage.kv.put("undone", 1 // 0))

            await storage.transaction(outer)
            return await storage.list()

        assert storage(program) == {"kept": 1}

    def test_a_cursor_of_it_is_aborted_by_the_rollback(self, storage: Any) -> None:
        def program(storage: Any) -> Any:
            storage.sql.exec("CREATE TABLE t (x)")
            storage.sql.exec("INSERT INTO t VALUES (1), (2), (3)")
            kept: list[Any] = []

            def failing() -> None:
                kept.append(storage.sql.exec("SELECT x FROM t"))
                raise KeyError

            with pytest.raises(KeyError):
                storage.transactionSync(failing)
            return kept[0].toArray()

        assert storage.error(program) == (
            "Error: abort due to ROLLBACK: SQLITE_ABORT (extended: SQLITE_ABORT_ROLLBACK)"
        )

    def test_a_critical_failure_inside_cannot_be_committed(self, storage: Any) -> None:
        def program(wrapped: Any) -> Any:
            wrapped.sql.exec("CREATE TABLE t (x UNIQUE)")

            def inside() -> None:
                wrapped.sql.exec("INSERT INTO t VALUES (1)")
                # Undoes the whole transaction, which leaves nothing that could be committed.
                with pytest.raises(Exception, match="no transaction is active"):
                    wrapped.sql.exec("INSERT OR ROLLBACK INTO t VALUES (1)")

            wrapped.transactionSync(inside)

        assert storage.error(program) == (
            "Error: Cannot commit transaction due to an earlier SQL critical error"
        )

    def test_what_is_no_function_is_refused(self, storage: Any) -> None:
        assert storage.error(lambda storage: storage.transactionSync("x")).startswith(
            "TypeError: Failed to execute 'transactionSync' on 'DurableObjectStorage'"
        )
