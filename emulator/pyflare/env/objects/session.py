"""What the faces of one live object's storage share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, ParamSpec, Protocol, TypeVar

from pyflare.js.error import Error
from pyflare_bindings.objects.storage import ObjectStorage

from .owner_errors import OWNER_ERRORS, owner_failure

if TYPE_CHECKING:
    from .transaction import DurableObjectTransaction

__all__ = ["StorageLife", "StorageSession"]

P = ParamSpec("P")
T = TypeVar("T")

# The local tools have other words for these two.
NO_SQL: Final = (
    "This Durable Object is not backed by SQLite storage, so the SQL API is not available. SQL can be enabled on a new "
    "Durable Object class by using the `new_sqlite_classes` instead of `new_classes` under `[[migrations]]` in your "
    "wrangler.toml, but an already-deployed class cannot be converted to SQLite (except by deleting the existing data)."
)
NO_SNAPSHOTS: Final = "Snapshots of Durable Objects are not emulated."
NO_SQL_TRANSACTION: Final = "Durable Object is not backed by SQL."


class _Output(Protocol):
    def settle(self) -> asyncio.Future[None] | None: ...

    def wrote(self, confirmed: bool = True) -> None: ...


class _Class(Protocol):
    @property
    def uses_sql(self) -> bool: ...


class StorageLife(Protocol):
    """The instance that a storage belongs to (see ``pyflare.workers.actors``).

    ``critical`` runs a function while nothing else of the object gets a turn. ``output.wrote`` is told that there is
    something to commit; ``output.settle`` commits it at once and gives what to wait for until everything is durable,
    None when it is. ``namespace.uses_sql``: whether the class was declared with SQLite.
    """

    @property
    def storage(self) -> ObjectStorage: ...

    @property
    def output(self) -> _Output: ...

    @property
    def namespace(self) -> _Class: ...

    def critical(self, function: Callable[[], Any]) -> Any: ...


@dataclass(slots=True)
class StorageSession:
    """The storage of one live object.

    ``limited``: the class is not backed by SQLite, so the limits of the older back end hold; ``enhanced_errors`` and
    ``alarm_survives`` say how the worker's compatibility flags stand. ``changes`` counts the writes of keys and values
    and whatever undoes them, ``listings`` the calls of ``kv.list()``; ``transaction`` is the innermost open one.
    ``watched``: writes that leave need not wait for have to be told from those that it must.
    """

    life: StorageLife
    storage: ObjectStorage
    limited: bool
    enhanced_errors: bool
    alarm_survives: bool
    changes: int = 0
    listings: int = 0
    watched: bool = False
    transaction: DurableObjectTransaction | None = None

    @classmethod
    def of(cls, life: StorageLife) -> StorageSession:
        """The session of a life, by the flags of the running worker. Raises: Error when its file cannot be opened."""
        try:
            storage = life.storage
        except OWNER_ERRORS as error:
            raise owner_failure(error) from error
        return cls(
            life,
            storage,
            limited=not life.namespace.uses_sql,
            enhanced_errors=_flag("enhanced_error_serialization"),
            alarm_survives=not _flag("delete_all_deletes_alarm"),
        )

    def write(
        self,
        confirmed: bool,
        operation: Callable[P, T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Perform a writing operation of the owner; ``confirmed``: what leaves the object waits for it."""
        self.changes += 1
        if confirmed and not self.watched:
            return operation(*args, **kwargs)
        return self._watch(confirmed, operation, *args, **kwargs)

    def _watch(
        self, confirmed: bool, operation: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        transaction = self.transaction
        if transaction is not None:
            transaction.note(confirmed)
            return operation(*args, **kwargs)
        if confirmed:
            # An unconfirmed write may have opened the transaction that this one is part of.
            self.watched = False
            result = operation(*args, **kwargs)
            if self.storage.in_transaction:
                self.life.output.wrote()
            return result
        self.watched = True
        storage = self.storage
        tell = storage.on_write
        storage.on_write = partial(self.life.output.wrote, False)
        try:
            return operation(*args, **kwargs)
        finally:
            storage.on_write = tell

    def check_sql(self, text: str = NO_SQL) -> None:
        """Raises: Error with this text when the class is not backed by SQLite."""
        if self.limited:
            raise Error(text)


def _flag(name: str) -> bool:
    try:
        import _cloudflare_compat_flags as flags
    except ImportError:
        return True
    return bool(getattr(flags, name, True))
