"""Which bytes of an object a read asks for.

Source: https://developers.cloudflare.com/r2/api/workers/workers-api-reference/#ranged-reads
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .errors import invalid_range
from .values import ByteRange

_HEADER = re.compile(r"\s*bytes\s*=\s*(\d*)\s*-\s*(\d*)\s*", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class WantedRange:
    """`offset` and `length`, either of which may be left out, or the last `suffix` bytes."""

    offset: int | None = None
    length: int | None = None
    suffix: int | None = None


def resolve_range(wanted: WantedRange | None, size: int) -> ByteRange:
    """The bytes within an object of `size` bytes. Raises R2Error (10039) when there are none."""
    if wanted is None:
        return ByteRange(0, size)
    offset, length, suffix = wanted.offset, wanted.length, wanted.suffix
    if offset is None and length is None and suffix is None:
        return ByteRange(0, size)
    if suffix is not None:
        start = max(size - suffix, 0)
        found = size - start
    else:
        start = offset or 0
        found = size - start if length is None else min(length, size - start)
    if found <= 0:
        raise invalid_range()
    return ByteRange(start, found)


def resolve_range_header(header: str | None, size: int) -> ByteRange:
    """The bytes that a `Range` header asks for.

    One range is honoured, cut off at the object's end. What is malformed, inverted or several is
    the whole object, as the platform has it. Raises R2Error (10039) when the range begins behind
    the object's end.
    """
    whole = ByteRange(0, size)
    match = None if header is None else _HEADER.fullmatch(header)
    if match is None or size == 0:
        return whole
    first, last = match.groups()
    if not first:
        suffix = _number(last or "0")
        return ByteRange(size - suffix, suffix) if 0 < suffix < size else whole
    start = _number(first)
    if last and _number(last) < start:
        return whole
    if start >= size:
        # The local tools give the whole object here; production refuses.
        raise invalid_range()
    end = min(_number(last) + 1, size) if last else size
    return ByteRange(start, end - start)


def _number(digits: str) -> int:
    # A client may send any number of digits; beyond these no object has a byte.
    return int(digits) if len(digits) <= 18 else 10**18
