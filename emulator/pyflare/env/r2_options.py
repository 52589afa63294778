"""What workers give to R2's methods as options, read as workerd reads it.

Source: https://developers.cloudflare.com/r2/api/workers/workers-api-reference/ and workerd ``api/r2-bucket.c++``
"""

from __future__ import annotations

import datetime
import re
from typing import Any, Final, Literal, cast

from pyflare.js.buffer import as_bytes
from pyflare.js.date import Date
from pyflare.js.date_text import parse_date
from pyflare.js.error import Error, RangeError, TypeError_
from pyflare.js.headers import Headers
from pyflare.js.number import to_number, to_string
from pyflare.js.value import JsNull, JsProxy, get_property, is_nullish, own_items
from pyflare.js.webidl import scalar_text, text
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
    "read_checksum",
    "read_conditions",
    "read_list_options",
    "read_object_options",
    "read_range",
    "read_ssec_key",
]

_HEX: Final = re.compile("[0-9a-fA-F]*")
_SSEC_HEX: Final = re.compile("[0-9a-f]{64}")
_SSEC_BYTES: Final = 32
_NAME: Final = {
    "content_type": "contentType",
    "content_language": "contentLanguage",
    "content_disposition": "contentDisposition",
    "content_encoding": "contentEncoding",
    "cache_control": "cacheControl",
}
_HEADER: Final = {
    "content_type": "content-type",
    "content_language": "content-language",
    "content_disposition": "content-disposition",
    "content_encoding": "content-encoding",
    "cache_control": "cache-control",
}
_NO_OPTIONS: Final = ObjectOptions()
_INT32: Final = 2**32


def _field(holder: Any, name: str) -> Any:
    """A field of an options object; null counts as absent."""
    value = get_property(holder, name)
    return None if isinstance(value, JsNull) else value


def _string(holder: Any, name: str, dictionary: str) -> str | None:
    value = _field(holder, name)
    if value is None or isinstance(value, str):
        return value
    raise TypeError_(
        f"Incorrect type for the '{name}' field on '{dictionary}': "
        "the provided value is not of type 'string'."
    )


#: The last instant that a JavaScript date can hold, in milliseconds.
_LATEST_TIME: Final = 8.64e15


def _time(holder: Any, name: str, dictionary: str) -> int | None:
    value = _field(holder, name)
    if value is None:
        return None
    if isinstance(value, Date):
        milliseconds = value.getTime()
    elif isinstance(value, datetime.datetime):
        milliseconds = Date.from_datetime(value).getTime()
    elif isinstance(value, int | float) and not isinstance(value, bool):
        milliseconds = value
    else:
        milliseconds = float("nan")
    if not abs(milliseconds) <= _LATEST_TIME:
        raise TypeError_(
            f"Incorrect type for the '{name}' field on '{dictionary}': "
            "the provided value is not of type 'date'."
        )
    return int(milliseconds)


def _header(headers: Headers, name: str) -> str | None:
    value = headers.get(name)
    return None if is_nullish(value) else value


def _require_object(given: Any, name: str, kinds: str) -> None:
    """Whatever has no fields would otherwise count as an object without any, and a condition be lost."""
    if not isinstance(given, JsProxy | dict):
        raise TypeError_(
            f"Incorrect type for the '{name}' field on 'Options': the provided value is not of type '{kinds}'."
        )


def read_conditions(given: Any) -> Conditions | None:
    """``onlyIf``: an object, or Headers with ``If-*``."""
    if is_nullish(given):
        return None
    if isinstance(given, Headers):
        return _conditions_of_headers(given)
    _require_object(given, "onlyIf", "Conditional or Headers")
    before = _time(given, "uploadedBefore", "Conditional")
    after = _time(given, "uploadedAfter", "Conditional")
    conditions = Conditions(
        _etag(given, "etagMatches"),
        _etag(given, "etagDoesNotMatch"),
        before,
        after,
        bool(_field(given, "secondsGranularity")) and (before is not None or after is not None),
    )
    return None if conditions == Conditions() else conditions


def _etag(holder: Any, name: str) -> tuple[Etag, ...] | None:
    value = _string(holder, name, "Conditional")
    if value is None:
        return None
    if value == "*":
        return (WILDCARD,)
    if len(value) >= 2 and value[0] == value[-1] == '"':
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


def read_range(given: Any) -> tuple[WantedRange | None, str | None]:
    """``range``: an object, or Headers with ``Range``; gives the one and the other."""
    if is_nullish(given):
        return None, None
    if isinstance(given, Headers):
        return None, _header(given, "range")
    _require_object(given, "range", "Range or Headers")
    offset = _count(given, "offset", "Starting offset", "range")
    length = _count(given, "length", "Length", "range")
    suffix = _count(given, "suffix", "Suffix", "suffix")
    if suffix is not None:
        for name, value in (("offset", offset), ("length", length)):
            if value is not None:
                raise TypeError_(f"Suffix is incompatible with {name}.")
    return WantedRange(offset, length, suffix), None


def _count(holder: Any, name: str, label: str, what: str) -> int | None:
    value = _field(holder, name)
    if value is None:
        return None
    number = to_number(value)
    if number != number or number in (float("inf"), float("-inf")) or number != int(number):
        raise RangeError(
            f"Invalid range. {label} ({to_string(number)}) must be an integer, not floating point."
        )
    if number < 0:
        raise RangeError(
            f"Invalid {what}. {label} ({int(number)}) must be greater than or equal to 0."
        )
    return int(number)


