"""What of a configuration this version can do: the rest is refused by name, or warned of."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from pyflare.config.blocks.services import ServiceBinding
from pyflare.config.diagnostics import ConfigError, Diagnostic
from pyflare.config.worker import WorkerConfig

from .bindings import SUPPORTED

__all__ = ["missing_services", "refuse_unsupported", "without_effect"]


def refuse_unsupported(config: WorkerConfig, supplied: Collection[str] = ()) -> None:
    """Raise :class:`ConfigError` that names everything in a configuration that would not work here.

    ``supplied`` are the names of bindings that the embedder gives an implementation for.
    """
    refused: list[tuple[str, object]] = [
        (f'the binding "{binding.name}" ({binding.kind.friendly}, "{binding.kind}")', binding.entry)
        for binding in config.bindings()
        if binding.kind not in SUPPORTED and binding.name not in supplied
    ]
    if refused:
        raise ConfigError(
            Diagnostic(
                "error",
                f'Worker "{config.name}": {what} is not supported by this version of pyflare.',
                position=getattr(entry, "position", None),
                hint="Remove it, or keep it in an environment that is not run with pyflare.",
            )
            for what, entry in refused
        )


def without_effect(config: WorkerConfig, supplied: Collection[str] = ()) -> list[str]:
    """A warning for each part of a configuration that is accepted and does nothing here."""
    warnings = [
        f'Worker "{config.name}": the binding "{binding.name}" ({binding.kind.friendly}) is not emulated; using it '
        "raises an error."
        for binding in config.bindings()
        if not binding.kind.is_emulated and binding.name not in supplied
    ]
    warnings += [
        f'Worker "{config.name}": the Hyperdrive binding "{entry.binding}" has no local database; using it fails.'
        for entry in config.hyperdrive
        if not entry.local_connection_string and entry.binding not in supplied
    ]
    if config.streaming_tail_consumers:
        warnings.append(
            f'Worker "{config.name}": "streaming_tail_consumers" has no effect; "tail_consumers" has.'
        )
    return warnings


def missing_services(configurations: Iterable[WorkerConfig]) -> list[str]:
    """A warning for each binding to a worker that is not among these."""
    there = list(configurations)
    names = {config.name for config in there}
    return [
        f'Worker "{config.name}": the binding "{binding.name}" refers to the Worker "{binding.entry.target}", which is '
        "not running here. Calls on it fail until its configuration is given too (-c)."
        for config in there
        for binding in config.bindings()
        if isinstance(binding.entry, ServiceBinding) and binding.entry.target not in names
    ]
