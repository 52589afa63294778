"""``WebSocket``: one end of a pair, a connection that a worker opened, or what a ``fetch`` with ``Upgrade`` gave.

Sources: https://developers.cloudflare.com/workers/runtime-apis/websockets/, https://websockets.spec.whatwg.org/ and
workerd ``api/web-socket.c++``.
"""

from __future__ import annotations

import asyncio
from contextvars import Context
from typing import Any, ClassVar, Final, Literal, TypeAlias

from . import semantics
from .array_buffer import ArrayBuffer, as_bytes
from .callbacks import FAILURES, CallbackScope, report
from .departure import output_gate
from .error import Error, TypeError_, python_error
from .events import CloseEvent, ErrorEvent, Event, EventTarget, MessageEvent
from .value import get_property
from .webidl import null, scalar_text, text, wrong_construction, wrong_type
from .websocket_channel import ChannelEnd, Close, ConnectionLost, Item, Message, WorkerFailed
from .websocket_close import close_frame
from .websocket_keeping import keep_going
from .websocket_outbox import Outbox

__all__ = ["NO_CLOSE_FRAME", "WebSocket"]

_State: TypeAlias = Literal["connecting", "waiting", "accepted", "hibernatable", "released"]

_MISSING: Final = object()
_NOT_ACCEPTED: Final = (
    "You must call one of accept() or state.acceptWebSocket() on this WebSocket before sending "
    "messages."
)
NO_CLOSE_FRAME: Final = "WebSocket disconnected without sending Close frame."
_NOT_ESTABLISHED: Final = "Failed to establish websocket connection"
#: How long messages are dispatched one after the other before everybody else gets a turn.
_BURST_SECONDS: Final = 0.002
#: Bytes of an attachment, serialised.
_LARGEST_ATTACHMENT: Final = 16384


