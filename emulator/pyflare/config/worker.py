"""The typed configuration of one worker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .compatibility import CompatibilityFlags
from .dev import DevConfig
from .diagnostics import Diagnostic, Position, render
from .kinds import Binding, BindingKind
from .secrets import Secrets

if TYPE_CHECKING:
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
    from .routes import Route
    from .rules import Rule


@dataclass(frozen=True, slots=True, eq=False)
class Variable:
    """A variable or secret of `env`. `hidden` ones are never shown: secrets and `--var`."""

    binding: str
    value: Any = field(repr=False)
    hidden: bool = False
    position: Position | None = None

    @property
    def label(self) -> str:
        """What the start-up table shows: the value as JSON, cut at 40 characters."""
        if self.hidden:
            return '"(hidden)"'
        if isinstance(self.value, str):
            text = self.value
            return f'"{text[:40]}..."' if len(text) > 40 else f'"{text}"'
        from .stringify import stringify

        text = stringify(self.value)
        return f"{text[:40]}..." if len(text) > 40 else text


class BuildConfig(NamedTuple):
    """The command to run before a start; `watch_dirs` are absolute and empty without one."""

    command: str | None = None
    cwd: str | None = None
    watch_dirs: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class WorkerConfig:
    """One worker: one configuration with one environment chosen.

    `directory` is what relative paths in it start from; `main` and `base_dir` (the bundle root)
    are absolute. `blocks` holds the typed entries of every binding block under its key.
    `deploy_only` holds the checked settings that only matter once deployed, as they were written.
    """

    name: str
    directory: Path
    config_path: Path | None
    main: Path | None
    base_dir: Path
    compatibility_date: str
    compatibility_flags: tuple[str, ...]
    compatibility: CompatibilityFlags
    vars: Mapping[str, Any]
    secrets: Secrets
    blocks: Mapping[str, tuple[Any, ...]]
    var_positions: Mapping[str, Position | None] = field(repr=False)
    required_secrets: tuple[str, ...] | None
    migrations: tuple[Migration, ...]
    object_classes: Mapping[str, bool]
    queue_consumers: tuple[QueueConsumer, ...]
    tail_consumers: tuple[TailConsumer, ...]
    streaming_tail_consumers: tuple[TailConsumer, ...]
    routes: tuple[Route, ...]
    crons: tuple[str, ...] | None
    assets: AssetsConfig | None
    rules: tuple[Rule, ...]
    python_modules_exclude: tuple[str, ...]
    build: BuildConfig
    dev: DevConfig
    limits: Mapping[str, float]
    define: Mapping[str, str]
    deploy_only: Mapping[str, Any]

    # object_classes: every Durable Object class that this worker declares, from `migrations`
    # folded in order and from `exports`, each with whether its storage is SQLite.

    @property
    def kv_namespaces(self) -> tuple[KVNamespace, ...]:
        return self.blocks.get("kv_namespaces", ())

    @property
    def d1_databases(self) -> tuple[D1Database, ...]:
        return self.blocks.get("d1_databases", ())

    @property
    def r2_buckets(self) -> tuple[R2Bucket, ...]:
        return self.blocks.get("r2_buckets", ())

    @property
    def durable_objects(self) -> tuple[DurableObjectBinding, ...]:
        return self.blocks.get("durable_objects", ())

    @property
    def workflows(self) -> tuple[WorkflowBinding, ...]:
        return self.blocks.get("workflows", ())

    @property
    def queue_producers(self) -> tuple[QueueProducer, ...]:
        return self.blocks.get("queues", ())

    @property
    def services(self) -> tuple[ServiceBinding, ...]:
        return self.blocks.get("services", ())

    @property
    def send_email(self) -> tuple[SendEmailBinding, ...]:
        return self.blocks.get("send_email", ())

    @property
    def ratelimits(self) -> tuple[RateLimit, ...]:
        return self.blocks.get("ratelimits", ())

    @property
    def analytics_engine_datasets(self) -> tuple[AnalyticsEngineDataset, ...]:
        return self.blocks.get("analytics_engine_datasets", ())

    @property
    def hyperdrive(self) -> tuple[Hyperdrive, ...]:
        return self.blocks.get("hyperdrive", ())

    @property
    def secrets_store_secrets(self) -> tuple[SecretsStoreSecret, ...]:
        return self.blocks.get("secrets_store_secrets", ())

    @property
    def version_metadata(self) -> VersionMetadata | None:
        return next(iter(self.blocks.get("version_metadata", ())), None)

    def hosted(self, kind: BindingKind) -> tuple[HostedBinding, ...]:
        """The entries of a kind without a class of its own, such as `BindingKind.AI`."""
        return self.blocks.get(kind.value, ())

    def bindings(self) -> Iterator[Binding]:
        """Every binding of `env`, in the order of the start-up table: kinds as BindingKind lists
        them, variables last."""
        for kind in BindingKind:
            for entry in self.blocks.get(kind.value, ()):
                if entry.binding is not None:
                    yield Binding(kind, entry.binding, entry)
        for name, value in self.vars.items():
            position = self.var_positions.get(name)
            yield Binding(BindingKind.VAR, name, Variable(name, value, position=position))
        for name, value in self.secrets.items():
            yield Binding(BindingKind.SECRET, name, Variable(name, value, hidden=True))


@dataclass(frozen=True, slots=True, eq=False)
class LoadedConfig:
    """What `load` gives.

    `path` is the file that was used, `user_path` the one the user wrote (another one when a build
    tool redirects); `project` is the directory of the latter, where state belongs. `files` is
    everything that a watcher should watch, also files that do not exist yet. `secret_files` are
    the files whose secrets were taken, `process_env` whether the process environment was
    consulted too.
    """

    worker: WorkerConfig
    environment: str | None
    diagnostics: tuple[Diagnostic, ...]
    files: tuple[Path, ...]
    project: Path
    path: Path | None = None
    user_path: Path | None = None
    secret_files: tuple[Path, ...] = ()
    process_env: bool = False

    def render_warnings(self) -> str:
        """The warnings as the terminal shows them, or an empty text."""
        return render(self.diagnostics, "warning")
