"""The modules of JavaScript that hold nothing but constants and errors.

Source: https://developers.cloudflare.com/workers/languages/python/javascript-interop/ and workerd
``src/cloudflare/vectorize.ts``, ``src/cloudflare/workflows.ts``
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pyflare.js.error import Error
from pyflare.js.value import JsInstance, JsObject

__all__ = ["NOT_EMULATED", "PLAIN_MODULES", "NonRetryableError"]

#: Modules of production whose services do not exist here.
NOT_EMULATED: Final = frozenset(
    {"cloudflare:ai", "cloudflare:br", "cloudflare:node", "cloudflare:pipelines"}
)

_MODELS: Final = (
    "openai/text-embedding-ada-002",
    "cohere/embed-multilingual-v2.0",
    "@cf/baai/bge-small-en-v1.5",
    "@cf/baai/bge-base-en-v1.5",
    "@cf/baai/bge-large-en-v1.5",
)


class NonRetryableError(Error, js_name="NonRetryableError"):
    """``NonRetryableError.new(message, name)``: a workflow's step is not to be tried again."""

    def __init__(self, message: Any = "", name: Any = "NonRetryableError") -> None:
        super().__init__(message)
        self.name = name


class _Vectorize(JsInstance, js_name="Module"):
    """``cloudflare:vectorize``."""

    def __init__(self) -> None:
        # Made anew for every import: one Worker's writes are not another's.
        self.KnownModel = JsObject.adopt({name: name for name in _MODELS})
        self.DistanceMetric = JsObject.adopt(
            {"EUCLIDEAN": "euclidean", "COSINE": "cosine", "DOT_PRODUCT": "dot-product"}
        )
        self.MetadataRetrievalLevel = JsObject.adopt(
            {"ALL": "all", "INDEXED": "indexed", "NONE": "none"}
        )


class _Workflows(JsInstance, js_name="Module"):
    """``cloudflare:workflows``."""

    NonRetryableError = NonRetryableError


#: What makes each module, by its name.
PLAIN_MODULES: Final[dict[str, Callable[[], Any]]] = {
    "cloudflare:vectorize": _Vectorize._make,
    "cloudflare:workflows": _Workflows._make,
}
