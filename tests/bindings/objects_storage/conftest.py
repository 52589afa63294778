"""Objects of one namespace, for tests without coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from pyflare_bindings.clock import ManualClock
from pyflare_bindings.objects import ObjectNamespace, ObjectStorage
from pyflare_bindings.objects.open_databases import OpenDatabases
from pyflare_bindings.registry import BindingRegistry
from pyflare_bindings.storage.errors import SqlError

T = TypeVar("T")

NAMESPACE = "worker-Object"
# Enough transactions in one go for an object to get a file of its own.
MANY = 6


class Objects:
    """The namespace of a state directory, which can be closed and opened again."""

    def __init__(self, runner: asyncio.Runner, root: Path, durability: Any = "process") -> None:
        self.runner = runner
        self.root = root
        self.durability = durability
        self.clock = ManualClock()
        self.registry = BindingRegistry(root, clock=self.clock, durability=durability)
        self.namespace: ObjectNamespace = self.registry.objects(NAMESPACE)

    def open(self, name: str = "a") -> ObjectStorage:
        return self.namespace.open(self.namespace.ids.from_name(name))

    def grown(self, name: str = "a") -> ObjectStorage:
        """An object with a file of its own."""
        storage = self.open(name)
        for _ in range(MANY):
            storage.put("grown", b"1")
            self.commit(storage)
        storage.delete("grown")
        self.commit(storage)
        assert self.has_file(storage)
        return storage

    def wait(self, awaited: Awaitable[T]) -> T:
        async def run() -> T:
            return await awaited

        return self.runner.run(run())

    def commit(self, storage: ObjectStorage) -> None:
        async def run() -> None:
            await storage.commit()

        self.runner.run(run())

    def close(self, storage: ObjectStorage) -> None:
        async def run() -> None:
            await storage.close()

        self.runner.run(run())

    def reopened(self, storage: ObjectStorage) -> ObjectStorage:
        """The next instance of the object."""
        self.close(storage)
        return self.namespace.open(self.namespace.ids.from_string(storage.id.hex))

    def restart(self) -> None:
        """Close everything and open the same directory again."""
        self.stop()
        self.registry = BindingRegistry(self.root, clock=self.clock, durability=self.durability)
        self.namespace = self.registry.objects(NAMESPACE)

    def stop(self) -> None:
        self.runner.run(self.registry.close())

    @property
    def open_databases(self) -> OpenDatabases:
        return self.registry._object_databases()

    def files(self) -> list[str]:
        """The files below the state directory."""
        return sorted(path.name for path in self.root.rglob("*") if path.is_file())

    def path(self, storage: ObjectStorage) -> Path:
        """Where the object has its file, if it has one."""
        return self.namespace._files.path_of(storage.id.raw)

    def has_file(self, storage: ObjectStorage) -> bool:
        return self.path(storage).exists()


@pytest.fixture
def objects(tmp_path: Path) -> Iterator[Objects]:
    with asyncio.Runner() as runner:
        opened = Objects(runner, tmp_path / "state")
        yield opened
        opened.stop()


@pytest.fixture(params=["young", "grown"])
def storage(request: pytest.FixtureRequest, objects: Objects) -> ObjectStorage:
    """An empty object: one that is new, and one that has a file of its own."""
    return objects.open() if request.param == "young" else objects.grown()


def rows(storage: ObjectStorage, sql: str, *bindings: Any) -> list[tuple[Any, ...]]:
    """All rows of a query."""
    return storage.exec(sql, bindings).fetch_all()


def sql_error(storage: ObjectStorage, sql: str, *bindings: Any) -> str:
    """The text of the error that a query fails with."""
    with pytest.raises(SqlError) as caught:
        storage.exec(sql, bindings).fetch_all()
    return str(caught.value)
