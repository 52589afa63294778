"""What a look-up answers: a stored response, a part of it, or that the asker has it already."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Sequence
from typing import Final, NamedTuple

from ..storage.blobs import BlobReader
from .conditions import has_not_changed, is_not_modified
from .entries import StoredResponse
from .ranges import ByteRange, parse_range

__all__ = ["Answer", "Conditions", "answer"]

Pairs = list[tuple[bytes, bytes]]

_HIT: Final = (b"cf-cache-status", b"HIT")
_NO_BODY: Final = frozenset({101, 204, 205, 304})


class Conditions(NamedTuple):
    """The headers of a request that change what a look-up answers."""

    range: str | None = None
    if_none_match: str | None = None
    if_modified_since: str | None = None
    if_range: str | None = None


class Answer(NamedTuple):
    """A response: header pairs with lower-case names, and a body of `length` bytes.

    The body is None where the status has none. As a stream it raises StateError when its file is
    damaged or cannot be read. `encoded` is whether it is what `Content-Encoding` makes of it, or a
    part of that.
    """

    status: int
    headers: Pairs
    body: bytes | AsyncIterator[bytes] | None
    length: int
    encoded: bool = False


def answer(
    stored: StoredResponse, body: bytes | BlobReader, conditions: Conditions | None, now: float
) -> Answer:
    """Answer a look-up that found `stored`, whose `body` was read or opened; `now` is in seconds."""
    headers = stored.pairs(now)
    if conditions is not None:
        special = _conditional(stored, headers, body, conditions)
        if special is not None:
            return special
    headers.append(_HIT)
    if stored.status in _NO_BODY:
        return Answer(stored.status, headers, None, 0)
    whole = body if isinstance(body, bytes) else body.chunks()
    return Answer(stored.status, headers, whole, stored.size, stored.encoded)


def _conditional(
    stored: StoredResponse, headers: Pairs, body: bytes | BlobReader, conditions: Conditions
) -> Answer | None:
    # As production does: without a Content-Length there are no ranges.
    ranged = (
        conditions.range is not None
        and "content-length" in stored.headers
        and has_not_changed(stored.headers, conditions.if_range)
    )
    ranges: Sequence[ByteRange] = ()
    if ranged:
        found = parse_range(conditions.range or "", stored.size)
        if found is None:
            unsatisfied = (b"content-range", b"bytes */%d" % stored.size)
            return Answer(416, [unsatisfied, _HIT], b"", 0)
        ranges = found
    if is_not_modified(stored.headers, conditions.if_none_match, conditions.if_modified_since):
        return Answer(304, [*_without(headers, b"content-length"), _HIT], None, 0)
    if len(ranges) == 1:
        return _part(stored, headers, body, ranges[0])
    return _parts(stored, headers, body, ranges) if ranges else None


def _without(headers: Pairs, *names: bytes) -> Pairs:
    return [pair for pair in headers if pair[0] not in names]


def _part(
    stored: StoredResponse, headers: Pairs, body: bytes | BlobReader, part: ByteRange
) -> Answer:
    headers = [
        *_without(headers, b"content-length"),
        (b"content-range", _content_range(part, stored.size)),
        (b"content-length", b"%d" % part.size),
        _HIT,
    ]
    if isinstance(body, bytes):
        return Answer(
            206, headers, body[part.first : part.last + 1], part.size, encoded=stored.encoded
        )
    chunks = body.chunks(part.first, part.size)
    return Answer(206, headers, chunks, part.size, encoded=stored.encoded)


def _parts(
    stored: StoredResponse,
    headers: Pairs,
    body: bytes | BlobReader,
    ranges: Sequence[ByteRange],
) -> Answer:
    boundary = f"pyflare-boundary-{secrets.token_hex(16)}".encode()
    content_type = stored.headers.get("content-type", "application/octet-stream").encode()
    heads = [
        b"--%s\r\nContent-Type: %s\r\nContent-Range: %s\r\n\r\n"
        % (boundary, content_type, _content_range(part, stored.size))
        for part in ranges
    ]
    end = b"--%s--" % boundary
    length = sum(map(len, heads)) + sum(part.size + 2 for part in ranges) + len(end)
    headers = [
        *_without(headers, b"content-length", b"content-type"),
        (b"content-type", b"multipart/byteranges; boundary=%s" % boundary),
        (b"content-length", b"%d" % length),
        _HIT,
    ]
    parts = _stream_of_parts(body, ranges, heads, end)
    return Answer(206, headers, parts, length, encoded=stored.encoded)


async def _stream_of_parts(
    body: bytes | BlobReader, ranges: Sequence[ByteRange], heads: list[bytes], end: bytes
) -> AsyncIterator[bytes]:
    for head, part in zip(heads, ranges, strict=True):
        yield head
        if isinstance(body, bytes):
            yield body[part.first : part.last + 1]
        else:
            async for chunk in body.chunks(part.first, part.size):
                yield chunk
        yield b"\r\n"
    yield end


def _content_range(part: ByteRange, size: int) -> bytes:
    return b"bytes %d-%d/%d" % (part.first, part.last, size)