def read_object_options(action: str, given: Any) -> ObjectOptions:
    """What is stored beside the content: metadata, storage class, customer key."""
    if is_nullish(given):
        return _NO_OPTIONS
    return ObjectOptions(
        _http_metadata(_field(given, "httpMetadata")),
        _custom_metadata(_field(given, "customMetadata")),
        _storage_class(action, given),
        read_ssec_key(given),
    )


def _http_metadata(given: Any) -> HttpMetadata:
    if given is None:
        return NO_HTTP_METADATA
    if isinstance(given, Headers):
        expires = _header(given, "expires")
        milliseconds = float("nan") if expires is None else parse_date(expires)
        return HttpMetadata(
            **{field: _header(given, name) for field, name in _HEADER.items()},
            cache_expiry=int(milliseconds) if milliseconds == milliseconds else None,
        )
    _require_object(given, "httpMetadata", "HttpMetadata or Headers")
    return HttpMetadata(
        **{field: _string(given, name, "HttpMetadata") for field, name in _NAME.items()},
        cache_expiry=_time(given, "cacheExpiry", "HttpMetadata"),
    )


def _custom_metadata(given: Any) -> dict[str, str]:
    if given is None:
        return {}
    if not isinstance(given, JsProxy | dict):
        raise TypeError_(
            "Incorrect type for the 'customMetadata' field on 'PutOptions': "
            "the provided value is not of type 'object'."
        )
    entries = given.items() if isinstance(given, dict) else own_items(given)
    return {text(name): scalar_text(value) for name, value in entries}


def _storage_class(action: str, given: Any) -> StorageClass:
    value = _string(given, "storageClass", "PutOptions")
    if value is None:
        return "Standard"
    if value not in ("Standard", "InfrequentAccess"):
        raise failure(
            action,
            invalid_argument(f'The storage class is Standard or InfrequentAccess, not "{value}".'),
        )
    return cast(StorageClass, value)


def read_ssec_key(given: Any) -> bytes | None:
    """``ssecKey``: 32 bytes, or their lower-case hex."""
    value = None if is_nullish(given) else _field(given, "ssecKey")
    if value is None:
        return None
    if isinstance(value, str):
        if _SSEC_HEX.fullmatch(value) is None:
            raise Error("SSE-C Key has invalid format")
        return bytes.fromhex(value)
    data = as_bytes(value)
    if data is None:
        raise Error("SSE-C Key has invalid format")
    if len(data) != _SSEC_BYTES:
        raise Error("SSE-C Key must be 32 bytes in length")
    return bytes(data)


def read_checksum(given: Any) -> Checksum | None:
    """The one hash that the content has to have."""
    if is_nullish(given):
        return None
    found = [(name, value) for name in LABELS if (value := _field(given, name)) is not None]
    if not found:
        return None
    if len(found) > 1:
        raise TypeError_("You cannot specify multiple hashing algorithms.")
    ((name, value),) = found
    return Checksum(name, _digest(name, value))


def _digest(name: HashName, value: Any) -> bytes:
    label, size = LABELS[name], DIGEST_BYTES[name]
    if isinstance(value, str):
        if len(value) != 2 * size:
            raise TypeError_(f"{label} is {2 * size} hex characters, not {len(value)}")
        if _HEX.fullmatch(value) is None:
            raise TypeError_(f"Provided {label} wasn't a valid hex string")
        return bytes.fromhex(value)
    data = as_bytes(value)
    if data is None:
        raise TypeError_(
            f"Incorrect type for the '{name}' field on 'PutOptions': "
            "the provided value is not of type 'ArrayBuffer or ArrayBufferView or string'."
        )
    if len(data) != size:
        raise TypeError_(f"{label} is {size} bytes, not {len(data)}")
    return bytes(data)


def read_list_options(given: Any) -> ListOptions:
    """The options of ``list``."""
    if is_nullish(given):
        return ListOptions(include=_honoured(frozenset()))
    include = _include(_field(given, "include"))
    return ListOptions(
        _limit(_field(given, "limit")),
        _string(given, "prefix", "ListOptions") or "",
        _string(given, "cursor", "ListOptions"),
        _string(given, "delimiter", "ListOptions") or "",
        _string(given, "startAfter", "ListOptions"),
        _honoured(include),
    )


def _limit(value: Any) -> int | None:
    if value is None:
        return None
    number = to_number(value)
    if number != number or number in (float("inf"), float("-inf")):
        return 0
    limit = int(number) % _INT32
    limit = limit - _INT32 if limit >= _INT32 // 2 else limit
    # The wire has no other way to say that there is no limit.
    return None if limit == -1 else limit


_Include = frozenset[Literal["httpMetadata", "customMetadata"]]


def _include(value: Any) -> _Include:
    if value is None:
        return frozenset()
    wanted = list(value)
    for name in wanted:
        if name not in ("httpMetadata", "customMetadata"):
            raise RangeError(f"Unsupported include value {to_string(name)}")
    return frozenset(wanted)


def _honoured(include: _Include) -> _Include:
    """Before ``r2_list_honor_include`` a listing carries all metadata whatever is asked for."""
    try:
        import _cloudflare_compat_flags as flags
    except ImportError:
        return include
    if getattr(flags, "r2_list_honor_include", True):
        return include
    return frozenset({"httpMetadata", "customMetadata"})
