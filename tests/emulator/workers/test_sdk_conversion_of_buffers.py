"""Arguments of bindings that are buffers: converted as the SDK converts them, without a look at each byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.emulator.conftest import Runner, request, write_worker

SOURCE = """
    import array, datetime
    import js
    import workers.rpc, workers.utils
    from workers import Response, WorkerEntrypoint
    from workers.rpc import python_to_rpc

    ADAPTED = workers.rpc._is_iterable


    async def nothing():
        pass


    def outcome(make):
        try:
            value = make()
            given = python_to_rpc(value)
        except Exception as error:
            return f"{{type(error).__name__}}: {{error}}"
        same = "the same" if given is value else "another"
        return f"{{same}} {{type(given).__name__}} {{js.Array.from_(given) if hasattr(given, 'length') else given}}"


    def both_ways(make):
        adapted = outcome(make)
        workers.rpc._is_iterable = workers.utils._is_iterable
        try:
            return [adapted, outcome(make)]
        finally:
            workers.rpc._is_iterable = ADAPTED


    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            return Response.json({expression})
"""
VALUES = [
    "js.Uint8Array.new([1, 2, 255])",
    "js.Uint8Array.new(0)",
    "js.Float64Array.new([1.5, -0.0])",
    "js.BigInt64Array.new([2**60])",
    "js.Uint8Array.new(js.ArrayBuffer.new(8), 2, 4)",
    "js.DataView.new(js.ArrayBuffer.new(8))",
    "js.ArrayBuffer.new(3)",
    "[js.Uint8Array.new([1]), 'a', None]",
    "{'a': js.Uint8Array.new([1]), 'b': memoryview(b'x')}",
    "[js.Uint8Array.new([1]), (1, 2)]",
    "{'a': js.Uint8Array.new([1]), 'b': nothing()}",
    "js.Array.new(js.Uint8Array.new([1]), js.RegExp.new('x'))",
    "b'bytes'",
    "bytearray(b'bytes')",
    "memoryview(b'bytes')",
    "memoryview(b'bytes')[::2]",
    "memoryview(b'bytes').cast('b')",
    "memoryview(b'bytes').cast('c')",
    "memoryview(bytes(8)).cast('d')",
    "memoryview(bytes(2)).cast('?')",
    "memoryview(bytes(4)).cast('B', [2, 2])",
    "array.array('i', [1, 2])",
    "array.array('d', [1.5])",
    "range(3)",
    "[(1, 2)]",
    "datetime.datetime(2026, 1, 1)",
]


def answer(run: Runner, folder: Path, expression: str, **config: Any) -> Any:
    path = write_worker(folder, SOURCE.format(expression=expression), **config)

    async def program(flare: Any) -> Any:
        return (await request(flare)).json

    return run(program, path)


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
def test_give_what_the_sdk_alone_gives(run: Runner, tmp_path: Path) -> None:
    makers = ", ".join(f"both_ways(lambda: {value})" for value in VALUES)

    found = answer(run, tmp_path, f"[{makers}]")

    different = {
        value: pair for value, pair in zip(VALUES, found, strict=True) if pair[0] != pair[1]
    }
    assert not different
    assert len({pair[0] for pair in found}) > len(VALUES) / 2


@pytest.mark.parametrize(
    "value",
    [
        "js.Uint8Array.new(10)",
        "js.Float32Array.new(10)",
        "memoryview(bytes(10))",
        "array.array('B', bytes(10))",
        "[js.Uint8Array.new(10)]",
    ],
)
def test_are_not_searched_byte_by_byte(run: Runner, tmp_path: Path, value: str) -> None:
    expression = (
        "(seen := [], original := workers.rpc._raise_on_disabled_type, "
        "setattr(workers.rpc, '_raise_on_disabled_type', lambda given: (seen.append(given), original(given))), "
        f"python_to_rpc({value}), "
        "setattr(workers.rpc, '_raise_on_disabled_type', original), len(seen))[-1]"
    )

    assert answer(run, tmp_path, expression) <= 2


def test_are_stored_whole(run: Runner, tmp_path: Path) -> None:
    expression = (
        "[await self.env.KV.put('k', js.Uint8Array.new(bytes(range(256)))), "
        "bytes(await self.env.KV.get('k', 'arrayBuffer')) == bytes(range(256))][1]"
    )

    assert answer(run, tmp_path, expression, kv_namespaces=[{"binding": "KV", "id": "k"}]) is True
