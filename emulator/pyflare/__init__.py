"""pyflare: Cloudflare Workers written in Python, unmodified, in one CPython process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyflare_bindings.clock import ManualClock, SystemClock

    from .embed.platform import platform_proxy
    from .embed.pyflare import Pyflare

__all__ = ["ManualClock", "Pyflare", "SystemClock", "platform_proxy"]


def __getattr__(name: str) -> Any:
    # `pyflare --version` and the command's option errors need none of the rooms.
    match name:
        case "Pyflare":
            from .embed.pyflare import Pyflare

            return Pyflare
        case "platform_proxy":
            from .embed.platform import platform_proxy

            return platform_proxy
        case "ManualClock" | "SystemClock":
            from pyflare_bindings import clock

            return getattr(clock, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
