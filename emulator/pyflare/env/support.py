"""What of a configuration this version can do: the rest is refused by name, or warned of."""

from __future__ import annotations

from pyflare.config.diagnostics import ConfigError, Diagnostic
from pyflare.config.worker import WorkerConfig

from .bindings import SUPPORTED

__all__ = ["refuse_unsupported", "without_effect"]


def refuse_unsupported(config: WorkerConfig) -> None:
    """Raise :class:`ConfigError` that names everything in a configuration that would not work here."""
    refused: list[tuple[str, object]] = [
        (f'the binding "{binding.name}" ({binding.kind.friendly}, "{binding.kind}")', binding.entry)
        for binding in config.bindings()
        if binding.kind not in SUPPORTED
    ]
    if config.assets is not None and config.assets.binding is None:
        refused.append(('"assets"', config.assets))
    refused += [
        (f'the consumer of the queue "{consumer.queue}" ("queues.consumers")', consumer)
        for consumer in config.queue_consumers
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


def without_effect(config: WorkerConfig) -> list[str]:
    """A warning for each part of a configuration that is accepted and does nothing here."""
    warnings = []
    if config.crons:
        shown = ", ".join(f'"{cron}"' for cron in config.crons)
        warnings.append(
            f'Worker "{config.name}": cron triggers ({shown}) do not fire in this version of pyflare.'
        )
    if config.tail_consumers:
        warnings.append(
            f'Worker "{config.name}": "tail_consumers" has no effect in this version of pyflare.'
        )
    return warnings
