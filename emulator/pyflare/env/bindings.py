"""The raw ``env`` of a worker: one face for each binding of its configuration."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from pyflare.config.kinds import Binding, BindingKind
from pyflare.js.caches import Cache, CacheOpener
from pyflare.js.value import JsObject
from pyflare_bindings.registry import BindingRegistry

from .host import Host

__all__ = ["SUPPORTED", "make_cache_opener", "make_environment"]


class _Named(Protocol):
    """An entry with the identity that decides sharing."""

    @property
    def local_id(self) -> str: ...


def _d1(entry: _Named, host: Host) -> Any:
    from .d1 import D1Database
    from .d1_requests import Connection

    return D1Database._make(Connection(host.registry.d1(entry.local_id)))


def _kv(entry: _Named, host: Host) -> Any:
    from .kv import KvNamespace

    return KvNamespace._make(host.registry.kv(entry.local_id))


def _r2(entry: _Named, host: Host) -> Any:
    from .r2 import R2Bucket

    return R2Bucket._make(host.registry.r2(entry.local_id))


def _variable(entry: Any, _host: Host) -> Any:
    if isinstance(entry.value, str):
        return entry.value
    from pyflare.js.json import JSON

    return JSON.parse(json.dumps(entry.value))


def _version_metadata(_entry: Any, _host: Host) -> Any:
    import uuid
    from datetime import UTC, datetime

    started = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return JsObject.adopt({"id": str(uuid.uuid4()), "tag": "", "timestamp": started})


_FACES: dict[BindingKind, Callable[[Any, Host], Any]] = {
    BindingKind.D1: _d1,
    BindingKind.KV: _kv,
    BindingKind.R2: _r2,
    BindingKind.VERSION_METADATA: _version_metadata,
    BindingKind.VAR: _variable,
    BindingKind.SECRET: _variable,
}

#: The kinds that have a face.
SUPPORTED = frozenset(_FACES)


def make_environment(bindings: Iterable[Binding], host: Host) -> JsObject:
    """The worker's ``env`` as a JavaScript object. Later entries win, as a secret does over a variable."""
    return JsObject.adopt(
        {binding.name: _FACES[binding.kind](binding.entry, host) for binding in bindings}
    )


def make_cache_opener(registry: BindingRegistry) -> CacheOpener:
    """What ``js.caches`` opens caches with; nothing of it is loaded before a worker asks for a cache."""
    default: Cache | None = None

    def open_cache(name: str | None) -> Cache:
        from . import cache

        nonlocal default
        if name is not None:
            return cache.open_cache(registry, name)
        if default is None:
            default = cache.open_cache(registry, None)
        return default

    return open_cache
