"""Bodies that are sent to `flare.fetch` piece by piece: iterables that fail, and requests that are given up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from pyflare import Pyflare
from tests.emulator.conftest import Runner, write_worker

SOURCE = """
    import asyncio
    from workers import Response, WorkerEntrypoint

    seen = []

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            path = request.url.rpartition("/")[2]
            if path == "seen":
                return Response.json(seen)
            if path == "no":
                return Response("not read")
            if path == "stream":
                return Response(request.js_object.body)
            seen.append(path)
            try:
                if path == "r2":
                    await self.env.BUCKET.put("k", request.js_object.body)
                elif path == "later":
                    self.ctx.waitUntil(self.read(request))
                    await asyncio.sleep(60)
                else:
                    return Response(await request.text())
            finally:
                seen.append("ended")

        async def read(self, request):
            try:
                await request.text()
            except Exception as error:
                seen.append(str(error))
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    buckets = [{"binding": "BUCKET", "bucket_name": "bucket"}]
    return write_worker(tmp_path, SOURCE, r2_buckets=buckets)


class Slow:
    """One part, and then none until it is ended."""

    def __init__(self) -> None:
        self.waits = asyncio.Event()
        self.ended = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            yield b"a"
            self.waits.set()
            await asyncio.Event().wait()
        finally:
            self.ended = True


async def raising() -> AsyncIterator[bytes]:
    yield b"a"
    await asyncio.sleep(0)
    raise ValueError("the generator is wrong")


async def raising_at_once() -> AsyncIterator[bytes]:
    raise ValueError("the generator is wrong")
    yield b""


def raising_plain() -> Iterator[bytes]:
    yield b"a"
    raise ValueError("the generator is wrong")


async def cancelling() -> AsyncIterator[bytes]:
    yield b"a"
    raise asyncio.CancelledError("the generator is wrong")


async def exits() -> AsyncIterator[bytes]:
    yield b"a"
    raise SystemExit("the generator is wrong")


async def seen(flare: Pyflare, wanted: int) -> list[str]:
    """What the worker has noted, once that are so many lines."""
    found: list[str] = []
    while len(found) < wanted:
        found = (await flare.fetch("/seen")).json()
    return found


@pytest.mark.parametrize("path", ["/r2", "/text"])
def test_a_request_that_is_cancelled_ends_the_worker_and_the_iterable(
    run: Runner, config: Path, path: str
) -> None:
    async def program(flare: Pyflare) -> Any:
        async with asyncio.timeout(10):
            body = Slow()
            length = {"content-length": "100"}
            sending = asyncio.ensure_future(
                flare.fetch(path, method="PUT", body=body, headers=length)
            )
            await body.waits.wait()
            sending.cancel()
            with pytest.raises(asyncio.CancelledError):
                await sending
            return await seen(flare, 2), body.ended

    assert run(program, config) == ([path[1:], "ended"], True)


def test_after_a_cancelled_request_its_body_fails_as_if_the_client_had_gone(
    run: Runner, config: Path
) -> None:
    async def program(flare: Pyflare) -> Any:
        async with asyncio.timeout(10):
            body = Slow()
            sending = asyncio.ensure_future(flare.fetch("/later", method="PUT", body=body))
            await body.waits.wait()
            sending.cancel()
            return await seen(flare, 3)

    assert set(run(program, config)) == {"later", "ended", "Error: Network connection lost."}


def test_a_response_that_is_given_up_ends_the_iterable_that_it_is_made_of(
    run: Runner, config: Path
) -> None:
    async def program(flare: Pyflare) -> Any:
        async with asyncio.timeout(10):
            body = Slow()
            response = await flare.fetch("/stream", method="PUT", body=body, stream=True)
            parts = response.aiter_bytes()
            first = await anext(parts)
            await body.waits.wait()
            await response.aclose()
            return first, body.ended

    assert run(program, config) == (b"a", True)


