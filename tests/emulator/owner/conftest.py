"""An owner in this process, on a loop and a thread of its own, as another process would meet it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from pyflare.owner.server import OwnerServer
from pyflare_bindings.lease import Lease
from pyflare_bindings.registry import BindingRegistry


class Owner:
    """Owns ``root`` from the start to :meth:`end`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.reports: list[BaseException] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._ended = False
        root.mkdir(parents=True, exist_ok=True)
        self.run(self._start())

    async def _start(self) -> None:
        self.lease = Lease.acquire(self.root)
        self.registry = BindingRegistry(self.root)
        self.server = OwnerServer(self.lease, self.registry, self.reports.append)
        await self.server.start()

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(30)

    def call_soon(self, function: Callable[[], object]) -> None:
        """Call a function on the owner's loop, without waiting for it."""
        self._loop.call_soon_threadsafe(function)

    def end(self, grace: float = 2.0) -> None:
        """Close everything, as an orderly end does."""
        if not self._ended:
            self._ended = True
            self.run(self._close(grace))
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(30)
            self._loop.close()

    async def _close(self, grace: float) -> None:
        await self.server.close(grace)
        await self.registry.close()
        self.lease.release()


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Callable[..., Owner]]:
    """``own(root)`` starts an owner, which is ended with the test."""
    owners: list[Owner] = []

    def start(root: Path = tmp_path / "state") -> Owner:
        owners.append(Owner(root))
        return owners[-1]

    yield start
    for each in owners:
        each.end()


@pytest.fixture
def owner(own: Callable[..., Owner]) -> Owner:
    """One owner."""
    return own()
