"""One name in `env`, one binding."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .diagnostics import Position
from .report import Report
from .stringify import english_list

# The order in which kinds are named when several of them claim one name.
_ORDER = (
    "data_blobs", "durable_objects", "kv_namespaces", "send_email", "queues", "d1_databases",
    "vectorize", "ai_search_namespaces", "ai_search", "websearch", "agent_memory", "hyperdrive",
    "r2_buckets", "logfwdr", "services", "analytics_engine_datasets", "text_blobs", "browser",
    "ai", "images", "stream", "media", "version_metadata", "unsafe", "vars", "wasm_modules",
    "dispatch_namespaces", "mtls_certificates", "workflows", "pipelines", "secrets_store_secrets",
    "artifacts", "ratelimits", "assets", "unsafe_hello_world", "flagship", "worker_loaders",
    "vpc_services", "vpc_networks", "secrets",
)  # fmt: skip


class Claim(NamedTuple):
    """A name that something wants in `env`."""

    block: str
    kind: str
    name: str
    position: Position | None


def check_unique_names(claims: Iterable[Claim], report: Report) -> None:
    """Every name with two claims is an error, placed at its last claim."""
    by_name: dict[str, list[Claim]] = {}
    for claim in sorted(claims, key=lambda each: _ORDER.index(each.block)):
        by_name.setdefault(claim.name, []).append(claim)
    found = False
    for name, same in by_name.items():
        if len(same) < 2:
            continue
        found = True
        kinds = [claim.kind for claim in same]
        different = list(dict.fromkeys(kinds))
        if len(different) > 1:
            report.error(
                f"{name} assigned to {english_list(different)} bindings.", at=same[-1].position
            )
        for kind in different:
            if kinds.count(kind) > 1:
                last = next(claim for claim in reversed(same) if claim.kind == kind)
                report.error(f"{name} assigned to multiple {kind} bindings.", at=last.position)
    if found:
        report.error(
            "Bindings must have unique names, so that they can all be referenced in the worker.\n"
            "Please change your bindings to have unique names."
        )
