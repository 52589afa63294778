"""The sizes and counts that R2 allows.

Source: https://developers.cloudflare.com/r2/platform/limits/
"""

from __future__ import annotations

from dataclasses import dataclass

from .errors import invalid_key, metadata_too_large, too_large

_MIB = 1024 * 1024
_GIB = 1024 * _MIB
_WIDE = 256


@dataclass(frozen=True, slots=True)
class Limits:
    """All in bytes unless the name says otherwise; production's values are the defaults.

    `page_keys` shortens the pages of `list`, as production does when it likes: callers must go by
    `truncated`. `page_metadata` bounds the metadata of one page.
    """

    key: int = 1024
    # Production allows four times as much as the local tools.
    custom_metadata: int = 8192
    upload: int = 5 * _GIB - 5 * _MIB
    object: int = 5 * 1024 * _GIB - 5 * _GIB
    part: int = 5 * _MIB
    part_number: int = 10_000
    keys_in_delete: int = 1000
    page_keys: int = 1000
    page_metadata: int = 256 * 1024
    upload_seconds: float = 7 * 86_400
    # Content up to this size is kept in the row: one commit instead of a file of its own.
    in_row: int = 32 * 1024

    def check_key(self, key: bytes) -> None:
        """Raises R2Error (10020) for a key that is too long; `key` in UTF-8."""
        if len(key) > self.key:
            raise invalid_key()

    def check_metadata(self, custom: dict[str, str]) -> None:
        """Raises R2Error (10012) for custom metadata that is too large."""
        if custom and sum(_counted(name) + _counted(custom[name]) for name in custom) > (
            self.custom_metadata
        ):
            raise metadata_too_large()

    def check_upload(self, size: int | None) -> None:
        """Raises R2Error (100100) for a body that one upload cannot carry."""
        if size is not None and size > self.upload:
            raise too_large()


def _counted(text: str) -> int:
    """How metadata is counted: one byte per UTF-16 unit, two for all when one needs two."""
    if text.isascii():
        return len(text)
    units = len(text.encode("utf-16-le", "surrogatepass")) // 2
    return units * 2 if max(text) >= chr(_WIDE) else units
