"""A Worker that holds the event loop is named with file and line."""

import asyncio
import runpy
import threading
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from pyflare.server import loop_watch
from pyflare.server.loop_watch import LoopWatch


def hold(seconds: float) -> None:
    until = monotonic() + seconds
    while monotonic() < until:
        pass


def watched(*holds: float) -> list[Any]:
    told: list[Any] = []

    async def run() -> None:
        watch = LoopWatch(lambda *place: told.append(place))
        watch.start()
        for seconds in holds:
            hold(seconds)
            await asyncio.sleep(0.2)
        watch.stop()

    asyncio.run(run())
    return told


def test_the_innermost_line_of_a_persons_code_is_named_with_the_time() -> None:
    ((seconds, file, _, function),) = watched(0.6)

    assert (file, function) == (__file__, "hold")
    assert 0.4 < seconds < 20


def test_short_work_is_not_named() -> None:
    assert watched(0.01, 0.01) == []


def test_an_import_is_not_named(tmp_path: Path) -> None:
    file = tmp_path / "slow.py"
    file.write_text(
        "from time import monotonic\nuntil = monotonic() + 0.6\nwhile monotonic() < until: pass"
    )
    told: list[Any] = []

    async def run() -> None:
        watch = LoopWatch(lambda *place: told.append(place))
        watch.start()
        runpy.run_path(str(file))
        await asyncio.sleep(0.2)
        watch.stop()

    asyncio.run(run())
    assert told == []


def test_the_same_line_is_not_named_at_every_request(monkeypatch: pytest.MonkeyPatch) -> None:
    # One line, so that both samples are of the same place.
    def one_line() -> None:
        sum(range(40_000_000))

    told: list[Any] = []

    async def run() -> None:
        watch = LoopWatch(lambda *place: told.append(place))
        watch.start()
        for _ in range(2):
            one_line()
            await asyncio.sleep(0.2)
        watch.stop()

    monkeypatch.setattr(loop_watch, "LIMIT_SECONDS", 0.1)
    asyncio.run(run())
    assert len(told) == 1


def test_a_line_that_does_not_give_the_loop_back_is_named_while_it_holds_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loop_watch, "STUCK_SECONDS", 0.4)
    told: list[Any] = []
    freed = threading.Event()

    def stuck(seconds: float, file: str, line: int, function: str) -> None:
        told.append((file, function))
        freed.set()

    async def run() -> bool:
        watch = LoopWatch(lambda *_: None, stuck)
        watch.start()
        came = wait_for(freed)
        watch.stop()
        return came

    assert asyncio.run(run())
    assert told == [(__file__, "wait_for")]


def wait_for(event: threading.Event) -> bool:
    return event.wait(20)
