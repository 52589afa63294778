"""`If-None-Match`, `If-Modified-Since` and `If-Range`, as the cache reads them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from .http_dates import parse_http_date

__all__ = ["has_not_changed", "is_not_modified"]

_ETAG: Final = re.compile(r'(?:W/)?("[^"]*")')


def is_not_modified(
    headers: Mapping[str, str], if_none_match: str | None, if_modified_since: str | None
) -> bool:
    """Whether the asker has the stored response already.

    In: `headers` of the stored response by lower-case name. With an `If-None-Match` the date does
    not count: an asker whose tag is another one has another version, whatever its date (RFC 9110,
    13.1.3). The local tools give it a 304.
    """
    if if_none_match is not None:
        stored = _ETAG.fullmatch(headers.get("etag", "").strip())
        if stored is None:
            return False
        return if_none_match.strip() == "*" or stored.group(1) in _ETAG.findall(if_none_match)
    if if_modified_since is not None:
        since = parse_http_date(if_modified_since)
        modified = parse_http_date(headers.get("last-modified", ""))
        return since is not None and modified is not None and modified <= since
    return False


def has_not_changed(headers: Mapping[str, str], if_range: str | None) -> bool:
    """Whether an asker that has a part of the stored response may have the rest of it.

    In: `if_range`, the tag or the date of its part, None where it does not say. A weak tag proves
    nothing (RFC 9110, 13.1.5).
    """
    if if_range is None:
        return True
    if_range = if_range.strip()
    if if_range[:1] == '"':
        return headers.get("etag", "").strip() == if_range
    modified = parse_http_date(headers.get("last-modified", ""))
    return modified is not None and modified == parse_http_date(if_range)
