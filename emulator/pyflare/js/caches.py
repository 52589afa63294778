"""``js.caches``: the way to the caches of the running worker.

What a cache does is not this package's business: whoever runs a worker sets :data:`cache_opener` for its context.

Source: https://developers.cloudflare.com/workers/runtime-apis/cache/
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final, TypeAlias

from .error import Error, TypeError_
from .promise import JsPromise, rejected, resolved
from .value import JsInstance
from .webidl import encode_text, text

__all__ = ["Cache", "CacheOpener", "CacheStorage", "cache_opener", "caches"]

_NAME_LIMIT: Final = 1024
_MISSING: Final = object()


class Cache(JsInstance, js_name="Cache"):
    """``js.Cache``, the class of every cache."""


#: Gives the cache of a name, for None the default one.
CacheOpener: TypeAlias = Callable[[str | None], Cache]

cache_opener: ContextVar[CacheOpener | None] = ContextVar("cache_opener", default=None)


class CacheStorage(JsInstance, js_name="CacheStorage"):
    """The class of ``caches``."""

    @property
    def default(self) -> Cache:
        return _opener()(None)

    def open(self, name: Any = _MISSING, *_: Any) -> JsPromise:
        """A promise of a cache of its own for each name.

        Rejects: TypeError without a name, and for one of 1024 bytes or more.
        """
        if name is _MISSING:
            return rejected(
                TypeError_(
                    "Failed to execute 'open' on 'CacheStorage': parameter 1 is not of type 'string'."
                )
            )
        title = text(name)
        if len(encode_text(title)) >= _NAME_LIMIT:
            return rejected(TypeError_("Cache name is too long."))
        return resolved(_opener()(title))

    def match(self, *_: Any) -> Any:
        """Not implemented on the platform, nor are ``has``, ``delete`` and ``keys``."""
        raise _unimplemented("match")

    def has(self, *_: Any) -> Any:
        raise _unimplemented("has")

    def delete(self, *_: Any) -> Any:
        raise _unimplemented("delete")

    def keys(self, *_: Any) -> Any:
        raise _unimplemented("keys")


def _unimplemented(method: str) -> Error:
    return Error(f"Failed to execute '{method}' on 'CacheStorage': the method is not implemented.")


def _opener() -> CacheOpener:
    opener = cache_opener.get()
    if opener is None:
        raise Error("The caches belong to a worker; this code does not run in one.")
    return opener


#: One object for all workers; what it opens depends on the one that runs.
caches: Final[CacheStorage] = CacheStorage._make()
