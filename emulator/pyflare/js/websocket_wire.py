"""A WebSocket connection on a transport of asyncio: frames, messages, backpressure and the closing handshake.

The frames are the package ``websockets``'s, without its own input and output. What differs from it is production's: a
close frame is answered by whoever uses the connection, not by the framing, and the words for a message that is too
large.

Source: https://www.rfc-editor.org/rfc/rfc6455 and kj ``compat/http.c++``.
"""

from __future__ import annotations

import asyncio
import struct
import sys
from collections import deque
from collections.abc import Generator
from typing import Any, ClassVar, Final

from websockets.exceptions import InvalidState, PayloadTooBig, ProtocolError
from websockets.frames import Close as FramedClose
from websockets.frames import Frame, Opcode
from websockets.protocol import Protocol, State

from .error import Error
from .webidl import encode_text
from .websocket_channel import NO_STATUS, Close, ConnectionLost, Item, Message

__all__ = ["LARGEST_MESSAGE", "PatientFraming", "WebSocketWire"]

#: The largest message that arrives, in bytes.
LARGEST_MESSAGE: Final = 32 * 1024 * 1024

_HIGH_MESSAGES: Final = 32
_HIGH_SIZE: Final = 64 * 1024
_CLOSE_SECONDS: Final = 10.0
#: How long the other side may send nothing after it has broken the protocol, in seconds.
_DROP_SECONDS: Final = 1.0
_LONGEST_REASON: Final = 123


class PatientFraming(Protocol):
    """Framing that leaves the answer to a close frame to its user. A mixin for either side's class."""

    def recv_frame(self, frame: Frame) -> None:
        if frame.opcode is not Opcode.CLOSE:
            super().recv_frame(frame)
            return
        if self.current_size is not None:
            raise ProtocolError("incomplete fragmented message")
        self.close_rcvd = FramedClose.parse(frame.data)
        self.parser = self._ignore()
        next(self.parser)
        self.events.append(frame)

    def fail(self, code: int, reason: str = "") -> None:
        error = sys.exc_info()[1]
        if isinstance(error, PayloadTooBig):
            reason = _too_large(error)
        super().fail(code, reason)

    def _ignore(self) -> Generator[None]:
        while True:
            self.reader.discard()
            yield


def _too_large(error: PayloadTooBig) -> str:
    before = error.current_size or 0
    return f"Message is too large: {before + (error.size or 0)} > {error.max_size}"


