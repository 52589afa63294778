"""The only place that creates, finds and closes owners."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from .clock import Clock, SystemClock
from .storage.errors import ClosedError
from .storage.layout import StateLayout, StoredResource, file_name
from .storage.sqlite import Durability

# A kind's owner is imported when its first resource is asked for: a start pays for what it uses.
if TYPE_CHECKING:
    from .analytics import AnalyticsDataset
    from .cache import CacheStore
    from .d1 import D1Database
    from .email import EmailOutbox
    from .kv import KVNamespace
    from .objects import AlarmScheduler, ObjectNamespace
    from .objects.open_databases import OpenDatabases
    from .objects.renamed import RenamedClasses
    from .objects.stored_alarms import SchedulerLink
    from .queues import Queue, QueueStore
    from .r2 import R2Bucket
    from .ratelimit import RateLimitNamespace
    from .secrets_store import SecretsStore


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
        self._open_objects: OpenDatabases | None = None
        self._alarm_link: SchedulerLink | None = None
        #: Called when the scheduler of alarms is opened, which is when there is a first alarm.
        self.on_alarms: Callable[[AlarmScheduler], None] | None = None
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

    def rate_limit(self, id: str) -> RateLimitNamespace:
        """The owner of the counters of a rate limiting namespace. Raises ClosedError after `close`."""
        from .ratelimit import RateLimitNamespace

        def create() -> RateLimitNamespace:
            path = self.layout.database("ratelimit", id)
            prepare = partial(self.layout.record, "ratelimit", id, path)
            return RateLimitNamespace(id, path, self.clock, self.durability, prepare)

        return self._owner("ratelimit", id, RateLimitNamespace, create)

    def analytics(self, dataset: str) -> AnalyticsDataset:
        """The owner of an Analytics Engine dataset. Raises ClosedError after `close`."""
        from .analytics import AnalyticsDataset

        def create() -> AnalyticsDataset:
            path = self.layout.database("analytics", dataset)
            prepare = partial(self.layout.record, "analytics", dataset, path)
            return AnalyticsDataset(dataset, path, self.clock, self.durability, prepare)

        return self._owner("analytics", dataset, AnalyticsDataset, create)

    def secrets_store(self, id: str) -> SecretsStore:
        """The owner of the Secrets Store `id`. Raises ClosedError after `close`."""
        from .secrets_store import SecretsStore

        def create() -> SecretsStore:
            path = self.layout.database("secrets-store", id)
            prepare = partial(self.layout.record, "secrets-store", id, path)
            return SecretsStore(id, path, self.clock, self.durability, prepare)

        return self._owner("secrets-store", id, SecretsStore, create)

    def email(self) -> EmailOutbox:
        """The owner of all messages that workers send. Raises ClosedError after `close`."""
        from .email import EmailOutbox

        def create() -> EmailOutbox:
            path = self.layout.database("email", "outbox")
            prepare = partial(self.layout.record, "email", "outbox", path)
            return EmailOutbox(path, self.clock, self.durability, prepare)

        return self._owner("email", "outbox", EmailOutbox, create)

    def queues(self) -> QueueStore:
        """The owner of all queues. Raises ClosedError after `close`."""
        from .queues import QueueStore

        def create() -> QueueStore:
            path = self.layout.database("queues", "queues")
            prepare = partial(self.layout.record, "queues", "queues", path)
            return QueueStore(path, self.clock, self.durability, prepare)

        return self._owner("queues", "queues", QueueStore, create)

    def queue(self, name: str) -> Queue:
        """The queue `name`, whose owner is that of all queues. Raises ClosedError after `close`."""
        return self.queues().queue(name)

    def objects(self, local_id: str) -> ObjectNamespace:
        """The owner of the objects of one class: worker and class, joined by a hyphen.

        Raises ClosedError after `close`.
        """
        from .objects import ObjectNamespace

        def create() -> ObjectNamespace:
            directory = self.layout.directory("do") / file_name(local_id, "")
            prepare = partial(self.layout.record, "do", local_id, directory)
            return ObjectNamespace(
                local_id,
                directory,
                self.clock,
                self.durability,
                self._object_databases(),
                self._scheduler_link().schedule,
                prepare,
            )

        return self._owner("do", local_id, ObjectNamespace, create)

    def renamed_objects(self) -> RenamedClasses:
        """Under which names the objects of renamed classes are kept."""
        from .objects.renamed import RenamedClasses

        path = self.layout.directory("do") / "renamed.json"
        return RenamedClasses(path, lambda: {each.id for each in self.stored("do")})

    def alarms(self) -> AlarmScheduler:
        """The owner of the alarms of all objects. Raises ClosedError after `close`."""
        from .objects import AlarmScheduler
        from .objects.stored_alarms import open_scheduler

        def create() -> AlarmScheduler:
            scheduler = open_scheduler(self)
            if self.on_alarms is not None:
                self.on_alarms(scheduler)
            return scheduler

        return self._owner("alarms", "alarms", AlarmScheduler, create)

    def may_have_alarms(self) -> bool:
        """Whether something in the state directory can have an alarm, or has had one."""
        if self.layout.database("alarms", "alarms").exists():
            return True
        return any(True for _ in self.layout.stored("do"))

    def stored(self, kind: str) -> Iterator[StoredResource]:
        """The resources of a kind that have a file in the state directory."""
        return self.layout.stored(kind)

    def check_files(self) -> None:
        """Let every owner that can look whether its file is still there; one that lost it begins anew."""
        for owner in self._owners.values():
            check = getattr(owner, "check_file", None)
            if check is not None:
                check()

    def under_way(self) -> Iterator[Awaitable[object]]:
        """What owners do on their own that is not done yet, such as running alarms."""
        for owner in list(self._owners.values()):
            under_way = getattr(owner, "under_way", None)
            if under_way is not None:
                yield from under_way()

    async def close(self) -> None:
        """Close every owner, the youngest first.

        All are closed even when some fail; the failures are raised together afterwards.
        """
        self._closed = True
        failures: list[Exception] = []
        # Objects that are closed hand their alarms over.
        owners = sorted(self._owners.items(), key=lambda item: item[0][0] != "alarms")
        self._owners = dict(owners)
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

    def _scheduler_link(self) -> SchedulerLink:
        from .objects.stored_alarms import SchedulerLink

        if self._alarm_link is None:
            self._alarm_link = SchedulerLink(
                self.alarms, self.layout.database("alarms", "alarms").exists
            )
        return self._alarm_link

    def _object_databases(self) -> OpenDatabases:
        from .objects.open_databases import OpenDatabases

        if self._open_objects is None:
            self._open_objects = OpenDatabases()
        return self._open_objects

    def _new_d1(self, id: str) -> D1Database:
        from .d1 import D1Database

        path = self.layout.database("d1", id)
        prepare = partial(self.layout.record, "d1", id, path)
        return D1Database(id, path, self.durability, prepare)
