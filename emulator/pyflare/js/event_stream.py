"""Reads the event stream format: lines that end in LF, CR or CRLF, wherever the bytes are cut.

Source: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from .body import BODY_LIMIT
from .error import TypeError_

__all__ = ["EventStreamParser", "Message"]

_LINE_END: Final = re.compile(rb"\r\n|\n|\r")
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Message:
    """``event`` is the type, ``last_event_id`` the id that held when the message was complete."""

    event: str
    data: str
    last_event_id: str


@dataclass(slots=True)
class EventStreamParser:
    """``feed`` bytes; gives the messages that are complete. What the stream ends in the middle of is dropped.

    ``last_event_id`` and ``retry`` (milliseconds, None while the server said nothing) follow the stream.
    """

    last_event_id: str = ""
    retry: int | None = None
    _rest: bytes = b""
    _began: bool = False
    _data: list[str] = field(default_factory=list)
    _size: int = 0
    _event: str = ""

    def feed(self, data: bytes) -> list[Message]:
        """Raises: TypeError when an unfinished message passes 128 MiB."""
        buffer = self._rest + data
        if not self._began:
            if len(buffer) < len(_BOM) and _BOM.startswith(buffer):
                self._rest = buffer
                return []
            self._began = True
            buffer = buffer.removeprefix(_BOM)
        messages: list[Message] = []
        position = 0
        for end in _LINE_END.finditer(buffer):
            if end.group() == b"\r" and end.end() == len(buffer):
                # The other half of a CRLF may be on its way.
                break
            self._line(buffer[position : end.start()], messages)
            position = end.end()
        self._rest = buffer[position:]
        if len(self._rest) + self._size > BODY_LIMIT:
            raise TypeError_("Memory limit exceeded before EOF.")
        return messages

    def _line(self, line: bytes, messages: list[Message]) -> None:
        if not line:
            self._dispatch(messages)
            return
        name, _, raw = line.partition(b":")
        value = raw.removeprefix(b" ").decode("utf-8", "replace")
        match name:
            case b"data":
                self._data.append(value)
                self._size += len(value)
            case b"event":
                self._event = value
            case b"id":
                if "\0" not in value:
                    self.last_event_id = value
            case b"retry":
                if value.isascii() and value.isdigit():
                    self.retry = int(value)

    def _dispatch(self, messages: list[Message]) -> None:
        data = "\n".join(self._data)
        if data:
            messages.append(Message(self._event or "message", data, self.last_event_id))
        self._data.clear()
        self._size = 0
        self._event = ""
