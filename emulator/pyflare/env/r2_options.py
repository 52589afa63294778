"""What workers give to R2's methods as options, checked as workerd checks it once its types are right.

Source: https://developers.cloudflare.com/r2/api/workers/workers-api-reference/ and workerd ``api/r2-bucket.c++``
"""

from __future__ import annotations

import re
from typing import Any, Final, Literal, cast

from pyflare.js.date_text import parse_date
from pyflare.js.error import Error, RangeError, TypeError_
from pyflare.js.headers import Headers
from pyflare.js.value import is_nullish
from pyflare.js.webidl import encode_text
from pyflare_bindings.r2 import (
    WILDCARD,
    Checksum,
    Conditions,
    Etag,
    HttpMetadata,
    ListOptions,
    ObjectOptions,
    WantedRange,
    parse_etags,
)
from pyflare_bindings.r2.checksums import DIGEST_BYTES, LABELS
from pyflare_bindings.r2.errors import invalid_argument
from pyflare_bindings.r2.values import NO_HTTP_METADATA, HashName, StorageClass

from .r2_errors import failure

__all__ = [
    "Fields",
    "read_checksum",
    "read_conditions",
    "read_list_options",
    "read_object_options",
    "read_range",
    "read_ssec_key",
]

#: A struct of options: the fields that are there, converted.
Fields = dict[str, Any]

_HEX: Final = re.compile("[0-9a-fA-F]*")
_SSEC_HEX: Final = re.compile("[0-9a-f]+")
_SSEC_BYTES: Final = 32
_NAME: Final = {
    "content_type": "contentType",
    "content_language": "contentLanguage",
    "content_disposition": "contentDisposition",
    "content_encoding": "contentEncoding",
    "cache_control": "cacheControl",
    "cache_expiry": "cacheExpiry",
}
_HEADER: Final = {
    "content_type": "content-type",
    "content_language": "content-language",
    "content_disposition": "content-disposition",
    "content_encoding": "content-encoding",
    "cache_control": "cache-control",
}
_NO_OPTIONS: Final = ObjectOptions()


def _header(headers: Headers, name: str) -> str | None:
    value = headers.get(name)
    return None if is_nullish(value) else value


def read_conditions(given: Fields | Headers | None) -> Conditions | None:
    """``onlyIf``: its fields, or Headers with ``If-*``."""
    if given is None:
        return None
    if isinstance(given, Headers):
        return _conditions_of_headers(given)
    before, after = given.get("uploadedBefore"), given.get("uploadedAfter")
    conditions = Conditions(
        _etag(given.get("etagMatches")),
        _etag(given.get("etagDoesNotMatch")),
        before,
        after,
        given.get("secondsGranularity", False) and (before is not None or after is not None),
    )
    return None if conditions == Conditions() else conditions


def _etag(value: str | None) -> tuple[Etag, ...] | None:
    if value is None:
        return None
    if value == "*":
        return (WILDCARD,)
    if value[:1] == value[-1:] == '"':
        raise TypeError_(f"Conditional ETag should not be wrapped in quotes ({value}).")
    return (Etag(value),)


def _conditions_of_headers(headers: Headers) -> Conditions | None:
    conditions = Conditions(
        _etags_of_header(headers, "if-match"),
        _etags_of_header(headers, "if-none-match"),
        _time_of_header(headers, "if-unmodified-since"),
        _time_of_header(headers, "if-modified-since"),
        seconds_granularity=True,
    )
    return None if conditions == Conditions(seconds_granularity=True) else conditions


def _etags_of_header(headers: Headers, name: str) -> tuple[Etag, ...] | None:
    value = _header(headers, name)
    if value is None:
        return None
    try:
        return parse_etags(value, name)
    except ValueError as error:
        raise Error(str(error)) from None


def _time_of_header(headers: Headers, name: str) -> int | None:
    value = _header(headers, name)
    if value is None:
        return None
    milliseconds = parse_date(value)
    # The platform reads a date that it does not understand as the epoch.
    return int(milliseconds) if milliseconds == milliseconds else 0


def read_range(given: Fields | Headers | None) -> tuple[WantedRange | None, str | None]:
    """``range``: its fields, or Headers with ``Range``; gives the one and the other."""
    if given is None:
        return None, None
    if isinstance(given, Headers):
        return None, _header(given, "range")
    offset = _count(given, "offset", "Starting offset", "range")
    length = _count(given, "length", "Length", "range")
    if "suffix" in given:
        for name in ("offset", "length"):
            if name in given:
                raise TypeError_(f"Suffix is incompatible with {name}.")
    return WantedRange(offset, length, _count(given, "suffix", "Suffix", "suffix")), None


