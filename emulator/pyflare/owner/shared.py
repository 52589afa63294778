"""The owners of a state directory as an embedded Pyflare sees them when another process has them.

Calls go to that process. When it ends, the next call finds the process that has taken over, or takes over itself.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyflare_bindings.clock import Clock
from pyflare_bindings.lease import LeaseHeld
from pyflare_bindings.r2.bodies import BytesBody
from pyflare_bindings.storage.errors import ClosedError, StateError, file_error

from .address import connect
from .frames import Connection, Gone
from .pace import next_step
from .protocol import BODY, END, ERROR, JSON, ProtocolError, frame, identity, json_frame
from .shared_owners import LocalOwner, OwnerEnded, RemoteBody, SharedDatabase, SharedOwner, failure
from .turns import Turn, Turns
from .upload import Upload
from .values import STREAM, dump, load, unpack_error

if TYPE_CHECKING:
    from pyflare_bindings.registry import BindingRegistry

__all__ = ["CannotShare", "OwnerEnded", "SharedRegistry"]

_HELLO_SECONDS: Final = 10.0
_LAST_SECONDS: Final = 30.0
#: A session of `pyflare dev` can take in others' Workers, so it goes first where an owner has ended.
_SESSIONS_FIRST_SECONDS: Final = 0.3
#: Calls that the owner works on at once, and connections that are kept for the next ones.
_AT_A_TIME: Final = 32
#: Connections in all: also those of contents that are being read and of uploads that wait for their streams.
_MOST: Final = 4096
#: Bytes of a content that is read before anybody asks for it, so that the connection is free.
_AT_ONCE: Final = 256 * 1024
_FULL: Final = (
    "Read the contents that you get to their end, or cancel them; or raise the limit of that process (ulimit -n) and "
    "start it again"
)
#: The kinds whose owners are for their own process alone.
_LOCAL_KINDS: Final = frozenset(
    ("alarms", "analytics", "caches", "email", "objects", "queues", "rate_limit", "secrets_store")
)


class CannotShare(LeaseHeld):
    """Another process owns the directory, and these workers need one that they own themselves."""

    def __init__(self, held: LeaseHeld, why: str) -> None:
        super().__init__(held.root, held.holder)
        who = f"process {held.holder['pid']}" if "pid" in held.holder else "another process"
        self.args = (
            f"The state directory {held.root} is in use by {who}, and cannot be shared with it: {why}. Stop that "
            "process, run these Workers in it, or choose another directory with persist_to.",
        )


class SharedRegistry:
    """What a :class:`pyflare_bindings.registry.BindingRegistry` is, for databases, buckets, namespaces and producers.

    Args: ``root`` the state directory; ``take_over`` makes this process the owner, or raises LeaseHeld;
    ``give_back`` closes the registry of its owners and lets others have the directory.
    """

    def __init__(
        self,
        root: Path,
        clock: Clock,
        take_over: Callable[[], Awaitable[BindingRegistry]],
        give_back: Callable[[BindingRegistry], Awaitable[None]],
    ) -> None:
        self.root = root
        self.clock = clock
        #: The owners while they are this process's.
        self.local: BindingRegistry | None = None
        #: Whether the owners stay here, so that also those for one process alone can be used.
        self.kept = False
        self._take_over = take_over
        self._give_back = give_back
        self._idle: list[Connection] = []
        #: Those of bodies that have not been read: kept here, for a body may be garbage together with its reader.
        self.lent: set[Connection] = set()
        self._busy: set[Connection] = set()
        self._turns = Turns(_AT_A_TIME)
        self._electing = asyncio.Lock()
        self._running = 0
        self._quiet = asyncio.Event()
        self._closed = False

    def d1(self, id: str) -> Any:
        """The database ``id``."""
        return SharedDatabase(self, "d1", id)

    def kv(self, id: str) -> Any:
        """The KV namespace ``id``."""
        return SharedOwner(self, "kv", id)

    def r2(self, id: str) -> Any:
        """The bucket ``id``."""
        return SharedOwner(self, "r2", id)

    def queue(self, name: str) -> Any:
        """The queue ``name``, to send to."""
        return SharedOwner(self, "queue", name)

    def __getattr__(self, name: str) -> Any:
        if name in _LOCAL_KINDS and not self.kept:
            return lambda *ids: LocalOwner(self, name, ids)
        if self.local is None:
            raise AttributeError(f"the owners are another process's; here is no {name!r}")
        return getattr(self.local, name)

    def under_way(self) -> list[Awaitable[object]]:
        """What the owners are doing that is not done yet."""
        return [] if self.local is None else list(self.local.under_way())

    def check_files(self) -> None:
        """Let every owner that is here look whether its file is still there."""
        if self.local is not None:
            self.local.check_files()

    async def close(self) -> None:
        """Hang up."""
        self._closed = True
        for each in self._busy:
            each.abort()
        for each in (*self._idle, *self.lent, *self._busy):
            await each.close()
        self._idle.clear()
        self.lent.clear()
        if self.local is not None:
            await self.local.close()

    def own(self, registry: BindingRegistry) -> None:
        """This process has the owners now."""
        self.local = registry

    async def give_way(self) -> None:
        """Let another process have the owners. Calls that are under way here end first."""
        async with self._electing:
            registry, self.local = self.local, None
            if registry is None:
                return
            while self._running:
                self._quiet.clear()
                await self._quiet.wait()
            await self._give_back(registry)

    async def reach(self) -> bool:
        """Whether there is an owner that can be asked. Raises StateError when it refuses."""
        connection = await self._open()
        if connection is not None:
            self._idle.append(connection)
        return connection is not None

    async def call(
        self, kind: str, id: str, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Call a method of an owner, wherever that is."""
        if self._closed:
            raise _closed(kind, id)
        if self.local is None:
            turn = await self._turns.take()
            try:
                connection = await self._connect()
                if connection is not None:
                    return await self._call(connection, turn, kind, id, method, args, kwargs)
            finally:
                turn.give_up()
        assert self.local is not None, "either there is a connection or the owners are here"
        return await self._call_here(self.local, kind, id, method, args, kwargs)

    async def _call_here(
        self,
        local: BindingRegistry,
        kind: str,
        id: str,
        method: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        target: Any = getattr(local, kind)(id)
        for name in method.split("."):
            target = getattr(target, name)
        self._running += 1
        try:
            return await target(*args, **kwargs)
        finally:
            self._running -= 1
            if not self._running:
                self._quiet.set()

    async def _call(
        self,
        connection: Connection,
        turn: Turn,
        kind: str,
        id: str,
        method: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        streams: list[AsyncIterator[bytes]] = []
        given = dump(
            (
                tuple(_sendable(each, streams) for each in args),
                {name: _sendable(each, streams) for name, each in kwargs.items()},
            )
        )
        request = {
            "operation": "owner.call",
            "arguments": {"kind": kind, "id": id, "method": method},
            "body": True,
        }
        head = json_frame(request) + frame(BODY, given)
        self._busy.add(connection)
        try:
            if streams:
                await connection.send(head)
                upload = Upload(connection, streams, turn)
                first = await upload.answer()
                whole = upload.is_whole
            else:
                await connection.send(head + frame(END))
                first, whole = await connection.receive(), True
            return await self._read(connection, first, reusable=whole)
        except (Gone, ProtocolError) as error:
            if self._closed:
                raise _closed(kind, id) from error
            raise OwnerEnded(self.root) from error
        finally:
            # Still here: the call was given up, the owner is gone, or it waits for what nobody sends any more.
            if connection in self._busy:
                self._busy.discard(connection)
                connection.abort()

    async def _read(
        self, connection: Connection, first: tuple[bytes, bytes], *, reusable: bool
    ) -> Any:
        """The result of a call; ``reusable`` says that the owner has all of the request."""
        kind, payload = first
        if kind == JSON:
            kind, payload = await connection.receive()
        if kind != BODY:
            if kind == ERROR and reusable:
                self.release(connection)
            raise failure(self.root, kind, payload)
        good, result, content = load(payload)
        if good and content:
            body = RemoteBody(self, connection, result)
            small = body.size <= _AT_ONCE
            setattr(result, content, BytesBody(await body.read()) if small else body)
            return result
        if reusable:
            await connection.body().drain()
            self.release(connection)
        if not good:
            raise unpack_error(result)
        return result

    def lend(self, connection: Connection) -> None:
        """A body is read over it from now on."""
        self._busy.discard(connection)
        self.lent.add(connection)

    def release(self, connection: Connection) -> None:
        """A call has come to its end; the connection serves the next one."""
        self._busy.discard(connection)
        if len(self._idle) < _AT_A_TIME and not self._closed:
            self._idle.append(connection)
        else:
            connection.abort()

    async def _connect(self) -> Connection | None:
        """A connection to the owner; None when this process is the owner now."""
        if self.local is not None:
            return None
        while self._idle:
            connection = self._idle.pop()
            if not connection.at_end:
                return connection
            await connection.close()
        lent = len(self.lent) + len(self._busy)
        if lent >= _MOST:
            raise StateError(
                self.root,
                f"{lent} contents are being read from the process that owns this state directory, or written to it",
                "Read them to their end, or cancel them, before there are more",
            )
        made = await self._open()
        if made is not None:
            return made
        async with self._electing:
            return await self._elect()

    async def _elect(self) -> Connection | None:
        begun = time.monotonic()
        while self.local is None:
            made = await self._open()
            if made is not None:
                return made
            waited = time.monotonic() - begun
            if waited < _SESSIONS_FIRST_SECONDS:
                await asyncio.sleep(next_step(waited))
                continue
            try:
                self.local = await self._take_over()
            except LeaseHeld:
                if waited > _LAST_SECONDS:
                    raise
                await asyncio.sleep(next_step(waited))
        return None

    async def _open(self) -> Connection | None:
        try:
            made = connect(self.root, _HELLO_SECONDS)
        except OSError as error:
            problem = "the process that owns this state directory cannot be reached"
            raise file_error(self.root, problem, error, "Try again") from error
        if made is None:
            return None
        made.setblocking(False)
        connection = Connection(*await asyncio.open_unix_connection(sock=made))
        try:
            await connection.send(json_frame({**identity(), "purpose": "embedded"}))
            async with asyncio.timeout(_HELLO_SECONDS):
                answer = await connection.receive_json()
        except (Gone, TimeoutError):
            await connection.close()
            return None
        if "full" in answer:
            await connection.close()
            raise StateError(self.root, answer["full"], _FULL)
        if "refused" in answer:
            await connection.close()
            raise StateError(
                self.root, answer["refused"], "Nothing of this state directory can be used here"
            )
        return connection


def _closed(kind: str, id: str) -> ClosedError:
    return ClosedError(f"the registry has been closed; it no longer has {kind} {id!r}")


def _sendable(value: Any, streams: list[AsyncIterator[bytes]]) -> Any:
    if isinstance(value, memoryview):
        return bytes(value)
    if hasattr(value, "__aiter__"):
        streams.append(value)
        return STREAM
    return value
