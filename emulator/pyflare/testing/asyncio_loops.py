"""Loops for the async tests of projects with several Workers, whose modules may have names in common.

For pytest-asyncio, whose releases without this hook ignore it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import pytest

__all__ = ["new_event_loop"]


def new_event_loop() -> asyncio.AbstractEventLoop:
    """An event loop on which any Workers can run together, also one of them twice."""
    from pyflare.workers.loop import new_event_loop

    return new_event_loop()


@pytest.hookimpl(optionalhook=True, trylast=True)
def pytest_asyncio_loop_factories(
    item: pytest.Item,
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Such a loop for the tests that use a fixture from here."""
    if any(name.startswith("pyflare") for name in getattr(item, "fixturenames", ())):
        return {"pyflare": new_event_loop}
    return {"asyncio": asyncio.new_event_loop}
