"""One reader per binding block. A module is imported when a configuration has its block."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

from ..table import Table

# Takes one entry, reports what is wrong with it, and gives the typed entry or None.
EntryReader = Callable[[Table], Any]

# Blocks that are a list of entries: key -> (module, reader, noun in "<noun> bindings should be").
LISTS: dict[str, tuple[str, str, str]] = {
    "workflows": ("objects", "workflow", "workflows"),
    "kv_namespaces": ("storage", "kv_namespace", "kv_namespaces"),
    "send_email": ("small", "send_email", "send_email"),
    "d1_databases": ("storage", "d1_database", "d1_databases"),
    "hyperdrive": ("small", "hyperdrive", "hyperdrive"),
    "r2_buckets": ("storage", "r2_bucket", "r2_buckets"),
    "secrets_store_secrets": ("small", "secrets_store_secret", "secrets_store_secrets"),
    "services": ("services", "service", "services"),
    "analytics_engine_datasets": ("small", "analytics_engine_dataset", "analytics_engine"),
    "ratelimits": ("small", "rate_limit", "ratelimits"),
    "pipelines": ("hosted", "pipeline", "pipeline"),
    "worker_loaders": ("hosted", "worker_loader", "worker_loader"),
    "vectorize": ("hosted", "vectorize", "vectorize"),
    "ai_search_namespaces": ("hosted", "ai_search_namespace", "ai_search_namespaces"),
    "ai_search": ("hosted", "ai_search", "ai_search"),
    "agent_memory": ("hosted", "agent_memory", "agent_memory"),
    "artifacts": ("hosted", "artifacts", "artifacts"),
    "flagship": ("hosted", "flagship", "flagship"),
    "vpc_services": ("hosted", "vpc_service", "vpc_services"),
    "vpc_networks": ("hosted", "vpc_network", "vpc_networks"),
    "mtls_certificates": ("hosted", "mtls_certificate", "mtls_certificates"),
    "dispatch_namespaces": ("hosted", "dispatch_namespace", "dispatch_namespaces"),
    "unsafe_hello_world": ("hosted", "hello_world", "unsafe_hello_world"),
}

# Blocks that are one object.
SINGLES: dict[str, tuple[str, str]] = {
    "browser": ("hosted", "browser"),
    "images": ("hosted", "images"),
    "ai": ("hosted", "ai"),
    "stream": ("hosted", "stream"),
    "websearch": ("hosted", "websearch"),
    "media": ("hosted", "media"),
    "version_metadata": ("small", "version_metadata"),
}


def reader(module: str, function: str) -> EntryReader:
    return cast(EntryReader, getattr(import_module(f".{module}", __name__), function))
