"""Frames over asyncio's streams, and the very first one, which may bring open sockets along."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any, Final

from .protocol import BODY, END, HEAD, JSON, ProtocolError, frame, parse_head, parse_json

__all__ = ["Connection", "Gone", "receive_hello", "send_hello"]

_MOST_SOCKETS: Final = 16
_LONGEST_HELLO: Final = 1024 * 1024


class Gone(Exception):
    """The peer has closed the connection, or has ended."""


class Connection:
    """A connection with frames. All methods raise :class:`Gone` when the peer is, and ProtocolError."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def receive(self) -> tuple[bytes, bytes]:
        """The next frame: its kind and its payload."""
        try:
            kind, length = parse_head(await self._reader.readexactly(HEAD.size))
            return kind, await self._reader.readexactly(length) if length else b""
        except (asyncio.IncompleteReadError, OSError) as error:
            raise Gone from error

    async def receive_json(self) -> dict[str, Any]:
        """The next frame, which has to be a JSON object."""
        kind, payload = await self.receive()
        if kind != JSON:
            raise ProtocolError(f"a request was expected and not a frame {kind!r}")
        return parse_json(payload)

    def body(self) -> IncomingBody:
        """The body that follows."""
        return IncomingBody(self)

    async def send(self, data: bytes) -> None:
        """Send a whole frame, at the pace at which the peer takes it."""
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError as error:
            raise Gone from error

    async def send_body(self, pieces: AsyncIterator[bytes | memoryview]) -> None:
        """Send a body and its end."""
        async for piece in pieces:
            await self.send(frame(BODY, piece))
        await self.send(frame(END))

    def send_soon(self, data: bytes, most: int) -> bool:
        """Send a whole frame later, unless ``most`` bytes wait already. Out: whether it will be sent."""
        transport = self._writer.transport
        if transport.is_closing() or transport.get_write_buffer_size() > most:
            return False
        self._writer.write(data)
        return True

    async def until_gone(self) -> None:
        """Wait for the peer's end. Nothing may be expected from it meanwhile."""
        try:
            await self._reader.read(1)
        except OSError:
            return

    @property
    def at_end(self) -> bool:
        """Whether the peer is known to be gone."""
        return self._reader.at_eof() or self._writer.transport.is_closing()

    def abort(self) -> None:
        """Close the connection at once."""
        self._writer.transport.abort()

    async def close(self) -> None:
        """Close the connection; what has been sent still arrives."""
        self._writer.close()
        try:
            async with asyncio.timeout(1):
                await self._writer.wait_closed()
        except (OSError, TimeoutError):
            self._writer.transport.abort()


class IncomingBody:
    """The pieces of a body, up to its end. What nobody reads is passed over with :meth:`drain`."""

    __slots__ = ("_connection", "_ended")

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._ended = False

    def __aiter__(self) -> IncomingBody:
        return self

    async def __anext__(self) -> bytes:
        if self._ended:
            raise StopAsyncIteration
        kind, payload = await self._connection.receive()
        if kind == BODY:
            return payload
        self._ended = True
        if kind != END:
            raise ProtocolError(f"a body was expected and not a frame {kind!r}")
        raise StopAsyncIteration

    async def drain(self) -> None:
        """Read to the end."""
        async for _ in self:
            pass


def send_hello(sock: socket.socket, hello: bytes, sockets: list[socket.socket]) -> None:
    """Send the first frame of a connection, with listening sockets. Raises OSError."""
    sent = socket.send_fds(sock, [hello], [each.fileno() for each in sockets])
    sock.sendall(hello[sent:])


async def receive_hello(sock: socket.socket) -> tuple[dict[str, Any], list[socket.socket]]:
    """The first frame of a connection, and the listening sockets that came with it.

    Streams would drop the sockets, so this reads from the connection itself. Raises Gone and ProtocolError.
    """
    data = bytearray()
    descriptors: list[int] = []
    needed = HEAD.size
    try:
        while len(data) < needed:
            try:
                piece, received, _, _ = socket.recv_fds(sock, needed - len(data), _MOST_SOCKETS)
            except BlockingIOError:
                await _readable(sock)
                continue
            descriptors += received
            if not piece:
                raise Gone
            data += piece
            if needed == HEAD.size and len(data) == needed:
                kind, length = parse_head(bytes(data))
                if kind != JSON or length > _LONGEST_HELLO:
                    raise ProtocolError("the connection does not begin with a hello")
                needed += length
        hello = parse_json(bytes(data[HEAD.size :]))
    except BaseException as error:
        for each in descriptors:
            socket.close(each)
        if isinstance(error, OSError):
            raise Gone from error
        raise
    return hello, [_listening(each) for each in descriptors]


def _listening(descriptor: int) -> socket.socket:
    made = socket.socket(fileno=descriptor)
    made.setblocking(False)
    return made


async def _readable(sock: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()

    def wake() -> None:
        if not ready.done():
            ready.set_result(None)

    loop.add_reader(sock, wake)
    try:
        await ready
    finally:
        loop.remove_reader(sock)
