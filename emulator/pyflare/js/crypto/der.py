"""The little of ASN.1 that the key formats need here.

Source: https://www.itu.int/rec/T-REC-X.690, sections 8.1 and 10.1.
"""

from __future__ import annotations

__all__ = ["holds_sequence", "trailing_bytes"]


def _header(data: bytes) -> tuple[int, int] | None:
    """The sizes of the first value's header and content, None when there is no whole header."""
    if len(data) < 2:
        return None
    first = data[1]
    if first < 0x80:
        return 2, first
    count = first & 0x7F
    if not 0 < count <= 8 or len(data) < 2 + count:
        return None
    return 2 + count, int.from_bytes(data[2 : 2 + count], "big")


def trailing_bytes(data: bytes) -> int:
    """How many bytes follow the first value; 0 when that is cut short."""
    header = _header(data)
    return 0 if header is None else max(0, len(data) - sum(header))


def holds_sequence(data: bytes) -> bool:
    """Whether the data is a sequence that begins with a sequence, as a SubjectPublicKeyInfo does."""
    header = _header(data)
    return header is not None and data[0] == 0x30 and data[header[0] : header[0] + 1] == b"\x30"