class WebSocket(EventTarget, js_name="WebSocket"):
    """``WebSocket.new(url, protocols)``, or an end of ``WebSocketPair.new()``.

    Dispatches ``open``, ``message``, ``close`` and ``error``. Messages that arrive before ``accept()`` wait. Events
    come in the order of arrival; a listener may use ``run_sync``, and then the next message waits for it. A plain
    listener that raises ends the connection, as in production: ``error`` here, 1011 at the other side; what an async
    one raises is logged.
    """

    CONNECTING: ClassVar[int] = 0
    OPEN: ClassVar[int] = 1
    CLOSING: ClassVar[int] = 2
    CLOSED: ClassVar[int] = 3
    READY_STATE_CONNECTING: ClassVar[int] = 0
    READY_STATE_OPEN: ClassVar[int] = 1
    READY_STATE_CLOSING: ClassVar[int] = 2
    READY_STATE_CLOSED: ClassVar[int] = 3

    _end: ChannelEnd | None = None

    onopen: Any = None
    onmessage: Any = None
    onclose: Any = None
    onerror: Any = None

    def __init__(self, end: ChannelEnd | None, url: str | None = None) -> None:
        rules = semantics.current()
        self._end = end
        self._state: _State = "connecting" if end is None else "waiting"
        self._url = url
        self._protocol: str | None = ""
        self._extensions: str | None = ""
        self._binary_type = "blob" if rules.blob_messages else "arraybuffer"
        self._half_open = not rules.close_is_answered
        self._closed_here = False
        self._closed_there = False
        self._error: BaseException | None = None
        self._scope: CallbackScope | None = None
        self._dispatching: asyncio.Task[None] | None = None
        self._opening: asyncio.Task[Any] | None = None
        self._attachment: bytes | None = None
        self._outbox: Outbox | None = None
        self._given: ChannelEnd | None = None
        #: What whoever keeps it for a Durable Object knows of it.
        self.record: Any = None

    @classmethod
    def _construct(cls, url: Any = _MISSING, protocols: Any = None, *_: Any) -> Any:
        """Raises: TypeError without an address, SyntaxError for one or for a subprotocol that cannot be used."""
        if url is _MISSING:
            raise wrong_construction("WebSocket", 1, "string")
        from .websocket_client import connect, connection_request

        address = scalar_text(url)
        request = connection_request(address, protocols)
        socket: WebSocket = cls._make(None, address)
        socket._scope = scope = CallbackScope()
        socket._opening = scope.spawn(connect(request))
        keep_going(scope.spawn(socket._open(socket._opening)))
        return socket

    @classmethod
    def over(cls, end: ChannelEnd) -> WebSocket:
        """A socket that has to be accepted, over this end of a channel."""
        return cls._make(end)  # type: ignore[no-any-return]

    @property
    def readyState(self) -> int:
        if (self._closed_there and self._closed_here) or self._error is not None:
            return self.CLOSED
        if self._closed_there or self._closed_here:
            return self.CLOSING
        return self.CONNECTING if self._state == "connecting" else self.OPEN

    @property
    def url(self) -> Any:
        return null() if self._url is None else self._url

    @property
    def protocol(self) -> Any:
        """The subprotocol; null after a connection without one, empty for a pair."""
        return null() if self._protocol is None else self._protocol

    @property
    def extensions(self) -> Any:
        return null() if self._extensions is None else self._extensions

    @property
    def binaryType(self) -> str:
        """What binary messages arrive as: ``arraybuffer`` or ``blob``. Other values are ignored."""
        return self._binary_type

    @binaryType.setter
    def binaryType(self, value: Any) -> None:
        if value in ("blob", "arraybuffer"):
            self._binary_type = value

    def accept(self, options: Any = None, **members: Any) -> None:
        """Begin to receive. Options: ``allowHalfOpen``, whether to leave the answer to a close frame to the worker.

        Raises: TypeError for a socket that was made by its constructor or given away in a response, and for options
        that are no object.
        """
        match self._state:
            case "connecting":
                raise TypeError_(
                    "Websockets obtained from the 'new WebSocket()' constructor cannot call accept"
                )
            case "released":
                raise TypeError_("Can't accept() WebSocket that was already used in a response.")
            case "hibernatable":
                raise TypeError_("Can't accept() WebSocket after enabling hibernation.")
            case "accepted":
                return
        if isinstance(options, str | int | float):
            raise wrong_type("accept", "WebSocket", 1, "AcceptOptions")
        half_open = get_property(members if options is None else options, "allowHalfOpen")
        if half_open is not None:
            self._half_open = bool(half_open)
        self._scope = CallbackScope()
        self._listen()

    def send(self, message: Any = _MISSING, *_: Any) -> None:
        """Send text, or the bytes of a buffer; they are copied. Ignored when the other side is gone.

        Raises: TypeError before ``accept()``, after ``close()`` and without a message, Error when far too much waits to
        be read.
        """
        if message is _MISSING:
            raise wrong_type("send", "WebSocket", 1, "ArrayBuffer or ArrayBufferView or string")
        if self._closed_here:
            raise TypeError_("Can't call WebSocket send() after close().")
        end = self._end
        if self._state == "released" or (end is not None and end.cut):
            return
        if end is None or self._state not in ("accepted", "hibernatable"):
            raise TypeError_(_NOT_ACCEPTED)
        if isinstance(message, str):
            self._give(scalar_text(message))
            return
        data = as_bytes(message)
        self._give(scalar_text(text(message)) if data is None else bytes(data))

    def close(self, code: Any = None, reason: Any = None, *_: Any) -> None:
        """Send a close frame, without a status when there is no code. Ignored when that was done before.

        Raises: InvalidAccessError for a code that cannot be sent and for a reason without one, SyntaxError for a reason
        of more than 123 bytes, TypeError before ``accept()``.
        """
        close = close_frame(code, reason)
        if self._state == "connecting":
            self._state = "released"
            if self._opening is not None:
                self._opening.cancel()
            return
        end = self._end
        if self._closed_here or self._state == "released" or (end is not None and end.cut):
            return
        if end is None or self._state not in ("accepted", "hibernatable"):
            raise TypeError_(_NOT_ACCEPTED)
        self._give(close)
        self._closed_here = True
        self._release_if_over()

    def serializeAttachment(self, value: Any = _MISSING) -> None:
        """Keep a copy of a value with the connection; it outlives the hibernation of a Durable Object.

        Raises: TypeError without a value, DataCloneError for what cannot be copied, Error for more than 16 KiB.
        """
        if value is _MISSING:
            raise wrong_type("serializeAttachment", "WebSocket", 1, "Value")
        from .v8_format import serialize

        data = serialize(value)
        if len(data) > _LARGEST_ATTACHMENT:
            raise Error(
                f"A WebSocket 'attachment' cannot be larger than {_LARGEST_ATTACHMENT} bytes."
                f"'attachment' was {len(data)} bytes."
            )
        self._attachment = data

    def deserializeAttachment(self) -> Any:
        """A fresh copy of the kept value, null without one."""
        if self._attachment is None:
            return null()
        from .v8_format import deserialize

        return deserialize(self._attachment)

    def give_away(self) -> ChannelEnd:
        """For whoever carries a response: the channel behind this socket, which is used up by that.

        Raises: TypeError for a socket that cannot be in a response.
        """
        match self._state:
            case "connecting":
                raise TypeError_(
                    "Can't return WebSocket in a Response if it was created with `new WebSocket()`"
                )
            case "released":
                raise TypeError_("Can't return WebSocket that was already used in a response.")
            case "accepted":
                raise TypeError_("Can't return WebSocket in a Response after calling accept().")
            case "hibernatable":
                raise TypeError_(
                    "Can't return WebSocket in a Response after calling acceptWebSocket()."
                )
        self._given, self._end = self._end, None
        assert self._given is not None
        self._given.free = False
        self._state = "released"
        return self._given

    def __del__(self) -> None:
        # Nobody will take the connection any more; a Durable Object at the other end must learn of that.
        end = self._end
        if end is None or self._state != "waiting" or not end.peer_hibernates:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        loop.call_soon(end.leave, context=Context())

    def _give(self, item: Message | Close | None) -> None:
        hold = output_gate.get()
        pending = None if hold is None else hold()
        outbox = self._outbox
        if outbox is None:
            assert self._end is not None
            outbox = self._outbox = Outbox(self._end)
        outbox.put(item, pending)

    def _listen(self) -> None:
        assert self._end is not None
        self._state = "accepted"
        self._end.free = False
        self._end.on_arrival = self._arrived
        if self._end.waiting:
            self._arrived()

    def _arrived(self) -> None:
        # A task only while there is something to dispatch: an idle socket costs none, and may simply be forgotten.
        if self._dispatching is None and self._scope is not None:
            self._dispatching = self._scope.spawn(self._dispatch_waiting())

    async def _dispatch_waiting(self) -> None:
        end = self._end
        assert end is not None
        now = asyncio.get_running_loop().time
        until = now() + _BURST_SECONDS
        try:
            while (item := end.take()) is not None:
                try:
                    self._dispatch_item(item)
                except FAILURES as error:
                    report(error)
                    self._fail(error)
                if now() > until and end.waiting:
                    await asyncio.sleep(0)
                    until = now() + _BURST_SECONDS
        except asyncio.CancelledError:
            # The worker has been stopped; nobody will dispatch what still comes.
            end.leave()
            raise
        finally:
            self._dispatching = None

    def _dispatch_item(self, item: Item) -> None:
        match item:
            case str():
                self.dispatchEvent(_message(item))
            case bytes():
                self.dispatchEvent(_message(self._binary(item)))
            case Close():
                self._closed_there = True
                if not self._half_open and not self._closed_here and self._end is not None:
                    self._closed_here = True
                    self._give(item)
                self.dispatchEvent(_closed(item.code, item.reason, clean=True))
                self._release_if_over()
            case ConnectionLost():
                self._closed_there = True
                self.dispatchEvent(_closed(1006, NO_CLOSE_FRAME, clean=False))
                self._state = "released"
            case failure:
                self._fail(failure)
                self.dispatchEvent(_closed(1006, "", clean=False))

    def _binary(self, data: bytes) -> Any:
        if self._binary_type == "arraybuffer":
            return ArrayBuffer.adopt(data)
        from .blob import Blob

        return Blob.of(data, "")

    def _fail(self, error: BaseException) -> None:
        """The connection cannot go on: tell the worker, once, and the other side."""
        self._closed_there = True
        if self._error is not None:
            return
        self._error = error
        if self._end is not None:
            self._end.leave(WorkerFailed())
        thrown = python_error(error)
        event = ErrorEvent._make(
            "error", {"message": f"Uncaught {thrown}", "error": thrown}, trusted=True
        )
        try:
            self.dispatchEvent(event)
        except FAILURES as raised:
            report(raised)
        self._state = "released"

    def _release_if_over(self) -> None:
        if self._closed_here and self._closed_there:
            self._state = "released"

    def _guard(self, listener: Any) -> None:
        # Production's sockets do not shield themselves from what a listener raises.
        listener()

    async def _open(self, opening: asyncio.Task[Any]) -> None:
        failure: BaseException
        try:
            response = await opening
        except asyncio.CancelledError:
            if self._state != "released":
                opening.cancel()
                raise
            failure = Error._make("Called close before connection was established.")
        except Exception as error:
            failure = error
        else:
            self._protocol = response.headers.lookup("sec-websocket-protocol")
            self._extensions = response.headers.lookup("sec-websocket-extensions")
            self._end = response._web_socket.give_away()
            self._listen()
            self._dispatch_guarded(Event._make("open", trusted=True))
            return
        self._fail(failure)
        self._dispatch_guarded(_closed(1006, _NOT_ESTABLISHED, clean=False))

    def _dispatch_guarded(self, event: Event) -> None:
        try:
            self.dispatchEvent(event)
        except FAILURES as error:
            report(error)
            self._fail(error)


def _message(data: Any) -> Event:
    return MessageEvent._make("message", {"data": data}, trusted=True)  # type: ignore[no-any-return]


def _closed(code: int, reason: str, *, clean: bool) -> Event:
    event: CloseEvent = CloseEvent._make("close", trusted=True)
    event.code, event.reason, event.wasClean = code, reason, clean
    return event