def test_reading_a_response_that_is_cancelled_ends_the_iterable_that_it_is_made_of(
    run: Runner, config: Path
) -> None:
    async def program(flare: Pyflare) -> Any:
        async with asyncio.timeout(10):
            body = Slow()
            sending = asyncio.ensure_future(flare.fetch("/stream", method="PUT", body=body))
            await body.waits.wait()
            await asyncio.sleep(0)
            sending.cancel()
            await asyncio.wait([sending])
            while not body.ended:
                await asyncio.sleep(0)
            return "ended"

    assert run(program, config) == "ended"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (raising, ValueError),
        (raising_at_once, ValueError),
        (raising_plain, ValueError),
        (cancelling, asyncio.CancelledError),
        (exits, SystemExit),
    ],
)
@pytest.mark.parametrize("path", ["/text", "/r2"])
def test_what_an_iterable_raises_is_raised_and_ends_the_worker(
    run: Runner, config: Path, path: str, body: Callable[[], Any], kind: type[BaseException]
) -> None:
    async def program(flare: Pyflare) -> Any:
        length = {"content-length": "100"}
        async with asyncio.timeout(10):
            with pytest.raises(kind, match="the generator is wrong"):
                await flare.fetch(path, method="PUT", body=body(), headers=length)
            return await seen(flare, 2)

    assert run(program, config) == [path[1:], "ended"]


def test_what_an_iterable_raises_is_raised_while_the_response_is_read(
    run: Runner, config: Path
) -> None:
    async def program(flare: Pyflare) -> Any:
        async with asyncio.timeout(10):
            response = await flare.fetch("/stream", method="PUT", body=raising(), stream=True)
            with pytest.raises(ValueError, match="the generator is wrong"):
                await response.aread()

    run(program, config)


def test_parts_that_are_no_bytes_are_named(run: Runner, config: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        async with asyncio.timeout(10):
            with pytest.raises(TypeError, match="the parts of a body are bytes, not str"):
                await flare.fetch("/text", method="PUT", body=["a"])

    run(program, config)


def test_a_worker_that_does_not_read_answers_and_the_iterable_ends(
    run: Runner, config: Path
) -> None:
    async def program(flare: Pyflare) -> Any:
        async with asyncio.timeout(10):
            return (await flare.fetch("/no", method="PUT", body=raising())).text

    assert run(program, config) == "not read"


def test_a_generator_has_a_timeout_and_a_context_of_its_own(run: Runner, config: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        async def parts() -> AsyncIterator[bytes]:
            async with asyncio.timeout(5), asyncio.TaskGroup() as group:
                for each in (b"a", b"b", b"c"):
                    await group.create_task(asyncio.sleep(0))
                    yield each

        async with asyncio.timeout(10):
            return (await flare.fetch("/text", method="PUT", body=parts())).text

    assert run(program, config) == "abc"


def test_closing_ends_a_request_whose_iterable_gives_nothing_more(
    run: Runner, config: Path
) -> None:
    async def program(flare: Pyflare) -> Any:
        async with asyncio.timeout(10):
            body = Slow()
            sending = asyncio.ensure_future(flare.fetch("/text", method="PUT", body=body))
            await body.waits.wait()
            await flare.close(grace=0)
            with pytest.raises(RuntimeError, match="was closed before"):
                await sending
            return body.ended

    assert run(program, config) is True


@pytest.mark.parametrize("path", ["text", "r2"])
@pytest.mark.parametrize(
    ("body", "declared", "size"), [(b"12345", 9, "fewer"), (b"12345", 3, "more")]
)
def test_a_body_of_another_length_than_it_says_is_refused(
    config: Path, path: str, body: bytes, declared: int, size: str
) -> None:
    async def run() -> tuple[str, Any]:
        async with Pyflare(config, persist_to=None) as flare:
            with pytest.raises(httpx.LocalProtocolError) as caught:
                async with asyncio.timeout(10):
                    await flare.fetch(
                        f"/{path}",
                        method="PUT",
                        body=body,
                        headers={"content-length": str(declared)},
                    )
            return str(caught.value), await flare.env().BUCKET.head("k")

    text, stored = asyncio.run(run())
    assert text == f"The body has {size} bytes than its Content-Length says: 5, not {declared}."
    assert stored is None


def test_a_body_of_the_length_that_it_says_arrives(config: Path) -> None:
    async def run() -> str:
        async with Pyflare(config, persist_to=None) as flare:
            headers = {"content-length": "5"}
            parts = iter([b"12", b"345"])
            return (await flare.fetch("/text", method="PUT", body=parts, headers=headers)).text

    assert asyncio.run(run()) == "12345"
