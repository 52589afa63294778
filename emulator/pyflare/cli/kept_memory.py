"""Memory for bodies, kept by the server instead of given back to the system after each."""

from __future__ import annotations

import os
from typing import Final

__all__ = ["keep_freed_memory"]

# glibc's malloc.h
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
#: Bytes up to which an allocation comes from memory that was used before.
_LARGEST_KEPT: Final = 8 * 1024 * 1024
#: Bytes that lie unused before some are given back.
_UNUSED: Final = 16 * 1024 * 1024


def keep_freed_memory() -> bool:
    """Let the C library keep the memory of bodies for the next ones; gives whether it does.

    By default glibc takes each body of 128 KiB and more from the system and gives it back, and every page of it costs a
    fault: on a virtual machine more time than to send the body. Who has set malloc's parameters in the environment
    keeps them; other C libraries have no such parameters.
    """
    if any(name.startswith("MALLOC_") for name in os.environ) or "GLIBC_TUNABLES" in os.environ:
        return False
    # Here, because it takes longer to import than the rest of the start may last.
    import ctypes

    try:
        library = ctypes.CDLL(None)
        mallopt = library.mallopt
        # Only glibc's has these parameters.
        library.gnu_get_libc_version  # noqa: B018
    except (OSError, AttributeError, TypeError):
        return False
    return all([mallopt(_M_MMAP_THRESHOLD, _LARGEST_KEPT), mallopt(_M_TRIM_THRESHOLD, _UNUSED)])
