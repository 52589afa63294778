"""``performance``: time in milliseconds with fractions.

Production freezes the clock between I/O; here it runs on.

Source: https://developers.cloudflare.com/workers/runtime-apis/performance/
"""

from __future__ import annotations

from typing import Any

from .clock import now_ms
from .value import JsInstance, JsObject

__all__ = ["Performance", "performance"]


class Performance(JsInstance, js_name="Performance"):
    """``now()`` counts from ``timeOrigin``, which is 0 as in production: both are the time since 1970."""

    timeOrigin: float = 0

    def now(self) -> float:
        return now_ms()

    def toJSON(self) -> JsObject:
        return JsObject.adopt({"timeOrigin": self.timeOrigin})

    def eventLoopUtilization(self, *_: Any) -> JsObject:
        """No such measure is taken: all zeros, as in production."""
        return JsObject.adopt({"idle": 0, "active": 0, "utilization": 0})


performance: Performance = Performance._make()
