"""KV's limits, and what a request that passes one is told.

Source: https://developers.cloudflare.com/kv/platform/limits/ and
https://developers.cloudflare.com/kv/api/write-key-value-pairs/
"""

from __future__ import annotations

from collections.abc import Sequence
from math import floor
from typing import Final

from .errors import KVError

MAX_KEY_BYTES: Final = 512
MAX_VALUE_BYTES: Final = 25 * 1024 * 1024
MAX_METADATA_BYTES: Final = 1024
MIN_EXPIRATION_SECONDS: Final = 60
MIN_CACHE_TTL_SECONDS: Final = 30
MAX_LIST_KEYS: Final = 1000
MAX_BULK_KEYS: Final = 100
MAX_BULK_BYTES: Final = 25 * 1024 * 1024


def key_bytes(key: str) -> bytes:
    """A key in UTF-8, which is how keys are kept, compared and ordered. Raises KVError."""
    encoded = _encode(key)
    if len(encoded) > MAX_KEY_BYTES:
        raise _too_long(encoded)
    if not encoded:
        raise KVError(400, "Key names must not be empty")
    if encoded == b"." or encoded == b"..":
        raise KVError(400, f'Illegal key name "{key}". Please use a different name.')
    return encoded


def prefix_bytes(prefix: str) -> bytes:
    """What `list` looks for at the start of keys; empty for all. Raises KVError."""
    encoded = _encode(prefix)
    if len(encoded) > MAX_KEY_BYTES:
        raise _too_long(encoded)
    return encoded


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise KVError(400, "Could not URL-decode key name") from None


def _too_long(encoded: bytes) -> KVError:
    return KVError(
        414,
        f"UTF-8 encoded length of {len(encoded)} exceeds key length limit of {MAX_KEY_BYTES}.",
    )


#: The last second that a JavaScript date can hold.
_LATEST_SECONDS = 8_640_000_000_000


def expiry(now: float, expiration: int | None, expiration_ttl: int | None) -> int | None:
    """When a value expires, in seconds since the epoch; None for never.

    In: `now`, `expiration` in seconds since the epoch; `expiration_ttl` in seconds, which wins.
    Raises KVError.
    """
    if expiration_ttl is not None:
        if expiration_ttl <= 0:
            raise KVError(
                400,
                f"Invalid expiration_ttl of {expiration_ttl}. "
                "Please specify integer greater than 0.",
            )
        if expiration_ttl < MIN_EXPIRATION_SECONDS:
            raise KVError(
                400,
                f"Invalid expiration_ttl of {expiration_ttl}. "
                f"Expiration TTL must be at least {MIN_EXPIRATION_SECONDS}.",
            )
        return _representable(floor(now) + expiration_ttl, "expiration_ttl", expiration_ttl)
    if expiration is not None:
        if expiration <= floor(now):
            raise KVError(
                400,
                f"Invalid expiration of {expiration}. Please specify integer greater than the "
                "current number of seconds since the UNIX epoch.",
            )
        if expiration < floor(now) + MIN_EXPIRATION_SECONDS:
            raise KVError(
                400,
                f"Invalid expiration of {expiration}. Expiration times must be at least "
                f"{MIN_EXPIRATION_SECONDS} seconds in the future.",
            )
        return _representable(expiration, "expiration", expiration)
    return None


def _representable(seconds: int, name: str, given: int) -> int:
    if seconds > _LATEST_SECONDS:
        raise KVError(
            400, f"Invalid {name} of {given}. Please specify a time that a date can hold."
        )
    return seconds


def check_metadata(metadata: str | None) -> None:
    """In: the metadata as JSON text. Raises KVError."""
    if metadata is None:
        return
    size = len(metadata) if metadata.isascii() else len(metadata.encode(errors="replace"))
    if size > MAX_METADATA_BYTES:
        raise KVError(413, f"Metadata length of {size} exceeds limit of {MAX_METADATA_BYTES}.")


def check_value_size(size: int) -> None:
    """In: the length of a value in bytes. Raises KVError."""
    if size > MAX_VALUE_BYTES:
        raise KVError(413, f"Value length of {size} exceeds limit of {MAX_VALUE_BYTES}.")


def check_cache_ttl(seconds: int) -> None:
    """In: how long a read may be served from a cache. Changes nothing here. Raises KVError."""
    if seconds < MIN_CACHE_TTL_SECONDS:
        raise KVError(
            400,
            f"Invalid cache_ttl of {seconds}. Cache TTL must be at least {MIN_CACHE_TTL_SECONDS}.",
        )


def check_list_limit(limit: int) -> None:
    """In: how many keys a page may have. Raises KVError."""
    if limit <= 0:
        raise KVError(
            400,
            f"Invalid key_count_limit of {limit}. Please specify an integer greater than 0.",
        )
    if limit > MAX_LIST_KEYS:
        raise KVError(
            400,
            f"Invalid key_count_limit of {limit}. "
            f"Please specify an integer less than {MAX_LIST_KEYS}.",
        )


def check_bulk_keys(keys: Sequence[str]) -> None:
    """In: the keys of one bulk read. Raises KVError."""
    if len(keys) > MAX_BULK_KEYS:
        raise KVError(400, f"You can request a maximum of {MAX_BULK_KEYS} keys")
    if not keys:
        raise KVError(400, "You must request a minimum of 1 key")


def check_bulk_type(type: str) -> None:
    """In: what the values of a bulk read are to be read as. Raises KVError."""
    if type not in ("text", "json"):
        raise KVError(400, f'"{type}" is not a valid type. Use "json" or "text"')


def check_bulk_size(size: int) -> None:
    """In: the length of all values of a bulk read in bytes. Raises KVError."""
    if size > MAX_BULK_BYTES:
        raise KVError(413, "Total size of request exceeds the limit of 25MB")
