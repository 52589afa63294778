"""CRC checksums, which ``DigestStream`` knows beside the digests.

Source: https://reveng.sourceforge.io/crc-catalogue/all.htm (CRC-32/ISO-HDLC, CRC-32/ISCSI, CRC-64/NVME).
"""

from __future__ import annotations

import zlib
from functools import cache
from typing import Final

__all__ = ["Crc", "crc_of"]

#: The polynomials with their bits reversed, and the size in bits.
_CASTAGNOLI: Final = (0x82F63B78, 32)
_NVME: Final = (0x9A6C9329AC4BC9B5, 64)


@cache
def _tables(polynomial: int) -> list[list[int]]:
    """Tables for eight bytes at a time: what each byte does to the checksum from 0 to 7 bytes before the end."""
    first = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ polynomial if value & 1 else value >> 1
        first.append(value)
    tables = [first]
    for _ in range(7):
        tables.append([value >> 8 ^ first[value & 0xFF] for value in tables[-1]])
    return tables


class Crc:
    """A checksum under way: ``update(data)``, ``digest()`` in big-endian bytes."""

    __slots__ = ("_all_ones", "_bits", "_polynomial", "_state")

    def __init__(self, polynomial: int, bits: int) -> None:
        self._polynomial = polynomial
        self._bits = bits
        self._all_ones = self._state = (1 << bits) - 1

    def update(self, data: bytes | memoryview) -> None:
        t0, t1, t2, t3, t4, t5, t6, t7 = _tables(self._polynomial)
        state = self._state
        whole = len(data) & ~7
        for place in range(0, whole, 8):
            mixed = state ^ int.from_bytes(data[place : place + 8], "little")
            state = (
                t7[mixed & 0xFF]
                ^ t6[mixed >> 8 & 0xFF]
                ^ t5[mixed >> 16 & 0xFF]
                ^ t4[mixed >> 24 & 0xFF]
                ^ t3[mixed >> 32 & 0xFF]
                ^ t2[mixed >> 40 & 0xFF]
                ^ t1[mixed >> 48 & 0xFF]
                ^ t0[mixed >> 56]
            )
        for byte in data[whole:]:
            state = state >> 8 ^ t0[(state ^ byte) & 0xFF]
        self._state = state

    def milliseconds(self, size: int) -> float:
        """About how long so many bytes take."""
        return size / 9_000

    def digest(self) -> bytes:
        return (self._state ^ self._all_ones).to_bytes(self._bits // 8, "big")


class _Crc32(Crc):
    """The checksum of zlib, at its speed."""

    __slots__ = ()

    def __init__(self) -> None:
        self._state = 0

    def update(self, data: bytes | memoryview) -> None:
        self._state = zlib.crc32(data, self._state)

    def milliseconds(self, size: int) -> float:
        return size / 1_000_000

    def digest(self) -> bytes:
        return self._state.to_bytes(4, "big")


def crc_of(name: str) -> Crc | None:
    """A new checksum of one of the names ``crc32``, ``crc32c``, ``crc64nvme``; None for others."""
    match name:
        case "crc32":
            return _Crc32()
        case "crc32c":
            return Crc(*_CASTAGNOLI)
        case "crc64nvme":
            return Crc(*_NVME)
    return None
