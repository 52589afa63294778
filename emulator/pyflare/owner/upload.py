"""Streams on their way to an owner, which may have its answer before it has all of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from .frames import Connection, Gone
from .protocol import BODY, END, frame
from .turns import Turn

__all__ = ["Upload"]


class Upload:
    """Sends ``streams`` one after the other over ``connection``; ``turn`` is given up where one takes its time."""

    __slots__ = ("_connection", "_streams", "_turn", "is_whole")

    def __init__(
        self, connection: Connection, streams: Sequence[AsyncIterator[bytes]], turn: Turn
    ) -> None:
        self._connection = connection
        self._streams = streams
        self._turn = turn
        #: Whether everything has been sent, with its end. Half a body must not look like a whole one.
        self.is_whole = False

    async def answer(self) -> tuple[bytes, bytes]:
        """The first frame of the answer, as soon as it is there.

        What a stream raises is raised. A stream is not read further once there is an answer. Raises Gone and
        ProtocolError.
        """
        answer = asyncio.ensure_future(self._connection.receive())
        sending = asyncio.ensure_future(self._send())
        try:
            await asyncio.wait((answer, sending), return_when=asyncio.FIRST_COMPLETED)
            if not answer.done() and (failure := await sending) is not None:
                raise failure
            return await answer
        finally:
            answer.cancel()
            sending.cancel()
            await asyncio.gather(answer, sending, return_exceptions=True)

    async def _send(self) -> BaseException | None:
        """Out: what a stream has raised, also where that would end the loop if a task raised it."""
        try:
            for stream in self._streams:
                pieces = aiter(stream)
                while True:
                    with self._turn.waiting():
                        piece = await anext(pieces, None)
                    if piece is None:
                        break
                    await self._connection.send(frame(BODY, piece))
            self.is_whole = True
            await self._connection.send(frame(END))
        except asyncio.CancelledError:
            raise
        except Gone:
            # What an owner has said before it hung up is still there.
            return None
        except BaseException as error:
            return error
        return None
