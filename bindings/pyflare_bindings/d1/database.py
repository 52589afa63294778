"""The owner of one D1 database."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Final, TypeVar

from ..storage.errors import ClosedError, FileGoneError
from ..storage.log_copy import LogCopy
from ..storage.owner_thread import OwnerThread
from ..storage.sandbox import StoppedError
from ..storage.sqlite import Durability
from ..storage.whole_file import copy_database, put_in_place
from .bookmarks import bookmark_at
from .engine import Engine, Outcome
from .errors import TOO_MANY_WAITING, D1Error
from .results import Results, Statement
from .slow_requests import SlowRequests

T = TypeVar("T")

_LOOP_BUDGET_SECONDS = 0.010
_INLINE_TURN_SECONDS = 0.005
_CLOSE_GRACE_SECONDS = 5.0
_MAX_WAITING = 10_000
_GROUP_SIZE = 256
_LOG_LIMITS_AT_MOST = 4
_ANY_TABLE: Final = (
    "SELECT 1 FROM sqlite_schema WHERE name NOT LIKE '$_cf$_%' ESCAPE '$'"
    " AND name NOT LIKE 'sqlite$_%' ESCAPE '$' LIMIT 1"
)


class _Request:
    __slots__ = ("answer", "statements")

    def __init__(self, statements: Sequence[Statement], answer: asyncio.Future[Results]) -> None:
        self.statements = statements
        self.answer = answer


class D1Database:
    """One D1 database: a queue of requests over one SQLite file.

    Requests run one after the other, in the order they came. A short one runs at once on the
    event loop, without suspending its caller. One that holds the loop for 10 ms is undone and run
    again on the owner's own thread, where its like then go directly; other requests of this
    database wait meanwhile, and the loop is free. At durability `machine` everything that writes
    goes to the thread, and what waits together shares one commit.

    The registry makes it; `path` is opened at the first request.
    """

    __slots__ = (
        "_alone_on_thread",
        "_booked",
        "_closed",
        "_durability",
        "_engine",
        "_log",
        "_occupied",
        "_prepare_file",
        "_slow",
        "_thread",
        "_waiting",
        "id",
        "path",
    )

    def __init__(
        self,
        id: str,
        path: Path,
        durability: Durability = "process",
        prepare_file: Callable[[], None] = lambda: None,
    ) -> None:
        self.id = id
        self.path = path
        self._durability = durability
        self._prepare_file = prepare_file
        self._engine: Engine | None = None
        self._thread = OwnerThread(f"d1-{path.stem}")
        self._log = LogCopy(path)
        self._slow = SlowRequests()
        self._waiting: deque[_Request] = deque()
        self._alone_on_thread: _Request | None = None
        self._occupied = False
        self._booked = False
        self._closed = False

    @property
    def bookmark(self) -> str | None:
        """The bookmark of the last successful request; None before the file has been opened."""
        return None if self._engine is None else bookmark_at(self._engine.counter)

    async def query(self, statements: Sequence[Statement]) -> Results:
        """Run one request: its statements in order, in one transaction, all of them or none.

        Out: one result per statement, except for those that consist of indented comments, which
        are dropped. Raises D1Error with the platform's text, StateError when the file cannot be
        used and ClosedError after `close`. A caller that is cancelled while it waits leaves no
        trace; one that is cancelled while its request runs on the thread has it stopped and undone
        unless it is just being committed.
        """
        if self._closed:
            raise self._closed_error()
        engine = self._engine
        if engine is not None and not self._occupied and not self._waiting:
            results = self._run_inline(engine, statements)
            if results is not None:
                return results
        return await self._wait_for_turn(statements)

    # Whole databases

    async def is_empty(self) -> bool:
        """Whether it has no table; nothing is created. Raises as `query` does."""
        if not self.path.exists():
            return True
        return not (await self.query([Statement(_ANY_TABLE, ())]))[0].rows

    async def restore(self, incoming: Path) -> None:
        """Put the database in the file `incoming` in the place of this one, at once.

        In: `incoming`, a whole database without a log, on the same file system; it is moved. Raises
        RuntimeError while requests are under way, StateError and ClosedError.
        """

        def replace() -> None:
            self._close_file()
            self._prepare_file()
            put_in_place(incoming, self.path, sync=self._durability == "machine")

        await self._run_alone(replace)

    async def copy_to(self, destination: Path) -> bool:
        """Write the database to a new file. Out: False, and no file, when there is no database.

        Raises as `restore` does.
        """

        def copy() -> bool:
            if not self.path.exists():
                return False
            copy_database(self.path, destination)
            return True

        return await self._run_alone(copy)

    async def close(self) -> None:
        """Finish the running request, refuse the waiting ones and close the file.

        A request that runs for another five seconds is stopped and undone.
        """
        if self._closed:
            return
        self._closed = True
        while self._waiting:
            _fail(self._waiting.popleft(), self._closed_error())
        await self._thread.drain(_CLOSE_GRACE_SECONDS, self._give_up)
        await self._thread.finish(self._close_file)

    # On the event loop

    def _run_inline(self, engine: Engine, statements: Sequence[Statement]) -> Results | None:
        if self._belongs_on_thread(engine, statements):
            return None
        deadline = perf_counter() + _LOOP_BUDGET_SECONDS
        sandbox = engine.sandbox
        sandbox.loop_deadline = deadline
        try:
            results = engine.run(statements)
        except StoppedError:
            self._slow.add(statements)
            return None
        except FileGoneError:
            self._close_file()
            raise
        if perf_counter() > deadline:
            self._slow.add(statements)
        if sandbox.wal_pages > self._log.limit:
            self._copy_log()
        return results

    def _belongs_on_thread(self, engine: Engine, statements: Sequence[Statement]) -> bool:
        if statements in self._slow:
            return True
        if self._durability == "machine":
            return not engine.only_reads(statements)
        # Behind the copy of the log, when writes come faster than it can be copied.
        return (
            self._log.running
            and engine.sandbox.wal_pages > _LOG_LIMITS_AT_MOST * self._log.limit
            and not engine.only_reads(statements)
        )

    async def _wait_for_turn(self, statements: Sequence[Statement]) -> Results:
        if len(self._waiting) >= _MAX_WAITING:
            raise D1Error(TOO_MANY_WAITING)
        request = _Request(statements, asyncio.get_running_loop().create_future())
        self._waiting.append(request)
        self._serve_waiting()
        try:
            return await request.answer
        except asyncio.CancelledError:
            if self._alone_on_thread is request:
                self._give_up()
            raise

    def _serve_waiting(self) -> None:
        if self._occupied or self._booked or self._closed:
            return
        engine = self._engine
        if self._log.rest_due and engine is not None:
            self._copy_rest_of_log(engine)
            return
        until = perf_counter() + _INLINE_TURN_SECONDS
        while self._waiting:
            request = self._waiting[0]
            if request.answer.done():
                self._waiting.popleft()
                continue
            if engine is None or self._belongs_on_thread(engine, request.statements):
                self._send_to_thread()
                return
            self._answer_inline(engine, self._waiting.popleft())
            if perf_counter() > until:
                # One turn of the loop for everybody else before the next ones are served.
                self._booked = True
                asyncio.get_running_loop().call_soon(self._next_turn)
                return

    def _answer_inline(self, engine: Engine, request: _Request) -> None:
        try:
            results = self._run_inline(engine, request.statements)
        except Exception as error:
            request.answer.set_exception(error)
            return
        if results is None:
            self._waiting.appendleft(request)
        else:
            request.answer.set_result(results)

    def _next_turn(self) -> None:
        self._booked = False
        self._serve_waiting()

    def _give_up(self) -> None:
        if self._engine is not None:
            self._engine.sandbox.given_up = True

    def _closed_error(self) -> ClosedError:
        return ClosedError(f"the D1 database {self.id!r} has been closed")

    # With the owner's thread

    def _send_to_thread(self) -> None:
        group = self._next_group()
        requests = [request.statements for request in group]
        self._alone_on_thread = group[0] if len(group) == 1 else None
        if self._engine is not None:
            self._engine.sandbox.given_up = False

        def answer(done: tuple[list[Outcome], float]) -> None:
            outcomes, seconds = done
            self._occupied = False
            self._alone_on_thread = None
            if len(requests) == 1:
                self._slow.judge(requests[0], seconds)
            for request, outcome in zip(group, outcomes, strict=True):
                if isinstance(outcome, StoppedError):
                    _fail(request, self._closed_error())
                elif isinstance(outcome, Exception):
                    _fail(request, outcome)
                elif not request.answer.done():
                    request.answer.set_result(outcome)
            if self._engine is not None and self._engine.sandbox.wal_pages > self._log.limit:
                self._copy_log()
            self._serve_waiting()

        self._occupied = True
        self._thread.run(lambda: self._run_on_thread(requests, group), answer)

    def _next_group(self) -> list[_Request]:
        group = [self._waiting.popleft()]
        if self._durability == "process" or group[0].statements in self._slow:
            return group
        while self._waiting and len(group) < _GROUP_SIZE:
            following = self._waiting[0]
            if following.statements in self._slow:
                break
            self._waiting.popleft()
            if not following.answer.done():
                group.append(following)
        return group

    def _run_on_thread(
        self, requests: list[Sequence[Statement]], group: Sequence[_Request]
    ) -> tuple[list[Outcome], float]:
        start = perf_counter()
        try:
            if self._engine is None:
                self._prepare_file()
                self._engine = Engine(self.path, self._durability)
                if all(each.answer.done() for each in group):
                    # Whoever gave up while the file was being opened found nothing to stop.
                    self._engine.sandbox.given_up = True
                start = perf_counter()
            outcomes = self._engine.run_group_on_thread(requests)
        except Exception as error:
            outcomes = [error for _ in requests]
        if any(isinstance(each, FileGoneError) for each in outcomes):
            self._close_file()
        return outcomes, perf_counter() - start

    async def _run_alone(self, job: Callable[[], T]) -> T:
        if self._closed:
            raise self._closed_error()
        if self._occupied or self._waiting:
            raise RuntimeError(f"the D1 database {self.id!r} is in use")
        finished: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        def attempt() -> T | Exception:
            try:
                return job()
            except Exception as error:
                return error

        def done(outcome: T | Exception) -> None:
            self._occupied = False
            if not finished.done():
                if isinstance(outcome, Exception):
                    finished.set_exception(outcome)
                else:
                    finished.set_result(outcome)
            self._serve_waiting()

        self._occupied = True
        self._thread.run(attempt, done)
        return await finished

    def check_file(self) -> None:
        """Let go of a file that was deleted or replaced, so that the next request opens what is there now."""
        if self._engine is not None and not self._occupied and not self._engine.in_place:
            self._close_file()

    def _copy_log(self) -> None:
        if self._log.running or self._closed:
            return
        self._log.running = True

        def copied(_: None) -> None:
            self._log.rest_due = True
            self._serve_waiting()

        self._thread.run(self._log.copy, copied)

    def _copy_rest_of_log(self, engine: Engine) -> None:
        self._log.rest_due = False
        self._occupied = True

        def copied(complete: bool) -> None:
            self._occupied = False
            self._log.finish(complete, engine.sandbox.wal_pages)
            if complete:
                engine.sandbox.wal_pages = 0
            self._serve_waiting()

        self._thread.run(engine.copy_rest_of_log, copied)

    def _close_file(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()


def _fail(request: _Request, error: Exception) -> None:
    if not request.answer.done():
        request.answer.set_exception(error)