class WebSocketWire(asyncio.Protocol):
    """One connection, from the moment that its framing is open.

    Reading stops while messages wait to be received, and while the other side does not take what answers its pings.
    """

    half_open: ClassVar[bool] = True

    def __init__(self, framing: Protocol) -> None:
        self._framing = framing
        self._received: deque[Item] = deque()
        self._size = 0
        self._ended = False
        self._heard = False
        self._parts: list[bytes] = []
        self._text = False
        self._arrived: asyncio.Future[None] | None = None
        self._writable: asyncio.Future[None] | None = None
        self._reading = True
        self._close_timer: asyncio.TimerHandle | None = None
        self._gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport

    def data_received(self, data: bytes) -> None:
        self._framing.receive_data(data)
        for event in self._framing.events_received():
            self._take_event(event)
        failure = self._framing.parser_exc
        if failure is not None:
            self._heard = True
        if failure is not None and not self._ended:
            what = _too_large(failure) if isinstance(failure, PayloadTooBig) else str(failure)
            self._end_with(Error._make(what))
            # What the other side is still sending has to be read, else it never sees the close frame.
            self._drop_when_silent(asyncio.get_running_loop().time() + _CLOSE_SECONDS)
        self._flush()
        self._pause_or_resume()

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, _error: Exception | None) -> None:
        self._end_with(ConnectionLost())
        if self._close_timer is not None:
            self._close_timer.cancel()
        if not self._gone.done():
            self._gone.set_result(None)
        self.resume_writing()

    def pause_writing(self) -> None:
        self._writable = asyncio.get_running_loop().create_future()
        self._pause_or_resume()

    def resume_writing(self) -> None:
        writable, self._writable = self._writable, None
        if writable is not None and not writable.done():
            writable.set_result(None)
        self._pause_or_resume()

    # What users of the connection call.

    async def send(self, message: Message) -> None:
        """Send one message; waits while the other side is slow. Raises ConnectionLost on a closed connection."""
        await self._until_writable()
        if self._gone.done() or self.transport.is_closing():
            raise ConnectionLost
        try:
            if isinstance(message, str):
                self._framing.send_text(encode_text(message))
            else:
                self._framing.send_binary(message)
        except InvalidState:
            raise ConnectionLost from None
        self._flush()

    async def close(self, close: Close) -> None:
        """Send a close frame; cut the connection when it is not answered within ten seconds."""
        self._begin_closing(close, _CLOSE_SECONDS)

    async def receive(self) -> Message | Close:
        """The next message, or the close frame. Raises ConnectionLost, or Error for what broke the protocol."""
        while not self._received:
            if self._arrived is None or self._arrived.done():
                self._arrived = asyncio.get_running_loop().create_future()
            await self._arrived
        item = self._received[0]
        if isinstance(item, BaseException):
            raise item
        if not isinstance(item, Close):
            self._received.popleft()
            self._size -= len(item)
            self._pause_or_resume()
        return item

    async def gone(self) -> None:
        """Wait until there is no connection any more."""
        await asyncio.shield(self._gone)

    def abort(self) -> None:
        """Cut the connection at once; one that is being closed gets its time."""
        if self._close_timer is None and not self.transport.is_closing():
            self.transport.abort()

    def _begin_closing(self, close: Close, seconds: float) -> None:
        framing = self._framing
        if framing.state is not State.OPEN or self.transport.is_closing():
            return
        # By hand, because the package knows fewer codes than the platform lets through.
        framing.send_frame(Frame(Opcode.CLOSE, _serialised(close)))
        framing.close_sent = FramedClose(close.code, close.reason)
        framing.state = State.CLOSING
        self._flush()
        if framing.close_rcvd is not None:
            self.transport.close()
        else:
            self._linger(seconds)

    def _linger(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._close_timer = loop.call_later(seconds, self.transport.abort)

    def _drop_when_silent(self, at_last: float) -> None:
        loop = asyncio.get_running_loop()
        if not self._heard or loop.time() >= at_last:
            self.transport.abort()
            return
        self._heard = False
        self._close_timer = loop.call_later(_DROP_SECONDS, self._drop_when_silent, at_last)

    def _take_event(self, event: Any) -> None:
        match event.opcode:
            case Opcode.TEXT | Opcode.BINARY:
                self._text = event.opcode is Opcode.TEXT
                if event.fin and not self._parts:
                    self._take_message(event.data)
                else:
                    self._parts = [event.data]
            case Opcode.CONT:
                self._parts.append(event.data)
                if event.fin:
                    parts, self._parts = self._parts, []
                    self._take_message(b"".join(parts))
            case Opcode.CLOSE:
                close = self._framing.close_rcvd
                assert close is not None
                self._end_with(Close(int(close.code), close.reason))
                if self._framing.state is State.CLOSING:
                    self.transport.close()

    def _take_message(self, data: bytes | bytearray) -> None:
        if self._ended:
            return
        if not self._text:
            self._put(bytes(data))
            return
        try:
            self._put(data.decode())
        except UnicodeDecodeError as error:
            self._framing.fail(1007, f"{error.reason} at position {error.start}")
            self._framing.parser_exc = error

    def _end_with(self, item: Item) -> None:
        if not self._ended:
            self._ended = True
            self._put(item)

    def _put(self, item: Item) -> None:
        self._received.append(item)
        if isinstance(item, str | bytes):
            self._size += len(item)
        if self._arrived is not None and not self._arrived.done():
            self._arrived.set_result(None)

    def _flush(self) -> None:
        data = b"".join(self._framing.data_to_send())
        if data and not self.transport.is_closing():
            self.transport.write(data)

    def _pause_or_resume(self) -> None:
        full = len(self._received) >= _HIGH_MESSAGES or self._size >= _HIGH_SIZE
        reading = (self._ended or not full) and self._writable is None
        if reading is self._reading or self.transport.is_closing():
            return
        self._reading = reading
        if reading:
            self.transport.resume_reading()
        else:
            self.transport.pause_reading()

    async def _until_writable(self) -> None:
        while self._writable is not None:
            await asyncio.shield(self._writable)


def _serialised(close: Close) -> bytes:
    if close.code == NO_STATUS:
        return b""
    reason = encode_text(close.reason)
    if len(reason) > _LONGEST_REASON:
        # Lets a worker of an early compatibility date say more than a frame holds.
        reason = reason[:_LONGEST_REASON].decode(errors="ignore").encode()
    return struct.pack("!H", close.code) + reason
