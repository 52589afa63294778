"""``navigator``.

Source: https://developers.cloudflare.com/workers/runtime-apis/web-standards/#navigatoruseragent and workerd
``api/global-scope.h``.
"""

from __future__ import annotations

from typing import Any

from .array import JsArray
from .value import JsInstance

__all__ = ["Navigator", "navigator"]


class Navigator(JsInstance, js_name="Navigator"):
    """What runs the worker."""

    userAgent = "Cloudflare-Workers"
    hardwareConcurrency = 1
    platform = ""
    language = "en"

    @property
    def languages(self) -> Any:
        return JsArray.adopt(["en"])

    def sendBeacon(self, url: Any, body: Any = None) -> bool:
        """POST without waiting for the answer; a failure is logged."""
        from .callbacks import supervise
        from .fetch import fetch

        supervise(fetch(url, method="POST", body=body))
        return True


navigator: Navigator = Navigator._make()
