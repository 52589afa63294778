"""The only place that creates, finds and closes owners."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from .clock import Clock, SystemClock
from .storage.errors import ClosedError
from .storage.layout import StateLayout, StoredResource
from .storage.sqlite import Durability

# A kind's owner is imported when its first resource is asked for: a start pays for what it uses.
if TYPE_CHECKING:
    from .cache import CacheStore
    from .d1 import D1Database
    from .kv import KVNamespace
    from .r2 import R2Bucket


class Owner(Protocol):
    """What every owner can do."""

    async def close(self) -> None:
        """Finish the work at hand and close the files."""
        ...


OwnerT = TypeVar("OwnerT", bound=Owner)


class BindingRegistry:
    """Exactly one owner per kind and id.

    In: `root`, the state directory, created when an owner first needs it; `clock`, where owners
    take time from; `durability`, what an acknowledged write survives: the end of the `process`,
    or also a power cut (`machine`).
    """

    def __init__(
        self, root: Path, *, clock: Clock | None = None, durability: Durability = "process"
    ) -> None:
        if durability not in ("process", "machine"):
            raise ValueError(f"durability is 'process' or 'machine', not {durability!r}")
        self.clock = SystemClock() if clock is None else clock
        self.durability = durability
        self.layout = StateLayout(root, durability)
        self._owners: dict[tuple[str, str], Owner] = {}
        self._closed = False

    @property
    def root(self) -> Path:
        """The state directory."""
        return self.layout.root

    def d1(self, id: str) -> D1Database:
        """The owner of the D1 database `id`. Raises ClosedError after `close`."""
        from .d1 import D1Database

        return self._owner("d1", id, D1Database, partial(self._new_d1, id))

    def kv(self, id: str) -> KVNamespace:
        """The owner of the KV namespace `id`. Raises ClosedError after `close`."""
        from .kv import KVNamespace

        def create() -> KVNamespace:
            path = self.layout.database("kv", id)
            prepare = partial(self.layout.record, "kv", id, path)
            return KVNamespace(id, path, self.clock, self.durability, prepare)

        return self._owner("kv", id, KVNamespace, create)

    def r2(self, id: str) -> R2Bucket:
        """The owner of the R2 bucket `id`. Raises ClosedError after `close`."""
        from .r2 import R2Bucket

        def create() -> R2Bucket:
            path = self.layout.database("r2", id)
            prepare = partial(self.layout.record, "r2", id, path)
            return R2Bucket(id, path, self.clock, self.durability, prepare)

        return self._owner("r2", id, R2Bucket, create)

    def caches(self) -> CacheStore:
        """The owner of all caches of the Cache API. Raises ClosedError after `close`."""
        from .cache import CacheStore

        def create() -> CacheStore:
            path = self.layout.database("cache", "caches")
            prepare = partial(self.layout.record, "cache", "caches", path)
            return CacheStore(path, self.clock, self.durability, prepare)

        return self._owner("cache", "caches", CacheStore, create)

    def stored(self, kind: str) -> Iterator[StoredResource]:
        """The resources of a kind that have a file in the state directory."""
        return self.layout.stored(kind)

    def check_files(self) -> None:
        """Let every owner that can look whether its file is still there; one that lost it begins anew."""
        for owner in self._owners.values():
            check = getattr(owner, "check_file", None)
            if check is not None:
                check()

    async def close(self) -> None:
        """Close every owner, the youngest first.

        All are closed even when some fail; the failures are raised together afterwards.
        """
        self._closed = True
        failures: list[Exception] = []
        while self._owners:
            _, owner = self._owners.popitem()
            try:
                await owner.close()
            except Exception as error:
                failures.append(error)
        if failures:
            raise ExceptionGroup("some owners could not be closed", failures)

    def _owner(
        self, kind: str, id: str, type_: type[OwnerT], create: Callable[[], OwnerT]
    ) -> OwnerT:
        if self._closed:
            raise ClosedError(f"the registry has been closed; it no longer has {kind} {id!r}")
        owner = self._owners.get((kind, id))
        if owner is None:
            owner = self._owners[kind, id] = create()
        assert isinstance(owner, type_)
        return owner

    def _new_d1(self, id: str) -> D1Database:
        from .d1 import D1Database

        path = self.layout.database("d1", id)
        prepare = partial(self.layout.record, "d1", id, path)
        return D1Database(id, path, self.durability, prepare)
