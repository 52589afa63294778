"""The faces of bindings with few fields. Each is imported when the first worker has one."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pyflare.config.kinds import BindingKind
from pyflare.js.value import JsObject

from .host import Host

if TYPE_CHECKING:
    from pyflare.config.blocks.hosted import HostedBinding
    from pyflare.config.blocks.small import (
        AnalyticsEngineDataset,
        Hyperdrive,
        RateLimit,
        SecretsStoreSecret,
        SendEmailBinding,
    )

__all__ = [
    "analytics",
    "dispatch_namespace",
    "hyperdrive",
    "not_emulated",
    "rate_limit",
    "secrets_store",
    "send_email",
    "version_metadata",
    "worker_loader",
]


def rate_limit(entry: RateLimit, host: Host) -> Any:
    """``ratelimits``: counters are shared by all entries of one ``namespace_id``."""
    from .ratelimit import RateLimit

    return RateLimit._make(host.registry.rate_limit(entry.local_id), entry.limit, entry.period)


def analytics(entry: AnalyticsEngineDataset, host: Host) -> Any:
    """``analytics_engine_datasets``; without ``dataset`` it has the binding's name."""
    from .analytics import AnalyticsEngine

    return AnalyticsEngine._make(host.registry.analytics(entry.label))


def hyperdrive(entry: Hyperdrive, _host: Host) -> Any:
    """``hyperdrive``."""
    from .hyperdrive import Hyperdrive

    return Hyperdrive._make(entry.binding, entry.local_connection_string)


def send_email(entry: SendEmailBinding, host: Host) -> Any:
    """``send_email``."""
    from .email.binding import SendEmail, SendRules

    rules = SendRules(
        entry.destination_address,
        entry.allowed_destination_addresses,
        entry.allowed_sender_addresses,
    )
    registry = host.registry
    return SendEmail._make(registry.email(), rules, registry.clock, host.worker_name, host.notice)


def secrets_store(entry: SecretsStoreSecret, host: Host) -> Any:
    """``secrets_store_secrets``."""
    from .secrets_store import SecretsStoreSecret

    return SecretsStoreSecret._make(host.registry.secrets_store(entry.local_id), entry.secret_name)


def worker_loader(entry: HostedBinding, host: Host) -> Any:
    """``worker_loaders``."""
    from .worker_loader import WorkerLoader

    loader = host.dynamic(entry.binding)
    return WorkerLoader._make(loader.get, loader.load)


def dispatch_namespace(entry: HostedBinding, host: Host) -> Any:
    """``dispatch_namespaces``."""
    from .dispatch_namespace import DispatchNamespace

    outbound: dict[str, Any] = entry.settings.get("outbound") or {}
    service, environment = outbound.get("service"), outbound.get("environment")
    target = f"{service}-{environment}" if service and environment else service

    def dispatch(name: str, parameters: Mapping[str, Any]) -> Any:
        return host.dispatch(name, target, parameters)

    return DispatchNamespace._make(dispatch, tuple(outbound.get("parameters", ())))


def version_metadata(_entry: Any, host: Host) -> JsObject:
    """``version_metadata``: a version of its own for each start."""
    started = datetime.fromtimestamp(host.clock.now(), UTC).isoformat(timespec="milliseconds")
    timestamp = started.replace("+00:00", "Z")
    return JsObject.adopt({"id": str(uuid.uuid4()), "tag": "", "timestamp": timestamp})


def not_emulated(kind: BindingKind) -> Callable[[HostedBinding, Host], Any]:
    """The maker of faces of a kind that only the platform has."""

    def make(entry: HostedBinding, _host: Host) -> Any:
        from .not_emulated import make_not_emulated

        return make_not_emulated(kind, entry.binding)

    return make
