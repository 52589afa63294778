"""``Cloudflare``: what the runtime says about itself.

Source: https://developers.cloudflare.com/workers/runtime-apis/ and workerd ``api/global-scope.c++``.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar

from .value import JsInstance, JsObject, own_properties

__all__ = ["Cloudflare", "cloudflare", "compatibility_flags"]

#: The state of every compatibility flag of the running worker, by the name that enables it. Whoever loads a worker sets
#: it for its context.
compatibility_flags: ContextVar[Mapping[str, bool] | None] = ContextVar(
    "compatibility_flags", default=None
)


class Cloudflare(JsInstance, js_name="Cloudflare"):
    """The class of the global ``Cloudflare``."""

    _own_items = own_properties("compatibilityFlags")

    @property
    def compatibilityFlags(self) -> JsObject:
        """Whether each flag is on; names that disable a flag are not there."""
        return JsObject.adopt(dict(compatibility_flags.get() or {}))


cloudflare: Cloudflare = Cloudflare._make()
