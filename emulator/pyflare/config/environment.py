"""One environment of a configuration: the top level, or a named one."""

from __future__ import annotations

from pathlib import Path

from . import binding_blocks, object_classes, settings
from .report import Report
from .scope import Scope, Values

ENVIRONMENT_KEYS = (
    *settings.INHERITABLE,
    *binding_blocks.INHERITABLE,
    *binding_blocks.NOT_INHERITABLE,
    *object_classes.INHERITABLE,
)

DEFAULT_WORKER_NAME = "worker"


def read_environment(
    raw: Values,
    report: Report,
    directory: Path,
    *,
    env_name: str | None = None,
    top: Values | None = None,
    top_raw: Values | None = None,
    name: str | None = None,
) -> Values:
    """The checked values of the top level (`env_name` None), or of `env.<env_name>` with what it
    inherits from `top`. Every mistake goes to `report`; what it concerns is left at its default.
    `name` overrides the name of the worker.
    """
    scope = Scope(raw, report, directory, env_name, top, top_raw)
    settings.read(scope)
    if name is not None:
        scope.values["name"] = name
    binding_blocks.read(scope, scope.values["name"] or DEFAULT_WORKER_NAME)
    object_classes.read(scope)
    if env_name is not None:
        report.unexpected(f"env.{env_name}", scope.table.path, raw, ENVIRONMENT_KEYS)
    return scope.values
