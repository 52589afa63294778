"""Streams that a worker gives to a binding as a value.

Source: workerd ``src/workerd/api/streams/readable.c++`` (``pumpTo``) and ``internal.c++`` (``removeSource``)
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from pyflare.js.error import Error, JsException, TypeError_
from pyflare.js.readable import ReadableStream
from pyflare.js.readable_controller import SourceController
from pyflare.js.rendezvous import ByteRendezvous

__all__ = ["LOCKED", "cancel_unread", "check_unread"]

#: What a binding says of a stream that somebody else reads.
LOCKED: Final = "The ReadableStream has been locked to a reader."


def check_unread(stream: ReadableStream) -> None:
    """Raise TypeError for a stream that is locked, and for a body of the runtime that was read or cancelled.

    What is left of a stream that JavaScript code feeds may be used, as the platform does.
    """
    if stream.locked:
        raise TypeError_(LOCKED)
    if stream.disturbed and isinstance(stream._controller, SourceController | ByteRendezvous):
        raise TypeError_("This ReadableStream is disturbed.")


async def cancel_unread(value: Any, message: str) -> None:
    """Cancel a stream that will not be read after all, so that whoever writes into it does not wait for ever."""
    if isinstance(value, ReadableStream) and not value.locked:
        with suppress(JsException):
            await value.cancel(Error(message))
