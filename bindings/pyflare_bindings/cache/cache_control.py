"""The `Cache-Control` header of a response."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

__all__ = ["CacheControl", "parse_cache_control"]

_LONGEST_NUMBER: Final = 18

# Parts between commas; a comma within quotes separates nothing.
_PART: Final = re.compile(r'(?:"(?:\\.|[^"\\])*"|[^,])+')


class CacheControl(NamedTuple):
    """`directives` by lower-case name, the value unquoted and None where there is none.

    `shares_without_cookie` says that the header allows sharing the response once its cookies are
    removed, and `rest` is the header without that directive.
    """

    directives: Mapping[str, str | None]
    shares_without_cookie: bool = False
    rest: str = ""

    def seconds(self, name: str) -> int | None:
        """The value of a directive in seconds; 0 where it is no number, None where it is absent."""
        if name not in self.directives:
            return None
        value = self.directives[name] or ""
        if not (value.isascii() and value.isdigit()):
            return 0
        return int(value[:_LONGEST_NUMBER])


@lru_cache(maxsize=512)
def parse_cache_control(header: str) -> CacheControl:
    """What a header says. Of a repeated directive the last one counts."""
    directives: dict[str, str | None] = {}
    kept: list[str] = []
    shares = False
    for part in _PART.findall(header):
        name, equals, value = part.strip().partition("=")
        name, value = name.strip().lower(), value.strip().strip('"')
        if not name:
            continue
        if name == "private" and value.strip().lower() == "set-cookie":
            shares = True
            continue
        directives[name] = value if equals else None
        kept.append(part.strip())
    return CacheControl(directives, shares, ", ".join(kept))
