"""The raw ``env`` of a worker: one face for each binding of its configuration."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from pyflare.config.diagnostics import ConfigError, Diagnostic
from pyflare.config.kinds import Binding, BindingKind
from pyflare.js.value import JsObject
from pyflare_bindings.registry import BindingRegistry

__all__ = ["SUPPORTED", "make_environment", "refuse_unsupported"]


class _Named(Protocol):
    """An entry with the identity that decides sharing."""

    @property
    def local_id(self) -> str: ...


def _d1(entry: _Named, registry: BindingRegistry) -> Any:
    from .d1 import D1Database
    from .d1_requests import Connection

    return D1Database._make(Connection(registry.d1(entry.local_id)))


def _variable(entry: Any, _registry: BindingRegistry) -> Any:
    if isinstance(entry.value, str):
        return entry.value
    from pyflare.js.json import JSON

    return JSON.parse(json.dumps(entry.value))


def _version_metadata(_entry: Any, _registry: BindingRegistry) -> Any:
    import uuid
    from datetime import UTC, datetime

    started = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return JsObject.adopt({"id": str(uuid.uuid4()), "tag": "", "timestamp": started})


_FACES: dict[BindingKind, Callable[[Any, BindingRegistry], Any]] = {
    BindingKind.D1: _d1,
    BindingKind.VERSION_METADATA: _version_metadata,
    BindingKind.VAR: _variable,
    BindingKind.SECRET: _variable,
}

#: The kinds that have a face.
SUPPORTED = frozenset(_FACES)


def refuse_unsupported(worker: str, bindings: Iterable[Binding]) -> None:
    """Raise :class:`ConfigError` that names every binding of a kind without a face."""
    refused = [
        Diagnostic(
            "error",
            f'Worker "{worker}": the binding "{binding.name}" ({binding.kind.friendly}, '
            f'"{binding.kind}") is not supported by this version of pyflare.',
            position=getattr(binding.entry, "position", None),
            hint="Remove it from the configuration, or keep it in an environment that is not run with pyflare.",
        )
        for binding in bindings
        if binding.kind not in _FACES
    ]
    if refused:
        raise ConfigError(refused)


def make_environment(bindings: Iterable[Binding], registry: BindingRegistry) -> JsObject:
    """The worker's ``env`` as a JavaScript object. Later entries win, as a secret does over a variable."""
    return JsObject.adopt(
        {binding.name: _FACES[binding.kind](binding.entry, registry) for binding in bindings}
    )
