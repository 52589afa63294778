"""The owner's side of the private socket."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pyflare_bindings.storage.errors import StateError

from .address import OwnerSocket
from .descriptors import SpareDescriptor, are_scarce
from .frames import Connection, Gone, IncomingBody, receive_hello
from .operations import Answer, Body, Refusal, nothing, run
from .protocol import (
    END,
    VERSION,
    ProtocolError,
    error_frame,
    frame,
    identity,
    json_frame,
    same_interpreter,
)

if TYPE_CHECKING:
    from pyflare_bindings.lease import Lease
    from pyflare_bindings.registry import BindingRegistry

__all__ = ["Joining", "OwnerServer"]

T = TypeVar("T")

_HELLO_SECONDS: Final = 5.0
_RETRY_SECONDS: Final = 0.1

#: The name of a connection's task says whether somebody waits for an answer.
_IDLE: Final = "idle"
_BUSY: Final = "busy"

#: Serves a joined session over its connection until one of them ends: (hello, its sockets, connection).
Joining = Callable[[dict[str, Any], list[socket.socket], Connection], Awaitable[None]]


class OwnerServer:
    """Serves other processes of this user from the moment the owners are open: a background service.

    Args: ``lease`` of the state directory; ``registry`` of its owners; ``report`` is told of failures that are not the
    client's fault; ``joining`` runs a session that brings its own worker, None when this process takes none in;
    ``give_way`` is then called when such a session should own the directory instead.
    """

    def __init__(
        self,
        lease: Lease,
        registry: BindingRegistry,
        report: Callable[[BaseException], None],
        joining: Joining | None = None,
        give_way: Callable[[], None] | None = None,
    ) -> None:
        self._lease = lease
        self._registry = registry
        self._report = report
        self.joining = joining
        self._give_way = give_way
        self._identity = identity()
        self._socket: OwnerSocket | None = None
        self._accepting: asyncio.Task[None] | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._spare: SpareDescriptor | None = None

    async def start(self) -> None:
        """Listen. Raises OSError when the socket cannot be made."""
        self._listen()

    async def reload(self) -> None:
        """Nothing changes here."""

    def keep(self) -> None:
        """Give way to nobody any more."""
        self._give_way = None

    def move(self, lease: Lease) -> None:
        """Listen in the place of a state directory that was deleted and made anew. Raises OSError."""
        self._stop_listening()
        self._lease = lease
        self._listen()

    def _listen(self) -> None:
        self._socket = OwnerSocket(self._lease)
        self._spare = SpareDescriptor()
        self._accepting = asyncio.create_task(self._accept(self._socket.listening))

    def _stop_listening(self) -> None:
        if self._accepting is not None:
            self._accepting.cancel()
        if self._socket is not None:
            self._socket.close()
        if self._spare is not None:
            self._spare.close()
            self._spare = None

    async def close(self, grace: float) -> None:
        """Take nobody in any more, give what is under way ``grace`` seconds, and hang up."""
        self._stop_listening()
        if self._accepting is not None:
            await asyncio.wait([self._accepting])
        idle = {task for task in self._connections if task.get_name() == _IDLE}
        for task in idle:
            task.cancel()
        busy = self._connections - idle
        if busy:
            await asyncio.wait(busy, timeout=grace)
        for task in self._connections:
            task.cancel()
        if self._connections:
            await asyncio.wait(self._connections)

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        told = False
        while True:
            try:
                accepted, _ = await loop.sock_accept(listening)
            except OSError as error:
                # No descriptor is free at the moment.
                if not told:
                    self._report(error)
                told = True
                if self._spare is None or not self._spare.free_for(error):
                    await asyncio.sleep(_RETRY_SECONDS)
                continue
            told = told and are_scarce(accepted)
            task = loop.create_task(self._serve(accepted), name=_IDLE)
            self._connections.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._connections.discard(task)
        if self._spare is not None:
            self._spare.renew()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._report(error)

    async def _serve(self, accepted: socket.socket) -> None:
        accepted.setblocking(False)
        sockets: list[socket.socket] = []
        connection: Connection | None = None
        try:
            async with asyncio.timeout(_HELLO_SECONDS):
                hello, sockets = await receive_hello(accepted)
            connection = Connection(*await asyncio.open_unix_connection(sock=accepted))
            refusal = self._refusal(hello)
            if refusal is not None:
                await connection.send(json_frame({**self._identity, "refused": refusal}))
                return
            if hello.get("purpose") == "embedded" and are_scarce(accepted):
                await connection.send(json_frame({**self._identity, "full": self._full()}))
                return
            await connection.send(json_frame(self._identity))
            if hello.get("purpose") == "session" and self.joining is None:
                if self._give_way is not None:
                    self._give_way()
                return
            if hello.get("purpose") == "session" and self.joining is not None:
                _name_task(_IDLE)
                await self.joining(hello, sockets, connection)
                return
            while True:
                _name_task(_IDLE)
                request = await connection.receive_json()
                _name_task(_BUSY)
                await self._answer(request, connection)
        except (Gone, TimeoutError, ProtocolError):
            # Whoever has gone does not wait for an answer, and whoever does not know the protocol would not read it.
            return
        finally:
            for each in sockets:
                each.close()
            if connection is None:
                accepted.close()
            else:
                await connection.close()

    def _refusal(self, hello: dict[str, Any]) -> str | None:
        pid = self._identity["pid"]
        if hello.get("protocol") != VERSION:
            return (
                f"The state directory is in use by process {pid}, which runs another version of pyflare "
                f"(protocol {VERSION}; here {hello.get('protocol')}). Stop it, or use the same version."
            )
        if hello.get("purpose") == "operations":
            return None
        if hello.get("purpose") == "session" and self.joining is None:
            if self._give_way is not None:
                return None
            return (
                f"The state directory is in use by process {pid}, which takes in no further Workers. Stop it, or "
                "choose another directory with --persist-to."
            )
        difference = same_interpreter(self._identity, hello)
        if difference is None:
            return None
        return (
            f"The state directory is in use by process {pid}, and cannot be shared with this one: {difference}. "
            "Start both from the same environment, or choose another directory with --persist-to."
        )

    def _full(self) -> str:
        return (
            f"process {self._identity['pid']}, which owns this state directory, has too many open files to take in "
            "one more connection"
        )

    async def _answer(self, request: dict[str, Any], connection: Connection) -> None:
        body = connection.body() if request.get("body") else None
        try:
            answer = await self._run(request, connection, body)
            await connection.send(json_frame({"value": answer.value}))
            await self._send_body(answer.body, connection)
        except (Refusal, ProtocolError) as error:
            statement = error.statement if isinstance(error, Refusal) else None
            await connection.send(error_frame(str(error), statement))
        if body is not None:
            await body.drain()

    async def _run(
        self, request: dict[str, Any], connection: Connection, body: IncomingBody | None
    ) -> Answer:
        name, arguments = str(request.get("operation")), request.get("arguments")
        given = arguments if isinstance(arguments, dict) else {}
        if body is not None:
            return await self._refusing(name, run(name, self._registry, given, body))
        work = asyncio.ensure_future(
            self._refusing(name, run(name, self._registry, given, nothing()))
        )
        gone = asyncio.ensure_future(connection.until_gone())
        try:
            await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise Gone
            return work.result()
        finally:
            # Nobody waits for it any more.
            work.cancel()
            gone.cancel()
            await asyncio.wait((work, gone))

    async def _send_body(self, body: Body | None, connection: Connection) -> None:
        if body is None:
            await connection.send(frame(END))
            return
        try:
            await self._refusing("a body", connection.send_body(body))
        finally:
            close = getattr(body, "aclose", None)
            if close is not None:
                await close()

    async def _refusing(self, name: str, work: Awaitable[T]) -> T:
        """What ``work`` gives. Raises Refusal with whatever it raises, told to the person who asked."""
        try:
            return await work
        except (Refusal, Gone, ProtocolError):
            raise
        except StateError as error:
            raise Refusal(str(error)) from error
        except Exception as error:
            self._report(error)
            raise Refusal(
                f"The owner of the state directory (process {self._identity['pid']}) failed at {name}: "
                f"{type(error).__name__}: {error}"
            ) from error


def _name_task(name: str) -> None:
    task = asyncio.current_task()
    assert task is not None, "it runs in one"
    task.set_name(name)