def _count(fields: Fields, name: str, label: str, what: str) -> int | None:
    number = fields.get(name)
    if number is None:
        return None
    if not number >= 0:
        raise RangeError(
            f"Invalid {what}. {label} ({_decimal(number)}) must be greater than or equal to 0."
        )
    # Production lets infinity through, into an integer that cannot hold it.
    if number == float("inf") or number != int(number):
        raise RangeError(
            f"Invalid range. {label} ({_decimal(number)}) must be an integer, not floating point."
        )
    return int(number)


def _decimal(number: float) -> str:
    """A number as the platform's own texts write it, which is not JavaScript's way.

    Source: DoubleToBuffer in c++/src/kj/string.c++ of capnproto
    """
    short = f"{number:.15g}"
    return (short if float(short) == number else f"{number:.17g}").replace("+", "")


def read_object_options(action: str, given: Fields) -> ObjectOptions:
    """What is stored beside the content: metadata, storage class, customer key."""
    if not given:
        return _NO_OPTIONS
    return ObjectOptions(
        _http_metadata(given.get("httpMetadata")),
        given.get("customMetadata", {}),
        _storage_class(action, given.get("storageClass")),
        read_ssec_key(given),
    )


def _http_metadata(given: Fields | Headers | None) -> HttpMetadata:
    if not given and not isinstance(given, Headers):
        return NO_HTTP_METADATA
    if isinstance(given, Headers):
        return HttpMetadata(
            **{field: _header(given, name) for field, name in _HEADER.items()},
            cache_expiry=_time_of_header(given, "expires"),
        )
    return HttpMetadata(**{field: given.get(name) for field, name in _NAME.items()})


def _storage_class(action: str, value: str | None) -> StorageClass:
    if value is None:
        return "Standard"
    if value not in ("Standard", "InfrequentAccess"):
        raise failure(
            action,
            invalid_argument(f'The storage class is Standard or InfrequentAccess, not "{value}".'),
        )
    return cast(StorageClass, value)


def read_ssec_key(given: Fields) -> bytes | None:
    """``ssecKey``: 32 bytes, or their lower-case hex."""
    value: bytes | str | None = given.get("ssecKey")
    if value is None:
        return None
    if isinstance(value, str):
        if _SSEC_HEX.fullmatch(value) is None:
            raise Error("SSE-C Key has invalid format")
        if len(value) != 2 * _SSEC_BYTES:
            raise Error("SSE-C Key must be 32 bytes in length")
        return bytes.fromhex(value)
    if len(value) != _SSEC_BYTES:
        raise Error("SSE-C Key must be 32 bytes in length")
    return value


def read_checksum(given: Fields) -> Checksum | None:
    """The one hash that the content has to have."""
    if not given:
        return None
    found = [(name, given[name]) for name in LABELS if name in given]
    checksum = None
    for name, value in found:
        if checksum is not None:
            raise TypeError_("You cannot specify multiple hashing algorithms.")
        checksum = Checksum(name, _digest(name, value))
    return checksum


def _digest(name: HashName, value: bytes | str) -> bytes:
    label, size = LABELS[name], DIGEST_BYTES[name]
    if isinstance(value, str):
        length = len(encode_text(value))
        if length != 2 * size:
            raise TypeError_(f"{label} is {2 * size} hex characters, not {length}")
        if _HEX.fullmatch(value) is None:
            raise TypeError_(f"Provided {label} wasn't a valid hex string")
        return bytes.fromhex(value)
    if len(value) != size:
        raise TypeError_(f"{label} is {size} bytes, not {len(value)}")
    return value


def read_list_options(given: Fields) -> ListOptions:
    """The options of ``list``."""
    limit = given.get("limit")
    return ListOptions(
        # The wire has no other way to say that there is no limit.
        None if limit == -1 else limit,
        given.get("prefix", ""),
        given.get("cursor"),
        given.get("delimiter", ""),
        given.get("startAfter"),
        _honoured(_include(given.get("include", []))),
    )


_Include = frozenset[Literal["httpMetadata", "customMetadata"]]


def _include(wanted: list[str]) -> _Include:
    for name in wanted:
        if name not in ("httpMetadata", "customMetadata"):
            raise RangeError(f"Unsupported include value {name}")
    return cast(_Include, frozenset(wanted))


def _honoured(include: _Include) -> _Include:
    """Before ``r2_list_honor_include`` a listing carries all metadata whatever is asked for."""
    try:
        import _cloudflare_compat_flags as flags
    except ImportError:
        return include
    if getattr(flags, "r2_list_honor_include", True):
        return include
    return frozenset({"httpMetadata", "customMetadata"})
