"""`unsafe` and `logfwdr`: bindings that are passed through without being understood.

One type of `unsafe` is understood: rate limits were declared there until they were generally available, and such
Workers go on as they are.

Source: https://developers.cloudflare.com/changelog/2025-09-19-ratelimit-workers-ga/
"""

from __future__ import annotations

from typing import Any

from ..stringify import stringify
from ..table import NEEDS, Table
from .hosted import HostedBinding
from .small import RateLimit, simple_limit


def unsafe(table: Table) -> tuple[HostedBinding | RateLimit, ...]:
    """The entries of `unsafe.bindings`; `metadata` and `capnp` are checked and not used."""
    found: list[HostedBinding | RateLimit] = []
    if "bindings" in table:
        for entry in _entries(table):
            name = entry.need_text("name", NEEDS)
            kind = entry.need_text("type", NEEDS)
            if entry.valid and kind == "ratelimit":
                limit = _rate_limit(entry, name)
                found += [] if limit is None else [limit]
            elif entry.valid:
                found.append(HostedBinding(name, kind, None, entry.value, entry.position))
    for key in ("metadata", "capnp"):
        table.table(
            key,
            f'The field "{table.field}.{key}" should be an object but got '
            f"{stringify(table.value.get(key))}.",
        )
    table.only("bindings", "metadata", "capnp")
    return tuple(found)


def _rate_limit(entry: Table, name: str) -> RateLimit | None:
    limit, period = simple_limit(entry)
    namespace = entry.value.get("namespace_id", name)
    if not entry.valid:
        return None
    return RateLimit(name, str(namespace), limit, period, entry.position)


def logfwdr(table: Table) -> tuple[HostedBinding, ...]:
    """The entries of `logfwdr.bindings`."""
    if "bindings" not in table:
        table.fail(f'The field "{table.field}" is missing the required "bindings" property.')
        return ()
    found: list[HostedBinding] = []
    for entry in _entries(table):
        name = entry.need_text("name", NEEDS)
        destination = entry.need_text("destination", NEEDS)
        entry.only("name", "destination")
        if entry.valid:
            found.append(HostedBinding(name, destination, None, entry.value, entry.position))
    return tuple(found)


def _entries(table: Table) -> list[Table]:
    value: Any = table.value["bindings"]
    if not isinstance(value, list):
        table.fail(
            f'The field "{table.field}.bindings" should be an array but got {stringify(value)}.',
            "bindings",
        )
        return []
    entries: list[Table] = []
    for index, raw in enumerate(value):
        field, path = f"{table.field}.bindings[{index}]", (*table.path, "bindings", index)
        if isinstance(raw, dict):
            heading = f'"{field}": {stringify(raw)}'
            entries.append(Table(raw, field, path, table.report.within(heading)))
        else:
            table.valid = False
            table.report.error(f'Expected "{field}" to be an object but got {stringify(raw)}', path)
    return entries
