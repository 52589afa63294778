"""How many files a server may have open."""

from __future__ import annotations

from typing import Final

__all__ = ["raise_limit"]

#: More would cost programs that look at every possible descriptor.
_ENOUGH: Final = 65_536


def raise_limit() -> None:
    """Use what the system allows: the usual first limit, 1,024 or less, is for programs that call ``select``."""
    try:
        import resource
    except ImportError:
        # Windows has no such limit.
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _ENOUGH if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):
        # Some systems allow less than they say; then it stays as it is.
        return
