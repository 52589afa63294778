"""``storage.transaction()`` and ``storage.transactionSync()``.

An explicit transaction is a savepoint in the object's implicit one. While it is open nothing else of the object gets a
turn, and nothing is committed; what it wrote joins the next commit when the outermost one ends.

Source: https://developers.cloudflare.com/durable-objects/api/storage-api/#transaction and workerd
``src/workerd/io/actor-sqlite.c++``
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from pyflare.js.error import Error
from pyflare.js.promise import settle
from pyflare.pyodide.suspension import without_waiting

from .operations import StorageOperations
from .owner_errors import OWNER_ERRORS, owner_failure
from .session import StorageSession

__all__ = ["DurableObjectTransaction", "run_synchronously", "run_transaction"]

NOT_IN_TRANSACTION: Final = "Cannot call deleteAll() within a transaction"
CHILD_RUNS: Final = (
    "Cannot roll back an outer transaction while a nested transaction is still running."
)
CRITICAL: Final = "Cannot commit transaction due to an earlier SQL critical error"


class DurableObjectTransaction(StorageOperations, js_name="DurableObjectTransaction"):
    """What the function of ``transaction()`` gets. It comes unwrapped, also to Python: values are JavaScript's."""

    def __init__(self, session: StorageSession) -> None:
        self._session = session
        self._parent = session.transaction
        self._rolled_back = False
        self._over = False
        self._confirmed = False
        self._touched = False
        self._before: Callable[[], None] = session.storage.on_write
        if self._parent is None:
            # Its writes are reported together, when it ends.
            session.storage.on_write = _ignore
        try:
            self._depth = session.storage.savepoint()
        except BaseException:
            session.storage.on_write = self._before
            raise
        session.transaction = self
        session.watched = True

    def note(self, confirmed: bool) -> None:
        """Something is written in it."""
        self._touched = True
        self._confirmed = self._confirmed or confirmed

    def _check(self, operation: str) -> None:
        if self._rolled_back:
            raise Error(f"Cannot {operation} on rolled back transaction")
        if self._over:
            raise Error(
                f"Cannot call {operation} on transaction that has already committed: did you move `txn` outside of "
                "the closure?"
            )

    def deleteAll(self, *_: Any, **__: Any) -> None:
        """Refused in a transaction."""
        raise Error(NOT_IN_TRANSACTION)

    def rollback(self, *_: Any) -> None:
        """Undo everything; later calls change nothing. Raises: Error while a nested transaction is running."""
        if self._rolled_back:
            return
        self._check("rollback()")
        session = self._session
        if session.transaction is not self or session.storage.depth != self._depth + 1:
            raise Error(CHILD_RUNS)
        try:
            self._undo()
        except OWNER_ERRORS as error:
            raise owner_failure(error) from None

    def commit(self) -> None:
        """Keep everything, unless it has been rolled back. Raises: what the owner raises."""
        if self._rolled_back:
            return
        session = self._session
        self._over = True
        self._leave()
        session.storage.release(self._depth)
        parent = self._parent
        if parent is not None:
            if self._touched:
                parent.note(self._confirmed)
        elif self._touched:
            session.life.output.wrote(self._confirmed)
        else:
            # Only the savepoint had opened the implicit transaction.
            session.storage.roll_back_all()

    def abandon(self) -> None:
        """Undo everything because its function failed."""
        if self._rolled_back:
            return
        if self._session.storage.broken is not None:
            # Everything is undone already.
            self._rolled_back = True
            self._leave()
            return
        # What fails now breaks the object, whose callers hear of it; the function's own exception goes on.
        with suppress(*OWNER_ERRORS):
            self._undo()

    def _undo(self) -> None:
        session = self._session
        self._rolled_back = True
        session.changes += 1
        self._leave()
        session.storage.roll_back(self._depth)
        if self._parent is None:
            session.storage.roll_back_all()

    def _leave(self) -> None:
        session = self._session
        session.transaction = self._parent
        if self._parent is None:
            session.watched = False
            session.storage.on_write = self._before


def _ignore() -> None:
    """The end of the transaction tells of all writes."""


async def run_transaction(session: StorageSession, function: Callable[[Any], Any]) -> Any:
    """Run a function, sync or async, as a transaction and give its result; part of a critical section.

    Raises: what the function raises, with everything undone.
    """
    if session.transaction is not None:
        return await _run(session, function)
    try:
        pending = session.life.output.settle()
        if pending is not None:
            await asyncio.shield(pending)
        place = session.storage.place
    except OWNER_ERRORS as error:
        raise owner_failure(error) from None
    if place is None:
        return await _run(session, function)
    async with place:
        return await _run(session, function)


async def _run(session: StorageSession, function: Callable[[Any], Any]) -> Any:
    try:
        transaction = DurableObjectTransaction._make(session)
    except OWNER_ERRORS as error:
        raise owner_failure(error) from None
    try:
        result = await settle(function(transaction))
    except BaseException:
        transaction.abandon()
        raise
    try:
        transaction.commit()
    except OWNER_ERRORS as error:
        raise owner_failure(error) from None
    return result


def run_synchronously(session: StorageSession, function: Callable[[], Any]) -> Any:
    """Run a function as a part of the implicit transaction that is undone when it raises; gives its result.

    A coroutine or promise is given as it is: by then the transaction is over. In the function ``run_sync`` is refused,
    since what other events wrote meanwhile would be part of the transaction.
    Raises: what the function raises; Error when it cannot be kept.
    """
    storage = session.storage
    try:
        depth = session.write(True, storage.savepoint)
    except OWNER_ERRORS as error:
        raise owner_failure(error) from None
    try:
        result = without_waiting(function)
    except BaseException:
        session.changes += 1
        if storage.broken is None:
            with suppress(*OWNER_ERRORS):
                storage.roll_back(depth)
        raise
    if storage.broken is not None:
        raise Error(CRITICAL)
    try:
        storage.release(depth)
    except OWNER_ERRORS as error:
        raise owner_failure(error) from None
    return result
