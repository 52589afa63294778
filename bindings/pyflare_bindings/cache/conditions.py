"""`If-None-Match` and `If-Modified-Since`, as the cache reads them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from .http_dates import parse_http_date

__all__ = ["is_not_modified"]

_ETAG: Final = re.compile(r'(?:W/)?("[^"]*")')


def is_not_modified(
    headers: Mapping[str, str], if_none_match: str | None, if_modified_since: str | None
) -> bool:
    """Whether the asker has the stored response already.

    In: `headers` of the stored response by lower-case name. The two conditions are looked at
    independently, and one that holds is enough.
    """
    if if_none_match is not None:
        stored = _ETAG.fullmatch(headers.get("etag", "").strip())
        if stored is not None:
            if if_none_match.strip() == "*":
                return True
            if stored.group(1) in _ETAG.findall(if_none_match):
                return True
    if if_modified_since is not None:
        since = parse_http_date(if_modified_since)
        modified = parse_http_date(headers.get("last-modified", ""))
        return since is not None and modified is not None and modified <= since
    return False
