"""``ctx.storage`` as JavaScript sees it, over the owner of one object's storage.

Worker code normally reaches it through the SDK, whose wrapper is :mod:`pyflare.env.objects.storage_sdk`.

Source: https://developers.cloudflare.com/durable-objects/api/storage-api/ and workerd ``src/workerd/api/actor-state.*``
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from pyflare.js.error import Error, JsException
from pyflare.js.promise import JsPromise, rejected, resolved
from pyflare.js.webidl import wrong_type

from .arguments import options_of
from .operations import StorageOperations, promised
from .session import NO_SNAPSHOTS, NO_SQL_TRANSACTION, StorageLife, StorageSession
from .sql import SqlStorage
from .sync_kv import SyncKvStorage
from .transaction import NOT_IN_TRANSACTION, run_synchronously, run_transaction

__all__ = ["DurableObjectStorage"]

NO_RECOVERY: Final = (
    "This Durable Object's storage back-end does not implement point-in-time recovery."
)


class DurableObjectStorage(StorageOperations, js_name="DurableObjectStorage"):
    """The storage of one live object."""

    _sql: Any = None
    _kv: Any = None

    def __init__(self, life: StorageLife) -> None:
        self._session = StorageSession.of(life)

    def _direct_wrapper(self) -> Any:
        """What the SDK's context shows for this storage."""
        from .storage_sdk import DurableObjectStorageWrapper

        return DurableObjectStorageWrapper(self)

    @property
    def sql(self) -> Any:
        """SQL over the object's database."""
        sql = self._sql
        if sql is None:
            sql = self._sql = SqlStorage._make(self._session)
        return sql

    @property
    def kv(self) -> Any:
        """The same keys and values without promises."""
        kv = self._kv
        if kv is None:
            kv = self._kv = SyncKvStorage._make(self._session)
        return kv

    @promised
    def deleteAll(self, options: Any = None, *_: Any, **named: Any) -> None:
        """Delete everything at once, SQL tables too; whether the alarm goes too is for a compatibility flag to say."""
        options_of(options, named, "deleteAll", 1, "PutOptions")
        session = self._session
        if session.storage.depth:
            raise Error(NOT_IN_TRANSACTION)
        session.write(True, session.storage.delete_all, session.alarm_survives)

    def transaction(self, function: Any = None, *_: Any, **__: Any) -> Any:
        """Run ``function(txn)`` while nothing else of the object gets a turn; the promise of its result.

        What was written is undone when it raises, or calls ``txn.rollback()``.
        """
        session = self._session
        try:
            wanted = _function(function, "transaction")
            return session.life.critical(lambda: run_transaction(session, wanted))
        except JsException as error:
            return rejected(error)

    def transactionSync(self, function: Any = None, *_: Any) -> Any:
        """Run ``function()`` and give its result; what it wrote is undone when it raises.

        Raises: Error for a class that is not backed by SQLite.
        """
        wanted = _function(function, "transactionSync")
        self._session.check_sql(NO_SQL_TRANSACTION)
        return run_synchronously(self._session, wanted)

    def sync(self, *_: Any) -> JsPromise:
        """A promise that is fulfilled when everything written so far is durable."""
        pending = self._session.life.output.settle()
        return resolved(None) if pending is None else _following(pending)

    @promised
    def getCurrentBookmark(self, *_: Any) -> str:
        """The name of this moment in the object's history. Rejects for a class that is not backed by SQLite."""
        from pyflare_bindings.d1.bookmarks import bookmark_at

        session = self._session
        session.check_sql(NO_RECOVERY)
        return bookmark_at(session.write(True, session.storage.next_bookmark))

    @promised
    def getBookmarkForTime(self, *_: Any) -> None:
        """Refused: only production keeps a history."""
        raise Error(NO_RECOVERY)

    def snapshot(self, *_: Any, **__: Any) -> None:
        """Refused: not emulated."""
        raise Error(NO_SNAPSHOTS)

    @promised
    def onNextSessionRestoreBookmark(self, *_: Any) -> None:
        """Refused: only production keeps a history."""
        raise Error(NO_RECOVERY)


def _function(function: Any, method: str) -> Callable[..., Any]:
    if not callable(function):
        raise wrong_type(method, "DurableObjectStorage", 1, "function")
    return function  # type: ignore[no-any-return]


def _following(pending: asyncio.Future[None]) -> JsPromise:
    promise = JsPromise(loop=asyncio.get_running_loop())

    def finish(done: asyncio.Future[None]) -> None:
        if promise.done():
            return
        if done.cancelled():
            promise.cancel()
        elif (error := done.exception()) is not None:
            promise.set_exception(error)
        else:
            promise.set_result(None)

    pending.add_done_callback(finish)
    return promise
