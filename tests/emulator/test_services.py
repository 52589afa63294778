"""Background services start in order, end in reverse, and none is forgotten when one fails."""

from __future__ import annotations

import asyncio

import pytest

from pyflare.services import Services


class Recorded:
    def __init__(self, name: str, log: list[str], fails: str = "") -> None:
        self.name, self.log, self.fails = name, log, fails

    def _do(self, what: str) -> None:
        self.log.append(f"{what} {self.name}")
        if self.fails == what:
            raise OSError(f"{self.name} cannot {what}")

    async def start(self) -> None:
        self._do("start")

    async def reload(self) -> None:
        self._do("reload")

    async def close(self, grace: float) -> None:
        self._do("close")


def test_services_are_closed_in_the_reverse_order() -> None:
    log: list[str] = []
    services = Services([Recorded("a", log), Recorded("b", log)])

    async def live() -> None:
        await services.start()
        await services.reload()
        await services.close(1)

    asyncio.run(live())
    assert log == ["start a", "start b", "reload a", "reload b", "close b", "close a"]


def test_a_start_that_fails_closes_those_before_it() -> None:
    log: list[str] = []
    services = Services([Recorded("a", log), Recorded("b", log, "start"), Recorded("c", log)])
    with pytest.raises(OSError, match="b cannot start"):
        asyncio.run(services.start())
    assert log == ["start a", "start b", "close b", "close a"]


def test_a_close_that_fails_keeps_no_other_open() -> None:
    log: list[str] = []
    services = Services([Recorded("a", log), Recorded("b", log, "close")])

    async def live() -> None:
        await services.start()
        await services.close(1)

    with pytest.raises(ExceptionGroup, match="could not be closed"):
        asyncio.run(live())
    assert log == ["start a", "start b", "close b", "close a"]
