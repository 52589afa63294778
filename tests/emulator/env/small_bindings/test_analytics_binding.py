"""`env.VISITS`: writing points, and reading them back in a test."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from .conftest import Bench, Surroundings

CONFIG: dict[str, Any] = {
    "analytics_engine_datasets": [
        {"binding": "VISITS", "dataset": "visits"},
        {"binding": "UNNAMED"},
    ]
}


def _wrong(field: str) -> str:
    return (
        f"Incorrect type for the '{field}' field on 'AnalyticsEngineEvent': the provided value is "
        "not of type 'Array'."
    )


@pytest.mark.parametrize("style", ["dict", "keywords"])
def test_what_a_worker_writes_a_test_reads(bench: Bench, style: str) -> None:
    point = {"indexes": ["i"], "blobs": ["a", None, b"b"], "doubles": [1, 2.5, True]}

    async def program(around: Surroundings) -> Any:
        write = around.env.VISITS.writeDataPoint
        assert (write(point) if style == "dict" else write(**point)) is None
        return await around.registry.analytics("visits").rows()

    (row,) = bench(program, **CONFIG)
    assert (row.index1, row.blobs[:3], row.doubles[:4]) == ("i", ("a", "", "b"), (1, 2.5, 1, 0))


def test_a_dataset_without_a_name_has_the_bindings(bench: Bench) -> None:
    async def program(around: Surroundings) -> Any:
        around.env.UNNAMED.writeDataPoint({"indexes": ["i"]})
        return [row.dataset for row in await around.registry.analytics("UNNAMED").rows()]

    assert bench(program, **CONFIG) == ["UNNAMED"]


def test_a_worker_writes_without_waiting(bench: Bench) -> None:
    source = """
        from workers import Response, WorkerEntrypoint

        class Default(WorkerEntrypoint):
            async def fetch(self, request):
                for number in range(3):
                    self.env.VISITS.writeDataPoint(doubles=[number])
                return Response("ok")
    """

    async def program(around: Surroundings) -> Any:
        from tests.emulator.conftest import request

        await request(around.flare)
        return [row.doubles[0] for row in await around.registry.analytics("visits").rows()]

    assert bench(program, source=source, **CONFIG) == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("point", [None, {}, {"blobs": []}])
def test_a_point_without_fields_is_written(bench: Bench, point: Any) -> None:
    async def program(around: Surroundings) -> Any:
        around.env.VISITS.writeDataPoint(point)
        return len(await around.registry.analytics("visits").rows())

    assert bench(program, **CONFIG) == 1


@pytest.mark.parametrize(
    ("point", "text"),
    [
        ({"indexes": ["a", "b"]}, "writeDataPoint(): Maximum of 1 indexes supported."),
        ({"blobs": ["x" * 16_001]}, "writeDataPoint(): Cumulative size of blobs exceeds 16000"),
        ({"doubles": [0] * 21}, "writeDataPoint(): Maximum of 20 doubles supported."),
        ({"blobs": "text"}, _wrong("blobs")),
        ({"doubles": 5}, _wrong("doubles")),
        ({"indexes": {"i"}}, _wrong("indexes")),
        (5, "Failed to execute 'writeDataPoint' on 'AnalyticsEngine': parameter 1 is not of type"),
    ],
)
def test_a_wrong_point_is_a_type_error(bench: Bench, point: Any, text: str) -> None:
    async def program(around: Surroundings) -> Any:
        around.env.VISITS.writeDataPoint(point)

    message = bench.error(program, **CONFIG)
    assert message.startswith("TypeError: ")
    assert text in message


@pytest.mark.parametrize(
    ("value", "stored"),
    [(None, 0.0), ("7", 7.0), ("x", 0.0), (float("nan"), 0.0), (float("inf"), float("inf"))],
)
def test_doubles_are_turned_into_numbers(bench: Bench, value: Any, stored: float) -> None:
    async def program(around: Surroundings) -> Any:
        around.env.VISITS.writeDataPoint(doubles=[value])
        return (await around.registry.analytics("visits").rows())[0].doubles[0]

    assert bench(program, **CONFIG) == stored


def test_a_point_of_an_object_waits_for_its_commit(bench: Bench) -> None:
    async def program(around: Surroundings) -> Any:
        from pyflare.js.departure import output_gate

        dataset = around.registry.analytics("visits")
        for outcome in ("committed", "failed"):
            commit: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            token = output_gate.set(lambda pending=commit: pending)
            around.env.VISITS.writeDataPoint(indexes=[outcome])
            output_gate.reset(token)
            assert outcome not in [row.index1 for row in await dataset.rows()]
            if outcome == "committed":
                commit.set_result(None)
            else:
                commit.set_exception(RuntimeError("the object was reset"))
            for _ in range(5):
                await asyncio.sleep(0)
        return [row.index1 for row in await dataset.rows()]

    assert bench(program, **CONFIG) == ["committed"]
