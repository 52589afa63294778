"""The raw ``env`` of a worker: one face for each binding of its configuration."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Protocol

from pyflare.config.kinds import Binding, BindingKind
from pyflare.js.caches import Cache, CacheOpener
from pyflare.js.value import JsObject
from pyflare_bindings.registry import BindingRegistry

from . import small_bindings
from .host import Host
from .not_emulated import NOT_EMULATED

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


def _queue(entry: _Named, host: Host) -> Any:
    from .queue import WorkerQueue

    return WorkerQueue._make(host.registry.queue(entry.local_id))


def _durable_object(entry: Any, host: Host) -> Any:
    from .objects.namespace import DurableObjectNamespace

    return DurableObjectNamespace._make(lambda: host.objects(entry))


def _service(entry: Any, host: Host) -> Any:
    from .service import make_service

    return make_service(entry, host)


def _assets(_entry: Any, host: Host) -> Any:
    from pyflare.js.fetcher import Fetcher

    from .assets import AssetsChannel

    return Fetcher._make(AssetsChannel(host.assets))


def _variable(entry: Any, _host: Host) -> Any:
    if isinstance(entry.value, str):
        return entry.value
    from pyflare.js.json import JSON

    return JSON.parse(json.dumps(entry.value))


_FACES: dict[BindingKind, Callable[[Any, Host], Any]] = {
    BindingKind.D1: _d1,
    BindingKind.KV: _kv,
    BindingKind.R2: _r2,
    BindingKind.SERVICE: _service,
    BindingKind.QUEUE: _queue,
    BindingKind.DURABLE_OBJECT: _durable_object,
    BindingKind.RATE_LIMIT: small_bindings.rate_limit,
    BindingKind.ANALYTICS_ENGINE: small_bindings.analytics,
    BindingKind.HYPERDRIVE: small_bindings.hyperdrive,
    BindingKind.SEND_EMAIL: small_bindings.send_email,
    BindingKind.SECRETS_STORE: small_bindings.secrets_store,
    BindingKind.DISPATCH_NAMESPACE: small_bindings.dispatch_namespace,
    BindingKind.WORKER_LOADER: small_bindings.worker_loader,
    BindingKind.VERSION_METADATA: small_bindings.version_metadata,
    **{kind: small_bindings.not_emulated(kind) for kind in NOT_EMULATED},
    BindingKind.ASSETS: _assets,
    BindingKind.VAR: _variable,
    BindingKind.SECRET: _variable,
}

#: The kinds that have a face.
SUPPORTED = frozenset(_FACES)


def make_environment(
    bindings: Iterable[Binding], host: Host, supplied: Mapping[str, Any] = MappingProxyType({})
) -> JsObject:
    """The worker's ``env`` as a JavaScript object. Later entries win, as a secret does over a variable.

    ``supplied`` values take the place of bindings of their names, or come beside them, as they are.
    """
    made = {
        binding.name: _FACES[binding.kind](binding.entry, host)
        for binding in bindings
        if binding.name not in supplied
    }
    return JsObject.adopt({**made, **supplied})


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
