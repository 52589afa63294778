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
from pyflare_bindings.storage.errors import ClosedError, StateError

from .address import connect
from .frames import Connection, Gone
from .pace import next_step
from .protocol import BODY, END, ERROR, JSON, ProtocolError, frame, identity, json_frame
from .shared_owners import LocalOwner, OwnerEnded, RemoteBody, SharedDatabase, SharedOwner, failure
from .values import STREAM, dump, load, unpack_error

if TYPE_CHECKING:
    from pyflare_bindings.registry import BindingRegistry

__all__ = ["CannotShare", "OwnerEnded", "SharedRegistry"]

_HELLO_SECONDS: Final = 10.0
_LAST_SECONDS: Final = 30.0
#: A session of `pyflare dev` can take in others' Workers, so it goes first where an owner has ended.
_SESSIONS_FIRST_SECONDS: Final = 0.3
_CONNECTIONS: Final = 32
#: Bytes of a content that is read before anybody asks for it, so that the connection is free.
_AT_ONCE: Final = 256 * 1024
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
        self.free = asyncio.Semaphore(_CONNECTIONS)
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
        for each in (*self._idle, *self.lent):
            await each.close()
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
            raise ClosedError(f"the registry has been closed; it no longer has {kind} {id!r}")
        local = self.local
        if local is None:
            await self.free.acquire()
            try:
                connection = await self._connect()
            except BaseException:
                self.free.release()
                raise
            if connection is None:
                self.free.release()
                local = self.local
        if local is not None:
            return await self._call_here(local, kind, id, method, args, kwargs)
        assert connection is not None, "either there is a connection or the owners are here"
        try:
            return await self._call(connection, kind, id, method, args, kwargs)
        except (Gone, ProtocolError) as error:
            await self.drop(connection)
            raise OwnerEnded(self.root) from error
        except asyncio.CancelledError:
            await self.drop(connection)
            raise

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
        await connection.send(json_frame(request) + frame(BODY, given))
        try:
            for stream in streams:
                async for piece in stream:
                    await connection.send(frame(BODY, piece))
        except (Gone, asyncio.CancelledError):
            raise
        except Exception:
            # The stream's own failure. Half a body must not look like a whole one.
            await self.drop(connection)
            raise
        await connection.send(frame(END))
        kind_of_frame, payload = await connection.receive()
        if kind_of_frame == JSON:
            kind_of_frame, payload = await connection.receive()
        if kind_of_frame != BODY:
            if kind_of_frame == ERROR:
                self.release(connection)
            raise failure(self.root, kind_of_frame, payload)
        good, result, content = load(payload)
        if not good:
            await _to_the_end(connection)
            self.release(connection)
            raise unpack_error(result)
        if not content:
            await _to_the_end(connection)
            self.release(connection)
            return result
        body = RemoteBody(self, connection, result)
        small = body.size <= _AT_ONCE
        setattr(result, content, BytesBody(await body.read()) if small else body)
        return result

    def release(self, connection: Connection) -> None:
        """A call has come to its end; the connection serves the next one."""
        self._idle.append(connection)
        self.free.release()

    async def drop(self, connection: Connection) -> None:
        """A call was given up, or the owner is gone."""
        self.free.release()
        await connection.close()

    async def _connect(self) -> Connection | None:
        """A connection to the owner; None when this process is the owner now."""
        if self.local is not None:
            return None
        while self._idle:
            connection = self._idle.pop()
            if not connection.at_end:
                return connection
            await connection.close()
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
        made = connect(self.root, _HELLO_SECONDS)
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
        if "refused" in answer:
            await connection.close()
            raise StateError(
                self.root, answer["refused"], "Nothing of this state directory can be used here"
            )
        return connection


def _sendable(value: Any, streams: list[AsyncIterator[bytes]]) -> Any:
    if isinstance(value, memoryview):
        return bytes(value)
    if hasattr(value, "__aiter__"):
        streams.append(value)
        return STREAM
    return value


async def _to_the_end(connection: Connection) -> None:
    await connection.body().drain()
