"""Several Pyflare in one process whose Workers have modules of the same names: each runs its own, or none does."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pyflare import Pyflare
from pyflare.workers.isolation import IsolationError
from tests.emulator.conftest import request, write_worker

SOURCE = """
from workers import Response, WorkerEntrypoint

from part import NAME

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        import entry, part
        return Response(f"{NAME} {part.NAME} {self.env.NAME} {entry.NAME}")
"""


def made(folder: Path, name: str) -> Pyflare:
    files = {"src/entry.py": SOURCE, "src/part.py": f"NAME = {name!r}"}
    return Pyflare(write_worker(folder / name, files, vars={"NAME": name}), persist_to=None)


@contextlib.asynccontextmanager
async def served(flare: Pyflare) -> AsyncIterator[None]:
    """As a server starts and ends an application."""
    told: asyncio.Queue[Any] = asyncio.Queue()
    to_tell: asyncio.Queue[Any] = asyncio.Queue()
    life = asyncio.ensure_future(flare({"type": "lifespan"}, to_tell.get, told.put))
    to_tell.put_nowait({"type": "lifespan.startup"})
    answer = await told.get()
    if not answer["type"].endswith("complete"):
        await life
    try:
        yield
    finally:
        to_tell.put_nowait({"type": "lifespan.shutdown"})
        await life


@contextlib.asynccontextmanager
async def by_its_first(use: Callable[[Pyflare], Any], flare: Pyflare) -> AsyncIterator[None]:
    try:
        await use(flare)
        yield
    finally:
        await flare.close()


#: How one is started, and whether it takes a loop of its own where it needs one.
STARTS: dict[str, tuple[Callable[[Pyflare], Any], bool]] = {
    "async with": (lambda flare: flare, False),
    "lifespan": (Pyflare.lifespan, True),
    "a server": (served, True),
    "request": (lambda flare: by_its_first(request, flare), True),
    "fetch": (lambda flare: by_its_first(Pyflare.fetch, flare), True),
}
LOOPS = ("asyncio", "uvloop", "switching")


def loop_of(kind: str, flare: Pyflare) -> Callable[[], asyncio.AbstractEventLoop]:
    match kind:
        case "uvloop":
            return pytest.importorskip("uvloop").new_event_loop  # type: ignore[no-any-return]
        case "switching":
            return flare.switching_loop
    return asyncio.new_event_loop


async def answers(*flares: Pyflare) -> list[str]:
    return [(await flare.fetch()).text for flare in flares for _ in range(2)]


@pytest.mark.parametrize("before", [True, False], ids=["both made before", "one after the other"])
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("start", STARTS)
def test_each_runs_its_own_modules(tmp_path: Path, start: str, loop: str, before: bool) -> None:
    enter, takes_a_loop = STARTS[start]
    first = made(tmp_path, "a")
    second = made(tmp_path, "b") if before else None

    async def program() -> list[str]:
        async with enter(first):
            other = second or made(tmp_path, "b")
            async with enter(other):
                return await answers(first, other)

    with asyncio.Runner(loop_factory=loop_of(loop, first)) as runner:
        if loop == "switching" or (before and takes_a_loop):
            assert runner.run(program()) == ["a a a a", "a a a a", "b b b b", "b b b b"]
        else:
            with pytest.raises(IsolationError, match=r"entry: .*/[ab]/src, .*/[ab]/src"):
                runner.run(program())


@pytest.mark.parametrize("before", [True, False], ids=["both made before", "one after the other"])
def test_those_on_loops_in_two_threads_are_told_how_to_share_one(
    tmp_path: Path, before: bool
) -> None:
    second = made(tmp_path, "b") if before else None

    async def start_second() -> list[str]:
        async with second or made(tmp_path, "b") as flare:
            return await answers(flare)

    async def program() -> list[str]:
        async with made(tmp_path, "a") as flare:
            with (
                ThreadPoolExecutor(1) as pool,
                pytest.raises(IsolationError, match=r"in different threads(?s:.)*to one Pyflare"),
            ):
                pool.submit(asyncio.run, start_second()).result()
            return await answers(flare)

    assert asyncio.run(program()) == ["a a a a"] * 2


def test_one_worker_twice_in_two_threads_is_told_so(tmp_path: Path) -> None:
    async def again() -> None:
        async with made(tmp_path, "a"):
            raise AssertionError

    async def program() -> None:
        async with made(tmp_path, "a"):
            with (
                ThreadPoolExecutor(1) as pool,
                pytest.raises(
                    IsolationError, match=r"one Worker .* in different threads: .*/a/src"
                ),
            ):
                pool.submit(asyncio.run, again()).result()

    asyncio.run(program())


def test_one_after_the_other_needs_nothing(tmp_path: Path) -> None:
    async def program(name: str) -> list[str]:
        async with made(tmp_path, name) as flare:
            return await answers(flare)

    assert [asyncio.run(program(name))[0] for name in "aba"] == ["a a a a", "b b b b", "a a a a"]
