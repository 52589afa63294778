"""A client's side of the private socket, without an event loop: what a data command needs, quickly imported."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from .address import connect
from .protocol import (
    BODY,
    END,
    ERROR,
    HEAD,
    JSON,
    ProtocolError,
    frame,
    identity,
    json_frame,
    parse_head,
    parse_json,
)

__all__ = ["OwnerLost", "OwnerRefused", "OwnerSilent", "RemoteAccess"]

_HELLO_SECONDS: Final = 10.0


class OwnerRefused(Exception):
    """The owner does not work for this process, or refuses a request; ``str()`` says why.

    ``statement`` is the place, from 0, of the SQL statement at fault where one is.
    """

    def __init__(self, text: str, statement: int | None = None) -> None:
        super().__init__(text)
        self.statement = statement


class OwnerSilent(Exception):
    """The owner takes the connection and does not say hello: its event loop stands still."""


class OwnerLost(Exception):
    """The owner ended while it was at work for this process."""

    def __init__(self) -> None:
        super().__init__(
            "The process that owns the state directory ended while it was at work on this. What had been answered is "
            "kept; this may or may not have been done. Look, and run it again where it is missing."
        )


class RemoteAccess:
    """Another process does the operations. Made by :meth:`connect`.

    Calls come one after the other; the body of an answer has to be read before the next call.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    @classmethod
    def connect(cls, root: Path, seconds: float = _HELLO_SECONDS) -> RemoteAccess | None:
        """Reach the owner of a state directory; None when there is nobody to reach now.

        Args: ``seconds`` for its answer. Raises :class:`OwnerRefused` when it speaks another protocol, and
        :class:`OwnerSilent`.
        """
        sock = connect(root, seconds)
        if sock is None:
            return None
        access = cls(sock)
        try:
            sock.sendall(json_frame({**identity(), "purpose": "operations"}))
            answer = parse_json(access._expect(JSON))
        except TimeoutError:
            sock.close()
            raise OwnerSilent from None
        except (OSError, OwnerLost):
            # It is about to end.
            sock.close()
            return None
        except ProtocolError as error:
            sock.close()
            raise OwnerRefused(f"The owner of {root} cannot be understood: {error}.") from error
        if "refused" in answer:
            sock.close()
            raise OwnerRefused(answer["refused"])
        sock.settimeout(None)
        return access

    def call(self, operation: str, /, body: Iterable[bytes] | None = None, **arguments: Any) -> Any:
        """Do an operation and give its value. Raises :class:`OwnerRefused` and :class:`OwnerLost`."""
        value, pieces = self.fetch(operation, body, **arguments)
        for _ in pieces:
            pass
        return value

    def fetch(
        self, operation: str, /, body: Iterable[bytes] | None = None, **arguments: Any
    ) -> tuple[Any, Iterator[bytes]]:
        """Do an operation and give its value and the pieces of its body. Raises as :meth:`call`."""
        request = {"operation": operation, "arguments": arguments, "body": body is not None}
        try:
            try:
                self._socket.sendall(json_frame(request))
                if body is not None:
                    for piece in body:
                        self._socket.sendall(frame(BODY, piece))
                    self._socket.sendall(frame(END))
            except BrokenPipeError:
                # It may have refused what it was being sent.
                pass
            value = parse_json(self._expect(JSON))["value"]
        except OSError as error:
            raise OwnerLost from error
        return value, self._pieces()

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def _pieces(self) -> Iterator[bytes]:
        while True:
            kind, payload = self._receive()
            if kind == END:
                return
            if kind == ERROR:
                raise _refused(payload)
            yield payload

    def _expect(self, wanted: bytes) -> bytes:
        kind, payload = self._receive()
        if kind == ERROR:
            raise _refused(payload)
        if kind != wanted:
            raise ProtocolError(f"a frame {kind!r} came instead of {wanted!r}")
        return payload

    def _receive(self) -> tuple[bytes, bytes]:
        kind, length = parse_head(self._exactly(HEAD.size))
        return kind, self._exactly(length) if length else b""

    def _exactly(self, length: int) -> bytes:
        received = bytearray(length)
        view = memoryview(received)
        got = 0
        while got < length:
            try:
                count = self._socket.recv_into(view[got:])
            except ConnectionError as error:
                raise OwnerLost from error
            if count == 0:
                raise OwnerLost
            got += count
        return bytes(received)


def _refused(payload: bytes) -> OwnerRefused:
    told = parse_json(payload)
    return OwnerRefused(told["text"], told["statement"])
