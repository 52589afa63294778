"""A background service that is made when something first needs it."""

from __future__ import annotations

import asyncio

from pyflare.services import Services, WhenNeeded


class Service:
    def __init__(self) -> None:
        self.calls: list[str] = []

    async def start(self) -> None:
        self.calls.append("start")

    async def reload(self) -> None:
        self.calls.append("reload")

    async def close(self, grace: float) -> None:
        self.calls.append(f"close {grace}")


def test_one_that_is_needed_is_started_told_of_reloads_and_closed() -> None:
    async def program() -> list[str]:
        late = WhenNeeded(lambda: True, Service)
        services = Services([late])
        await services.start()
        await services.reload()
        await services.close(3)
        assert late.service is not None
        return late.service.calls

    assert asyncio.run(program()) == ["start", "reload", "close 3"]


def test_one_that_is_not_needed_is_not_made() -> None:
    async def program() -> Service | None:
        late = WhenNeeded(lambda: False, Service)
        services = Services([late])
        await services.start()
        await services.reload()
        await services.close(3)
        return late.service

    assert asyncio.run(program()) is None


def test_one_that_a_reload_needs_is_made_then_and_stays() -> None:
    async def program() -> list[str]:
        needed = False
        late = WhenNeeded(lambda: needed, Service)
        services = Services([late])
        await services.start()
        assert late.service is None
        needed = True
        await services.reload()
        needed = False
        await services.reload()
        assert late.service is not None
        return late.service.calls

    assert asyncio.run(program()) == ["start", "reload"]
