"""Importing and exporting everything that configurations name."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterable
from enum import Enum
from pathlib import Path
from typing import Final, NamedTuple

from pyflare.config.worker import WorkerConfig
from pyflare_bindings.registry import BindingRegistry
from pyflare_bindings.storage.errors import StateError
from pyflare_bindings.storage.sqlite import make_private_directory

from . import d1, kv, objects, r2
from .layout import WranglerState
from .names import D1, KV, R2
from .options import Options
from .outcome import Outcome

__all__ = ["Kind", "Resource", "export_state", "import_state", "resources_of", "unclaimed"]

_WORK: Final = "incoming"


class Kind(Enum):
    """What can be carried over: its name for people, and what imports and exports one of it."""

    D1 = "D1 database"
    KV = "KV namespace"
    R2 = "R2 bucket"
    OBJECTS = "Durable Object class"


_IMPORT: Final = {
    Kind.D1: d1.import_database,
    Kind.KV: kv.import_namespace,
    Kind.R2: r2.import_bucket,
    Kind.OBJECTS: objects.import_class,
}
_EXPORT: Final = {
    Kind.D1: d1.export_database,
    Kind.KV: kv.export_namespace,
    Kind.R2: r2.export_bucket,
    Kind.OBJECTS: objects.export_class,
}
_PLUGINS: Final = {Kind.D1: D1, Kind.KV: KV, Kind.R2: R2}
_NOT_CARRIED: Final = {
    "cache": "the Cache API's entries",
    "workflows": "Workflow instances",
    "secrets-store": "secrets",
}


class Resource(NamedTuple):
    """One resource of a configuration, as both sides name it."""

    kind: Kind
    id: str


def resources_of(workers: Iterable[WorkerConfig]) -> list[Resource]:
    """The resources that configurations name, each once."""
    found: list[Resource] = []
    for worker in workers:
        found += [Resource(Kind.D1, each.local_id) for each in worker.d1_databases]
        found += [Resource(Kind.KV, each.local_id) for each in worker.kv_namespaces]
        found += [Resource(Kind.R2, each.local_id) for each in worker.r2_buckets]
        found += [Resource(Kind.OBJECTS, each.local_id) for each in worker.durable_objects]
        found += [Resource(Kind.OBJECTS, f"{worker.name}-{each}") for each in worker.object_classes]
    return list(dict.fromkeys(found))


async def import_state(
    source: WranglerState,
    resources: Iterable[Resource],
    registry: BindingRegistry,
    options: Options,
) -> AsyncIterator[Outcome]:
    """Carry each resource over, all of it or nothing (an object for each object of a class).

    In: `registry`, of a state directory that nobody else uses meanwhile. Out: what became of each, as soon as it is
    known; one that fails does not keep the others.
    """
    work = registry.layout.directory(_WORK)
    for kind, id in resources:
        try:
            _empty(work)
            outcome = await _IMPORT[kind](source, id, registry, work, options)
        except StateError as error:
            outcome = Outcome(kind.value, id, "failed", problems=[str(error)])
        finally:
            shutil.rmtree(work, ignore_errors=True)
        yield outcome


async def export_state(
    registry: BindingRegistry,
    resources: Iterable[Resource],
    target: WranglerState,
    options: Options,
) -> AsyncIterator[Outcome]:
    """Write each resource where wrangler looks for it. Out: as for `import_state`."""
    for kind, id in resources:
        try:
            outcome = await _EXPORT[kind](registry, id, target, options)
        except StateError as error:
            outcome = Outcome(kind.value, id, "failed", problems=[str(error)])
        yield outcome


def unclaimed(source: WranglerState, resources: Iterable[Resource]) -> list[str]:
    """What is in the source and is not carried over, for a person."""
    notes = []
    wanted = set(resources)
    for kind, plugin in _PLUGINS.items():
        known = {source.database(plugin, each.id) for each in wanted if each.kind is kind}
        others = set(source.database_files(source.databases(plugin))) - known
        if others:
            notes.append(f"{len(others)} x {kind.value} that no configuration names")
    classes = [
        name for name in source.folder_names("do") if Resource(Kind.OBJECTS, name) not in wanted
    ]
    notes += [f"Durable Object class {name}, which no configuration names" for name in classes]
    folders = [folder for folder in _NOT_CARRIED if source.folder_names(folder)]
    notes += [f"{_NOT_CARRIED[each]} ({each}), which are not carried over" for each in folders]
    return notes


def _empty(work: Path) -> None:
    # What a run that was killed has left.
    shutil.rmtree(work, ignore_errors=True)
    make_private_directory(work)
