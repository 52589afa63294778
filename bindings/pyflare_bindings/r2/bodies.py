"""The content of an object as it is read: from its row, or from one or more blobs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NamedTuple, Protocol, TypeAlias

from ..storage.blobs import BlobChunks, BlobReader
from ..storage.errors import StateError


class Body(Protocol):
    """Bytes that can be read once, as a whole or in chunks."""

    @property
    def size(self) -> int:
        """The number of bytes."""
        ...

    @property
    def content(self) -> bytes | memoryview | None:
        """The bytes where they are in memory already."""
        ...

    async def read(self) -> bytes | memoryview:
        """All bytes. Raises StateError when a file cannot be read."""
        ...

    def chunks(self) -> AsyncIterator[bytes | memoryview]:
        """The bytes in order. Raises StateError when a file cannot be read."""
        ...

    def close(self) -> None:
        """Let go of the files; what is being read goes on."""
        ...


class BytesBody:
    """Content in memory."""

    __slots__ = ("content",)

    def __init__(self, content: bytes | memoryview) -> None:
        self.content = content

    @property
    def size(self) -> int:
        return len(self.content)

    async def read(self) -> bytes | memoryview:
        return self.content

    async def chunks(self) -> AsyncIterator[bytes | memoryview]:
        if self.content:
            yield self.content

    def close(self) -> None:
        return


class Piece(NamedTuple):
    """The bytes of one blob that belong to what is read."""

    reader: BlobReader
    offset: int
    length: int


Pieces: TypeAlias = list[Piece]


class BlobBody:
    """Content in blobs, one after the other; one of them is open at a time."""

    __slots__ = ("_pieces", "size")

    content = None

    def __init__(self, pieces: list[Piece]) -> None:
        self._pieces = pieces
        self.size = sum(piece.length for piece in pieces)

    async def read(self) -> bytes:
        pieces, self._pieces = self._pieces, []
        try:
            if len(pieces) == 1:
                reader, offset, length = pieces[0]
                return await reader.read(offset, length)
            parts = [await reader.read(offset, length) for reader, offset, length in pieces]
            return b"".join(parts)
        finally:
            _let_go(pieces)

    def chunks(self) -> BlobStream:
        pieces, self._pieces = self._pieces, []
        return BlobStream(pieces)

    def close(self) -> None:
        pieces, self._pieces = self._pieces, []
        _let_go(pieces)


class BlobStream(AsyncIterator[bytes]):
    """The chunks of several blobs. A blob that has been read is let go of; `aclose` ends it."""

    __slots__ = ("_current", "_rest")

    def __init__(self, pieces: list[Piece]) -> None:
        self._rest = pieces[::-1]
        self._current: BlobChunks | None = None

    async def __anext__(self) -> bytes:
        while True:
            if self._current is None:
                if not self._rest:
                    raise StopAsyncIteration
                self._begin_next()
            try:
                return await anext(self._current)  # type: ignore[arg-type]
            except StopAsyncIteration:
                self._current = None
            except StateError:
                # Whoever asks again has what is left as long as there are the files.
                _let_go(self._rest)
                raise

    async def aclose(self) -> None:
        """Let go of the files; a read that is under way ends by itself."""
        current, self._current = self._current, None
        if current is not None:
            current.close()
        rest, self._rest = self._rest, []
        _let_go(rest)

    def _begin_next(self) -> None:
        reader, offset, length = self._rest.pop()
        self._current = reader.chunks(offset, length)
        reader.close()


def _let_go(pieces: list[Piece]) -> None:
    # Not left to the last reference: a traceback may keep one for long.
    for piece in pieces:
        piece.reader.close()
