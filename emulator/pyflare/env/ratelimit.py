"""``env.LIMITER``: a rate limiting binding.

Source: https://developers.cloudflare.com/workers/runtime-apis/bindings/rate-limit/ and the local emulation of
``packages/miniflare``
"""

from __future__ import annotations

from typing import Any, Final

from pyflare.js.departure import start
from pyflare.js.error import Error
from pyflare.js.promise import JsPromise
from pyflare.js.value import (
    JsInstance,
    JsObject,
    JsProxy,
    get_property,
    is_nullish,
    own_items,
    type_of,
)
from pyflare.js.webidl import scalar_text, text
from pyflare_bindings.ratelimit import RateLimitNamespace
from pyflare_bindings.storage.errors import ClosedError, StateError

__all__ = ["RateLimit"]

_OPTIONS: Final = ("key", "limit", "period")
_PERIODS: Final = (10, 60)


class RateLimit(JsInstance, js_name="Ratelimit"):
    """The binding; ``limit`` and ``period`` of the configuration hold unless a call has its own."""

    def __init__(self, owner: RateLimitNamespace, limit: float, period: int) -> None:
        self._owner = owner
        self._limit = limit
        self._period = period

    def limit(self, options: Any = None, *_: Any, **named: Any) -> JsPromise:
        """Count a call under ``key``: a promise of ``{success}``, false where the limit is reached."""
        return start(self._count(named if options is None else options))

    async def _count(self, options: Any) -> JsObject:
        if is_nullish(options) or not isinstance(options, JsProxy | dict):
            raise Error("invalid rate limit options")
        unknown = [name for name, _ in own_items(options) if name not in _OPTIONS]
        if unknown:
            raise Error(f"bad rate limit options: [{','.join(unknown)}]")
        key = get_property(options, "key")
        if key is None:
            key = ""
        elif type_of(key) != "string":
            raise Error(f"invalid key: {text(key)}")
        limit = _number(options, "limit", self._limit)
        period = _number(options, "period", self._period)
        if period not in _PERIODS:
            raise Error(f"unsupported period: {text(period)}")
        try:
            success = await self._owner.limit(scalar_text(key), limit, int(period))
        except (StateError, ClosedError) as error:
            raise Error(f"The rate limit could not be counted: {error}") from None
        return JsObject.adopt({"success": success})


def _number(options: Any, name: str, default: float) -> float:
    value = get_property(options, name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Error(f"{name} must be a number: {text(value)}")
    return value
