"""How many files a process may have open."""

from __future__ import annotations

__all__ = ["open_files_allowed"]


def open_files_allowed() -> int | None:
    """The limit as it is now; None where the system has none, as Windows, or sets none."""
    try:
        import resource
    except ImportError:
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft
