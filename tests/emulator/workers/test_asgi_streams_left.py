"""An ASGI application in a Worker whose client leaves in the middle of a stream: its generator is closed at once."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path
from typing import Any

import pytest

from pyflare import Pyflare
from tests.emulator.conftest import Runner, write_worker

SOURCE = """
import asyncio

import asgi
from workers import Response, WorkerEntrypoint

SEEN = []
START = {"type": "http.response.start", "status": 200, "headers": []}


def body(content=b"x"):
    return {"type": "http.response.body", "body": content, "more_body": True}


async def endless(pause):
    try:
        while True:
            yield b"x"
            await pause()
    finally:
        SEEN.append("closed")


class Stream:
    def __init__(self, pause):
        self.chunks = endless(pause)

    async def __call__(self, scope, receive, send):
        await send(START)
        async for chunk in self.chunks:
            await send(body(chunk))


async def quick():
    await asyncio.sleep(0)


async def writing(scope, receive, send):
    if scope["type"] == "http":
        await Stream(quick)(scope, receive, send)


async def grouped(scope, receive, send):
    if scope["type"] == "http":
        async with asyncio.TaskGroup() as group:
            group.create_task(Stream(quick)(scope, receive, send))


async def listening(scope, receive, send):
    if scope["type"] != "http":
        return
    stream = asyncio.create_task(Stream(asyncio.Event().wait)(scope, receive, send))
    while True:
        message = await receive()
        SEEN.append(message["type"])
        if message["type"] == "http.disconnect":
            break
    stream.cancel()


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return await asgi.fetch(globals()[request.url.rsplit("/", 1)[1]], request, self.env, self.ctx)

    async def seen(self):
        return SEEN
"""


@pytest.mark.parametrize(
    ("app", "seen"),
    [
        ("writing", ["closed"]),
        ("grouped", ["closed"]),
        ("listening", ["http.request", "http.disconnect", "closed"]),
    ],
)
def test_the_generator_of_a_stream_is_closed_when_its_client_leaves(
    run: Runner, tmp_path: Path, app: str, seen: list[str]
) -> None:
    async def program(flare: Pyflare) -> Any:
        response = await flare.fetch(f"/{app}", stream=True)
        await anext(response.aiter_bytes())
        await response.aclose()
        for _ in range(100):
            await asyncio.sleep(0)
        return await flare.worker().seen()

    # Nothing waits for the collector, which may not come for minutes.
    gc.disable()
    try:
        assert run(program, write_worker(tmp_path, SOURCE)) == seen
    finally:
        gc.enable()
