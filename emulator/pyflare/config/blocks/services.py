"""`services` and the consumers of tail events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..diagnostics import Position
from ..table import SHOULD, Table


@dataclass(frozen=True, slots=True, eq=False)
class ServiceBinding:
    """An entry of `services`. `props` reaches the callee as `ctx.props`."""

    binding: str
    service: str
    entrypoint: str | None = None
    environment: str | None = None
    props: dict[str, Any] | None = None
    remote: bool | None = None
    position: Position | None = None

    @property
    def target(self) -> str:
        """The name of the called worker, with its environment as a suffix."""
        return self.service if self.environment is None else f"{self.service}-{self.environment}"

    @property
    def label(self) -> str:
        return self.target if self.entrypoint is None else f"{self.target}#{self.entrypoint}"


@dataclass(frozen=True, slots=True, eq=False)
class TailConsumer:
    """An entry of `tail_consumers` or `streaming_tail_consumers`."""

    service: str
    environment: str | None = None
    entrypoint: str | None = None
    position: Position | None = None


def service(table: Table) -> ServiceBinding | None:
    binding = table.need_text("binding")
    name = table.need_text("service")
    environment = table.may_text("environment", SHOULD)
    entrypoint = table.may_text("entrypoint", SHOULD)
    props = table.table("props")
    if "dev" in table:
        table.warn(
            f'"{table.field}.dev" names a plugin of the JavaScript tools and has no effect here.',
            "dev",
        )
    remote = table.remote()
    table.only("binding", "service", "environment", "entrypoint", "props", "remote", "dev")
    if not table.valid:
        return None
    return ServiceBinding(
        binding,
        name,
        entrypoint,
        environment,
        None if props is None else props.value,
        remote,
        table.position,
    )


def tail_consumer(table: Table) -> TailConsumer | None:
    name = table.prop("service", "string", required=True)
    environment = table.text("environment")
    entrypoint = table.text("entrypoint")
    if not table.valid:
        return None
    return TailConsumer(name, environment, entrypoint, table.position)
