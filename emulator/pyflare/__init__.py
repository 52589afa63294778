"""pyflare: Cloudflare Workers written in Python, unmodified, in one CPython process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .embed.pyflare import Pyflare

__all__ = ["Pyflare"]


def __getattr__(name: str) -> Any:
    # `pyflare --version` and the command's option errors need none of the rooms.
    if name == "Pyflare":
        from .embed.pyflare import Pyflare

        return Pyflare
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
