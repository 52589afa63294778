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

    `private` are the lower-case names of headers without which the response may be shared, and
    `rest` is the header without what names them; `no_cache` are those whose presence means that
    the response must not be used again as it is. Neither is among the directives then.
    """

    directives: Mapping[str, str | None]
    private: frozenset[str] = frozenset()
    no_cache: frozenset[str] = frozenset()
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
    private: set[str] = set()
    no_cache: set[str] = set()
    for part in _PART.findall(header):
        name, equals, value = part.strip().partition("=")
        name, value = name.strip().lower(), value.strip().strip('"')
        if not name:
            continue
        if name == "private" and (headers := _names(value)):
            private |= headers
            continue
        kept.append(part.strip())
        if name == "no-cache" and (headers := _names(value)):
            no_cache |= headers
            continue
        directives[name] = value if equals else None
    return CacheControl(directives, frozenset(private), frozenset(no_cache), ", ".join(kept))


def _names(value: str) -> set[str]:
    return {name for each in value.split(",") if (name := each.strip().lower())}
