"""Wrangler configuration: wrangler.toml, .json and .jsonc as typed objects.

`load` reads a file with everything that belongs to it, `parse` the same from Python objects.
The types of binding entries are imported when they are asked for: a start pays only for the
blocks that its configuration has.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .assembly import Overrides
    from .assets import AssetsConfig
    from .blocks.hosted import HostedBinding
    from .blocks.objects import DurableObjectBinding, Migration, WorkflowBinding
    from .blocks.queues import QueueConsumer, QueueProducer
    from .blocks.services import ServiceBinding, TailConsumer
    from .blocks.small import (
        AnalyticsEngineDataset,
        Hyperdrive,
        RateLimit,
        SecretsStoreSecret,
        SendEmailBinding,
        VersionMetadata,
    )
    from .blocks.storage import D1Database, KVNamespace, R2Bucket
    from .compatibility import RUNTIME_DATE, CompatibilityFlags
    from .dev import DevConfig
    from .diagnostics import ConfigError, Diagnostic, Position, render
    from .kinds import Binding, BindingKind
    from .loading import load, parse
    from .routes import Route
    from .rules import ModuleRules, Rule
    from .secrets import Secrets
    from .variables import parse_var_flags
    from .worker import BuildConfig, LoadedConfig, Variable, WorkerConfig

_HOMES = {
    "Overrides": "assembly",
    "AssetsConfig": "assets",
    "HostedBinding": "blocks.hosted",
    "DurableObjectBinding": "blocks.objects",
    "Migration": "blocks.objects",
    "WorkflowBinding": "blocks.objects",
    "QueueConsumer": "blocks.queues",
    "QueueProducer": "blocks.queues",
    "ServiceBinding": "blocks.services",
    "TailConsumer": "blocks.services",
    "AnalyticsEngineDataset": "blocks.small",
    "Hyperdrive": "blocks.small",
    "RateLimit": "blocks.small",
    "SecretsStoreSecret": "blocks.small",
    "SendEmailBinding": "blocks.small",
    "VersionMetadata": "blocks.small",
    "D1Database": "blocks.storage",
    "KVNamespace": "blocks.storage",
    "R2Bucket": "blocks.storage",
    "RUNTIME_DATE": "compatibility",
    "CompatibilityFlags": "compatibility",
    "DevConfig": "dev",
    "ConfigError": "diagnostics",
    "Diagnostic": "diagnostics",
    "Position": "diagnostics",
    "render": "diagnostics",
    "Binding": "kinds",
    "BindingKind": "kinds",
    "load": "loading",
    "parse": "loading",
    "Route": "routes",
    "ModuleRules": "rules",
    "Rule": "rules",
    "Secrets": "secrets",
    "parse_var_flags": "variables",
    "BuildConfig": "worker",
    "LoadedConfig": "worker",
    "Variable": "worker",
    "WorkerConfig": "worker",
}

__all__ = [
    "RUNTIME_DATE",
    "AnalyticsEngineDataset",
    "AssetsConfig",
    "Binding",
    "BindingKind",
    "BuildConfig",
    "CompatibilityFlags",
    "ConfigError",
    "D1Database",
    "DevConfig",
    "Diagnostic",
    "DurableObjectBinding",
    "HostedBinding",
    "Hyperdrive",
    "KVNamespace",
    "LoadedConfig",
    "Migration",
    "ModuleRules",
    "Overrides",
    "Position",
    "QueueConsumer",
    "QueueProducer",
    "R2Bucket",
    "RateLimit",
    "Route",
    "Rule",
    "Secrets",
    "SecretsStoreSecret",
    "SendEmailBinding",
    "ServiceBinding",
    "TailConsumer",
    "Variable",
    "VersionMetadata",
    "WorkerConfig",
    "WorkflowBinding",
    "load",
    "parse",
    "parse_var_flags",
    "render",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value
