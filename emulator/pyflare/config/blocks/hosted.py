"""Bindings to services that only exist on the platform, or that are kept in a generic form."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..diagnostics import Position
from ..stringify import stringify
from ..table import MUST, NEEDS, SHOULD, Table

_MUST_PLAIN = '"{field}" bindings must have a "{key}" field but got {json}.'
_MUST_AN = '"{field}" bindings must have an "{key}" field but got {json}.'


@dataclass(frozen=True, slots=True, eq=False)
class HostedBinding:
    """An entry of a block that has no class of its own. `settings` holds its other fields as
    they were written, `label` what the start-up table shows."""

    binding: str
    label: str = ""
    remote: bool | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    position: Position | None = None


def _entry(table: Table, binding: str, label: str | None, remote: bool | None) -> HostedBinding:
    return HostedBinding(binding, label or "", remote, table.value, table.position)


def _named(table: Table, key: str, template: str) -> HostedBinding | None:
    """An entry with a name and one required text."""
    binding = table.need_text("binding")
    resource = table.need_text(key, template)
    remote = table.remote()
    table.only("binding", key, "remote")
    return _entry(table, binding, resource, remote) if table.valid else None


def vectorize(table: Table) -> HostedBinding | None:
    return _named(table, "index_name", _MUST_AN)


def ai_search_namespace(table: Table) -> HostedBinding | None:
    return _named(table, "namespace", _MUST_PLAIN)


def ai_search(table: Table) -> HostedBinding | None:
    return _named(table, "instance_name", _MUST_AN)


def agent_memory(table: Table) -> HostedBinding | None:
    return _named(table, "namespace", _MUST_PLAIN)


def vpc_service(table: Table) -> HostedBinding | None:
    return _named(table, "service_id", _MUST_PLAIN)


def artifacts(table: Table) -> HostedBinding | None:
    return _named(table, "namespace", MUST)


def mtls_certificate(table: Table) -> HostedBinding | None:
    if table.value.get("certificate_id") == "":
        table.fail(
            SHOULD.format(
                field=table.field,
                key="certificate_id",
                type="string",
                json=stringify(table.value),
            ),
            "certificate_id",
        )
    return _named(table, "certificate_id", SHOULD)


def vpc_network(table: Table) -> HostedBinding | None:
    binding = table.need_text("binding")
    present = [key for key in ("tunnel_id", "network_id") if key in table]
    if len(present) == 2:
        table.fail(
            f'"{table.field}" bindings must have either a "tunnel_id" or "network_id", '
            "but not both."
        )
    elif not present:
        table.fail(
            f'"{table.field}" bindings must have either a "tunnel_id" or "network_id" field but '
            f"got {stringify(table.value)}."
        )
    else:
        table.need_text(present[0], MUST)
    remote = table.remote()
    table.only("binding", "tunnel_id", "network_id", "remote")
    if not table.valid:
        return None
    return _entry(table, binding, table.value[present[0]], remote)


def flagship(table: Table) -> HostedBinding | None:
    binding = table.need_text("binding", MUST)
    app = table.may_text(
        "app_id", '"{field}" bindings may have a {type} "{key}" field but got {json}.'
    )
    remote = table.remote()
    table.only("binding", "app_id", "remote")
    return _entry(table, binding, app, remote) if table.valid else None


def dispatch_namespace(table: Table) -> HostedBinding | None:
    binding = table.need_text(
        "binding", '"{field}" should have a {type} "{key}" field but got {json}.'
    )
    namespace = table.may_text(
        "namespace", '"{field}" should optionally have a {type} "{key}" field but got {json}.'
    )
    if "outbound" in table:
        outbound = table.table("outbound")
        if outbound is not None:
            outbound.prop("service", "string", required=True)
            outbound.text("environment")
            outbound.texts("parameters")
        if outbound is None or not outbound.valid:
            table.fail(f'"{table.field}" has an invalid outbound definition.', "outbound")
    remote = table.remote()
    return _entry(table, binding, namespace, remote) if table.valid else None


def pipeline(table: Table) -> HostedBinding | None:
    binding = table.need_text("binding", MUST)
    stream, older = table.value.get("stream"), table.value.get("pipeline")
    target = stream
    if not isinstance(stream, str) or stream == "":
        if isinstance(older, str) and older != "":
            target = older
            table.warn(
                f'The "pipeline" field in "{table.field}" bindings is deprecated. '
                'Use "stream" instead.',
                "pipeline",
            )
        else:
            table.need_text("stream", MUST)
            if table.valid:
                table.fail(
                    MUST.format(
                        field=table.field, key="stream", type="string", json=stringify(table.value)
                    ),
                    "stream",
                )
    remote = table.remote()
    table.only("binding", "stream", "pipeline", "remote")
    if not table.valid:
        return None
    return _entry(table, binding, str(target), remote)


def worker_loader(table: Table) -> HostedBinding | None:
    binding = table.need_text("binding", MUST)
    table.only("binding")
    return _entry(table, binding, None, None) if table.valid else None


def hello_world(table: Table) -> HostedBinding | None:
    binding = table.need_text("binding", MUST)
    table.may("enable_timer", MUST, "boolean")
    table.only("binding", "enable_timer")
    return _entry(table, binding, None, None) if table.valid else None


def _single(table: Table, *more: str) -> HostedBinding | None:
    binding = table.need_text("binding", NEEDS)
    remote = table.remote()
    table.only("binding", "remote", *more)
    return _entry(table, binding, None, remote) if table.valid else None


def ai(table: Table) -> HostedBinding | None:
    return _single(table, "staging")


def browser(table: Table) -> HostedBinding | None:
    return _single(table)


images = stream = websearch = media = browser
