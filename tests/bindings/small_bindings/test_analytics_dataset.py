"""Points that are written and read back."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from pyflare_bindings.analytics import AnalyticsDataset, DataPoint
from pyflare_bindings.clock import ManualClock
from pyflare_bindings.registry import BindingRegistry
from pyflare_bindings.storage.errors import ClosedError

Program = Callable[[AnalyticsDataset], Awaitable[Any]]


def run(root: Path, program: Program, durability: Any = "process", clock: Any = None) -> Any:
    async def main() -> Any:
        registry = BindingRegistry(root, clock=clock or ManualClock(), durability=durability)
        try:
            return await program(registry.analytics("visits"))
        finally:
            await registry.close()

    return asyncio.run(main())


@pytest.mark.parametrize("durability", ["process", "machine"])
def test_a_point_is_read_back_with_all_its_columns(tmp_path: Path, durability: str) -> None:
    async def program(dataset: AnalyticsDataset) -> Any:
        dataset.write(DataPoint(["key"], ["a", None, "c"], [1, 2.5]))
        return await dataset.rows()

    (row,) = run(tmp_path, program, durability)
    assert (row.dataset, row.index1, row.sample_interval) == ("visits", "key", 1)
    assert row.timestamp == ManualClock().now()
    assert row.blobs == ("a", "", "c", *[""] * 17)
    assert row.doubles == (1.0, 2.5, *[0.0] * 18)
    named = row.named()
    assert (named["blob3"], named["double2"], named["_sample_interval"]) == ("c", 2.5, 1)


def test_an_empty_point_is_a_point(tmp_path: Path) -> None:
    async def program(dataset: AnalyticsDataset) -> Any:
        dataset.write(DataPoint())
        return await dataset.rows()

    (row,) = run(tmp_path, program)
    assert (row.index1, set(row.blobs), set(row.doubles)) == ("", {""}, {0.0})


def test_bytes_that_are_no_text_stay_bytes(tmp_path: Path) -> None:
    async def program(dataset: AnalyticsDataset) -> Any:
        dataset.write(DataPoint([b"\xff"], [b"\xfe\0"]))
        return await dataset.rows()

    (row,) = run(tmp_path, program)
    assert (row.index1, row.blobs[0]) == (b"\xff", b"\xfe\0")


@pytest.mark.parametrize("durability", ["process", "machine"])
def test_points_come_back_in_the_order_of_their_writing(tmp_path: Path, durability: str) -> None:
    async def program(dataset: AnalyticsDataset) -> Any:
        for number in range(500):
            dataset.write(DataPoint(doubles=[number]))
            if number % 7 == 0:
                await asyncio.sleep(0)
        return [row.doubles[0] for row in await dataset.rows()]

    assert run(tmp_path, program, durability) == list(range(500))


@pytest.mark.parametrize("durability", ["process", "machine"])
def test_what_was_written_last_is_there_after_a_close(tmp_path: Path, durability: str) -> None:
    async def write(dataset: AnalyticsDataset) -> Any:
        dataset.write(DataPoint(["last"]))

    async def read(dataset: AnalyticsDataset) -> Any:
        return [row.index1 for row in await dataset.rows()]

    run(tmp_path, write, durability)
    assert run(tmp_path, read, durability) == ["last"]


EXACT = ["x" * 16_000]


@pytest.mark.parametrize(
    ("point", "text"),
    [
        (DataPoint(["a", "b"]), "writeDataPoint(): Maximum of 1 indexes supported."),
        (DataPoint(["x" * 97]), "writeDataPoint(): Size of indexes[0] exceeds 96 bytes)."),
        (DataPoint(["ü" * 49]), "writeDataPoint(): Size of indexes[0] exceeds 96 bytes)."),
        (DataPoint(blobs=[""] * 21), "writeDataPoint(): Maximum of 20 blobs supported."),
        (
            DataPoint(blobs=[*EXACT, "x"]),
            "writeDataPoint(): Cumulative size of blobs exceeds 16000 bytes).",
        ),
        (DataPoint(doubles=[0] * 21), "writeDataPoint(): Maximum of 20 doubles supported."),
    ],
)
def test_a_point_over_a_limit_is_refused_with_the_platforms_text(
    tmp_path: Path, point: DataPoint, text: str
) -> None:
    async def program(dataset: AnalyticsDataset) -> Any:
        with pytest.raises(ValueError) as caught:
            dataset.write(point)
        return str(caught.value), await dataset.rows()

    assert run(tmp_path, program) == (text, [])


@pytest.mark.parametrize(
    "point",
    [
        DataPoint(["x" * 96]),
        DataPoint(["ü" * 48]),
        DataPoint([None]),
        DataPoint(blobs=EXACT),
        DataPoint(blobs=[None] * 20),
        DataPoint(doubles=[0] * 20),
    ],
)
def test_a_point_at_a_limit_is_taken(tmp_path: Path, point: DataPoint) -> None:
    async def program(dataset: AnalyticsDataset) -> Any:
        dataset.write(point)
        return len(await dataset.rows())

    assert run(tmp_path, program) == 1


def test_clear_removes_every_point(tmp_path: Path) -> None:
    async def program(dataset: AnalyticsDataset) -> Any:
        dataset.write(DataPoint(["a"]))
        await dataset.clear()
        dataset.write(DataPoint(["b"]))
        return [row.index1 for row in await dataset.rows()]

    assert run(tmp_path, program) == ["b"]


def test_writing_is_refused_after_close(tmp_path: Path) -> None:
    async def program(dataset: AnalyticsDataset) -> Any:
        await dataset.close()
        with pytest.raises(ClosedError, match="'visits' has been closed"):
            dataset.write(DataPoint())

    run(tmp_path, program)


def test_points_that_cannot_be_stored_are_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def program(dataset: AnalyticsDataset) -> Any:
        dataset.path.parent.mkdir(parents=True)
        dataset.path.write_bytes(b"no database" * 100)
        dataset.write(DataPoint(["a"]))
        await dataset._flushed()

    with caplog.at_level(logging.ERROR):
        run(tmp_path, program)
    assert "Points for the dataset 'visits' were lost" in caplog.text
    assert "not a SQLite database" in caplog.text


KILLED = """
import asyncio, os, sys
from pathlib import Path
from pyflare_bindings.analytics import DataPoint
from pyflare_bindings.registry import BindingRegistry

async def main():
    dataset = BindingRegistry(Path(sys.argv[1])).analytics("visits")
    for number in range(200):
        dataset.write(DataPoint(doubles=[number]))
        await asyncio.sleep(0)
    await dataset.rows()
    os.kill(os.getpid(), 9)

asyncio.run(main())
"""


def test_points_survive_kill_9(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)

    async def read(dataset: AnalyticsDataset) -> Any:
        return [row.doubles[0] for row in await dataset.rows()]

    assert run(tmp_path, read) == list(range(200))
