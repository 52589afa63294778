"""Workers with queues, on the clock that a test turns."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pyflare import Pyflare
from pyflare.server.log import LogSink
from pyflare_bindings.clock import ManualClock
from tests.emulator.conftest import write_worker

Program = Callable[["Shop"], Awaitable[Any]]

#: A consumer that keeps what it was given and then does what the test says.
RECORDER = """
    from workers import WorkerEntrypoint

    batches = []

    class Default(WorkerEntrypoint):
        async def queue(self, batch):
            batches.append([message.body for message in batch.messages])
            await script(self, batch)

    async def script(worker, batch):
        {script}
"""


class Shop:
    """Running workers, their queues and what they logged."""

    def __init__(self, flare: Pyflare, clock: ManualClock, out: io.StringIO) -> None:
        self.flare = flare
        self.clock = clock
        self._out = out

    def env(self, worker: str | None = None) -> Any:
        return self.flare.env(worker)

    def module(self, worker: str | None = None) -> Any:
        """The globals of a worker's main module."""
        entry = self.flare.loaded(worker).entrypoints.default
        assert entry is not None
        handler: Any = vars(entry)["queue"]
        # The SDK wraps it.
        return handler.__wrapped__.__globals__

    def batches(self, worker: str | None = None) -> list[Any]:
        return list(self.module(worker)["batches"])

    async def send(self, *bodies: Any, binding: str = "Q", worker: str | None = None) -> None:
        queue = getattr(self.env(worker), binding)
        for body in bodies:
            await queue.send(body)

    async def rest(self) -> None:
        """Let what has been set going come to its end."""
        for _ in range(8):
            await self.clock.advance(0)

    async def pass_time(self, seconds: float) -> None:
        await self.clock.advance(seconds)

    async def backlog(self, queue: str) -> int:
        assert self.flare.registry is not None
        return (await self.flare.registry.queue(queue).metrics()).backlog_count

    @property
    def log(self) -> str:
        self.flare.log.flush()
        return self._out.getvalue()


class Runner:
    """Runs a program against workers; several runs of one runner share their state directory and their clock."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = ManualClock()

    def worker(self, source: str, name: str = "shop", **queues: Any) -> Path:
        """Write a worker that sends to the queue ``q`` as ``Q`` and consumes what ``queues`` says."""
        producers = queues.pop("producers", [{"binding": "Q", "queue": "q"}])
        extra = queues.pop("config", {})
        consumers = queues.pop("consumers", None)
        if consumers is None:
            consumers = [{"queue": "q", **queues}]
        return write_worker(
            self.root / name,
            source,
            name=name,
            queues={"producers": producers, "consumers": consumers},
            **extra,
        )

    def recorder(self, *script: str, name: str = "shop", **queues: Any) -> Path:
        body = "\n        ".join(script or ("pass",))
        return self.worker(RECORDER.replace("{script}", body), name, **queues)

    def __call__(
        self,
        program: Program,
        configs: Path | Sequence[Path],
        *,
        level: str = "log",
        **options: Any,
    ) -> Any:
        out = io.StringIO()
        log = LogSink(level=level, stdout=out, stderr=out, colour=False)
        flare = Pyflare(
            configs if isinstance(configs, Path) else list(configs),
            persist_to=self.root / "state",
            clock=self.clock,
            log=log,
            **options,
        )

        async def run() -> Any:
            async with flare:
                return await program(Shop(flare, self.clock, out))

        with asyncio.Runner(loop_factory=flare.loop_factory) as runner:
            return runner.run(run())


@pytest.fixture
def shop(tmp_path: Path) -> Runner:
    return Runner(tmp_path)
