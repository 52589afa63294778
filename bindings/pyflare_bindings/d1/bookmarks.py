"""Bookmarks: names for moments in the life of a database, ordered as strings by time.

Source: `getCurrentBookmark` in `src/workerd/io/actor-sqlite.c++` of workerd.
"""

from __future__ import annotations

_GROUP = 0xFFFFFFFF


def bookmark_at(counter: int) -> str:
    """The bookmark of the moment after `counter` successful requests."""
    high, low = divmod(counter, _GROUP)
    return f"{high:08x}-{low:08x}-00000000-{0:032x}"
