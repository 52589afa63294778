"""What a bigint is in Python: an ``int``, and from Pyodide 314 on a ``JsBigInt``, which stays a bigint."""

from typing import Any

import pytest

from pyflare.js.value import JsBigInt, type_of

from .conftest import Workers

NEWEST = {"compatibility_flags": ["python_workers", "python_workers_20260610"]}

OBJECT = """
class Room(DurableObject):
    async def kept(self, value):
        await self.ctx.storage.put("k", value)
        return await self.ctx.storage.get("k")
    async def shown(self, value):
        from pyodide.ffi import JsBigInt
        await self.ctx.storage.put("k", value)
        return type(await self.ctx.storage.get("k")) is JsBigInt
    async def bound(self):
        try:
            self.ctx.storage.sql.exec("SELECT ?", js.BigInt(5))
        except Exception as error:
            return str(error)
"""


def run(workers: Workers, expression: str, **config: Any) -> Any:
    workers.add(
        "a",
        f"""
        from workers import DurableObject
        from pyodide.ffi import JsBigInt

        class Default(WorkerEntrypoint):
            def echo(self, value): return value
            def is_bigint(self, value): return type(value) is JsBigInt
            async def test(self):
                B, ROOM = self.env.B, self.env.ROOM.getByName("x")
                return {expression}
        """
        + OBJECT.replace("\n", "\n        "),
        {"B": "a"},
        durable_objects={"bindings": [{"name": "ROOM", "class_name": "Room"}]},
        migrations=[{"tag": "v1", "new_sqlite_classes": ["Room"]}],
        **config,
    )
    return workers.call()


ARRIVING = {
    "BigInt": "js.BigInt(5)",
    "BigInt of a text": "js.BigInt('5')",
    "asIntN": "js.BigInt.asIntN(8, 255)",
    "asUintN": "js.BigInt.asUintN(8, 5)",
    "an element": "js.BigInt64Array.new(2)[0]",
    "an element while iterating": "next(iter(js.BigUint64Array.new(2)))",
    "a DataView": "js.DataView.new(js.ArrayBuffer.new(8)).getBigInt64(0)",
    "a clone": "js.structuredClone(js.BigInt(5))",
    "a result": "await B.echo(2**60)",
    "a negative result": "await B.echo(-(2**60))",
    "a small result": "await B.echo(js.BigInt(5))",
    "part of an object": "(await B.echo({'n': 2**60}))['n']",
    "part of an array": "(await B.echo([2**60]))[0]",
    "deep in a result": "(await B.echo({'a': [{'n': 2**60}]}))['a'][0]['n']",
    "a small part": "(await B.echo({'n': js.BigInt(5)}))['n']",
    "a stored value": "await ROOM.kept(2**70)",
    "a small stored value": "await ROOM.kept(js.BigInt(5))",
    "part of a stored value": "(await ROOM.kept({'n': 2**70}))['n']",
}


@pytest.mark.parametrize("expression", ARRIVING.values(), ids=ARRIVING)
def test_a_bigint_arrives_as_its_own_class(workers: Workers, expression: str) -> None:
    assert run(workers, f"type({expression}) is JsBigInt", **NEWEST) is True


@pytest.mark.parametrize("expression", ARRIVING.values(), ids=ARRIVING)
def test_a_bigint_was_an_int_before(workers: Workers, expression: str) -> None:
    assert run(workers, f"type({expression}) is int") is True


NUMBERS = [
    "2**53 - 1",
    "-5",
    "await B.echo(2**53 - 1)",
    "js.Int32Array.new(1)[0]",
    "js.Number(js.BigInt(5))",
]


@pytest.mark.parametrize("expression", NUMBERS)
def test_a_number_is_an_int(workers: Workers, expression: str) -> None:
    assert run(workers, f"type({expression}) is int", **NEWEST) is True


GOING_BACK = {
    "an argument": "await B.is_bigint(js.BigInt(5))",
    "a stored value": "await ROOM.shown(js.BigInt(5))",
    "zero": "await ROOM.shown(js.BigInt(0))",
    "part of a stored value": "type((await ROOM.kept([js.BigInt(5)]))[0]) is JsBigInt",
}


@pytest.mark.parametrize("expression", GOING_BACK.values(), ids=GOING_BACK)
def test_a_small_bigint_goes_back_as_one(workers: Workers, expression: str) -> None:
    assert run(workers, expression, **NEWEST) is True


@pytest.mark.parametrize(
    ("value", "kind"), [(JsBigInt(5), "bigint"), (2**53, "bigint"), (5, "number")]
)
def test_typeof_tells_a_bigint_from_a_number(value: int, kind: str) -> None:
    assert type_of(value) == kind


def test_json_has_no_bigints(workers: Workers) -> None:
    workers.add(
        "a",
        """
        class Default(WorkerEntrypoint):
            async def test(self):
                try:
                    js.JSON.stringify(js.BigInt(5))
                except JsException as error:
                    return str(error)
        """,
        **NEWEST,
    )
    assert workers.call() == "TypeError: Do not know how to serialize a BigInt"


def test_sql_takes_no_bigint(workers: Workers) -> None:
    assert run(workers, "await ROOM.bound()", **NEWEST) == (
        "TypeError: Cannot convert a BigInt value to a number"
    )


def test_arithmetic_gives_an_int(workers: Workers) -> None:
    assert run(workers, "type(js.BigInt(5) + 1) is int", **NEWEST) is True
