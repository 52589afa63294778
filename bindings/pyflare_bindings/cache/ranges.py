"""`Range` headers, as the cache reads them.

Source: `packages/miniflare/src/workers/shared/range.ts` of workers-sdk
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

__all__ = ["ByteRange", "parse_range"]

_HEADER: Final = re.compile(r"\s*bytes\s*=(.*)", re.ASCII | re.IGNORECASE | re.DOTALL)
_ITEM: Final = re.compile(r"\s*(\d{0,30})\s*-\s*(\d{0,30})\s*", re.ASCII)


class ByteRange(NamedTuple):
    """The bytes from `first` to `last`, both inclusive."""

    first: int
    last: int

    @property
    def size(self) -> int:
        return self.last - self.first + 1


def parse_range(header: str, size: int) -> Sequence[ByteRange] | None:
    """The parts of a body of `size` bytes that a header asks for.

    Out: no part stands for the whole body, and None for a header that cannot be satisfied.
    """
    found = _HEADER.fullmatch(header)
    if found is None:
        return None
    listed = found.group(1)
    ranges: list[ByteRange] = []
    if not listed.strip():
        return ranges
    for item in listed.split(","):
        parts = _ITEM.fullmatch(item)
        if parts is None:
            return None
        first, last = parts.groups()
        if first:
            start = int(first)
            end = min(int(last), size - 1) if last else size - 1
            if start > end or (last and start > int(last)):
                return None
            ranges.append(ByteRange(start, end))
        elif last:
            length = int(last)
            if length >= size:
                return []
            if length:
                ranges.append(ByteRange(size - length, size - 1))
        else:
            return None
    return ranges
