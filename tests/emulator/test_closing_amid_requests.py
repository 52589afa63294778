"""A Pyflare that is closed while its host's own requests are under way: nobody waits for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyflare import Pyflare
from tests.emulator.conftest import write_worker

SOURCE = """
    import asyncio

    import js
    from pyodide.ffi import create_proxy
    from workers import Response, WorkerEntrypoint

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            match request.url.rpartition("/")[2]:
                case "never":
                    await asyncio.sleep(1000)
                case "soon":
                    await asyncio.sleep(0.05)
                case "endless":
                    async def pull(controller):
                        await asyncio.sleep(0.01)
                        controller.enqueue(js.TextEncoder.new().encode("x" * 100000))

                    source = js.Object.new()
                    source.pull = create_proxy(pull)
                    return Response(js.ReadableStream.new(source))
            return Response("done")
"""

CLOSED = "This Pyflare was closed before the request was answered."


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_worker(tmp_path, SOURCE)


def outcome(config: Path, ask: Callable[[Pyflare], Any], grace: float) -> Any:
    """What becomes of a request that is under way when the Pyflare is closed."""

    async def main() -> Any:
        flare = Pyflare(config, persist_to=None)
        await flare.start()
        asking = asyncio.ensure_future(ask(flare))
        await asyncio.sleep(0.02)
        async with asyncio.timeout(20):
            await flare.close(grace=grace)
            try:
                found = await asking
            except RuntimeError as error:
                found = str(error)
        # What was begun has come to its end too.
        left = asyncio.all_tasks() - {asyncio.current_task()}
        if left:
            _, left = await asyncio.wait(left, timeout=5)
        return found, list(left)

    return asyncio.run(main())


async def text(flare: Pyflare, path: str) -> str:
    return (await flare.fetch(path)).text


async def streamed(flare: Pyflare) -> str:
    response = await flare.fetch("/endless", stream=True)
    return (await response.aread()).decode()


def test_one_that_can_be_answered_is(config: Path) -> None:
    assert outcome(config, lambda flare: text(flare, "/soon"), grace=10) == ("done", [])


@pytest.mark.parametrize(
    "ask",
    [
        lambda flare: text(flare, "/never"),
        lambda flare: text(flare, "/endless"),
        streamed,
        lambda flare: flare.client().get("/never"),
    ],
)
def test_one_that_cannot_is_told_so(config: Path, ask: Callable[[Pyflare], Any]) -> None:
    assert outcome(config, ask, grace=0.1) == (CLOSED, [])
