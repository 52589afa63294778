"""A bucket that tests can talk to without writing coroutines."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from pyflare_bindings.clock import ManualClock
from pyflare_bindings.r2 import (
    Limits,
    ListOptions,
    ListResult,
    R2Bucket,
    R2Error,
    R2Object,
    R2ObjectBody,
)
from pyflare_bindings.registry import BindingRegistry

SMALL_PARTS = Limits(part=50)


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        await asyncio.sleep(0)
        yield part


class Client:
    """One bucket, called synchronously."""

    chunks = staticmethod(chunks)

    def __init__(self, runner: asyncio.Runner, bucket: R2Bucket, directory: Path) -> None:
        self.runner = runner
        self.bucket = bucket
        self.directory = directory

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return self.runner.run(coroutine)

    def put(self, key: str, content: Any = b"", *args: Any, **options: Any) -> R2Object | None:
        found: R2Object | None = self.run(self.bucket.put(key, content, *args, **options))
        return found

    def stored(self, key: str, content: Any = b"", *args: Any, **options: Any) -> R2Object:
        found = self.put(key, content, *args, **options)
        assert found is not None
        return found

    def get(self, key: str, **options: Any) -> R2ObjectBody:
        found = self.run(self.bucket.get(key, **options))
        assert isinstance(found, R2ObjectBody)
        return found

    def read(self, key: str, **options: Any) -> bytes:
        return bytes(self.run(self.get(key, **options).body.read()))

    def streamed(self, key: str, **options: Any) -> bytes:
        async def collect(found: R2ObjectBody) -> bytes:
            return b"".join([bytes(chunk) async for chunk in found.body.chunks()])

        data: bytes = self.run(collect(self.get(key, **options)))
        return data

    def list(self, **options: Any) -> ListResult:
        page: ListResult = self.run(self.bucket.list(ListOptions(**options)))
        return page

    def keys(self, **options: Any) -> list[str]:
        return [found.key for found in self.list(**options).objects]

    def code(self, coroutine: Coroutine[Any, Any, Any]) -> int:
        """The code with which a request is refused."""
        with pytest.raises(R2Error) as caught:
            self.run(coroutine)
        return caught.value.code

    def blobs(self) -> list[str]:
        """The files with contents, once everything that was begun is over."""
        self.run(self.bucket.close())
        return self.blob_files()

    def blob_files(self) -> list[str]:
        return sorted(
            name for folder in self.directory.glob("*.blobs") for name in os.listdir(folder)
        )


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def r2(tmp_path: Path, clock: ManualClock, runner: asyncio.Runner) -> Iterator[Client]:
    """A bucket with production's limits."""
    registry = BindingRegistry(tmp_path, clock=clock)
    yield Client(runner, registry.r2("test"), registry.layout.directory("r2"))
    runner.run(registry.close())


@pytest.fixture
def small(tmp_path: Path, clock: ManualClock, runner: asyncio.Runner) -> Iterator[Client]:
    """A bucket whose parts may be as small as 50 bytes, and whose rows hold up to 100."""
    directory = tmp_path / "small"
    bucket = R2Bucket("test", directory / "a.sqlite", clock, limits=Limits(part=50, in_row=100))
    yield Client(runner, bucket, directory)
    runner.run(bucket.close())
