"""`triggers`: cron schedules, and events of the Artifacts service."""

from __future__ import annotations

from typing import Any

from .stringify import stringify
from .table import Table

_EVENT_TYPES = frozenset(
    f"cf.artifacts.repo.{name}"
    for name in (
        "created", "deleted", "forked", "imported", "pushed", "cloned", "fetched",
        "token.created", "token.revoked",
    )
)  # fmt: skip


def read_crons(table: Table) -> tuple[str, ...] | None:
    """The cron texts, or None when the block names none (which is not the same as an empty
    list: that removes every schedule)."""
    crons: tuple[str, ...] | None = None
    if "crons" in table:
        value = table.value["crons"]
        if not isinstance(value, list):
            table.fail(
                f'Expected "{table.field}.crons" to be of type array, but got '
                f"{stringify(table.value)}.",
                "crons",
            )
        else:
            crons = table.texts("crons")
            _check_crons(table, crons or ())
    if "events" in table:
        _check_events(table)
    table.only("crons", "events")
    return crons


def _check_crons(table: Table, crons: tuple[str, ...]) -> None:
    from pyflare.cron.expression import CronError, CronExpression

    for index, text in enumerate(crons):
        try:
            CronExpression.parse(text)
        except CronError as error:
            table.valid = False
            table.report.error(
                f'"{table.field}.crons[{index}]" is not a cron expression: {text!r}. In {error}.'
                if str(error).startswith("the ")
                else f'"{table.field}.crons[{index}]" is not a cron expression: {text!r}: {error}.',
                (*table.path, "crons", index),
                'An example is "*/15 9-17 * * MON-FRI"; times are in UTC, and 1 is Sunday.',
            )


def _check_events(table: Table) -> None:
    events = table.value["events"]
    if not isinstance(events, list):
        table.fail(
            f'Expected "{table.field}.events" to be of type array, but got '
            f"{stringify(table.value)}.",
            "events",
        )
        return
    for index, raw in enumerate(events):
        field, path = f"{table.field}.events[{index}]", (*table.path, "events", index)
        if not isinstance(raw, dict):
            table.valid = False
            table.report.error(
                f'Expected "{field}" to be of type object, but got {stringify(raw)}.', path
            )
            continue
        event = Table(raw, field, path, table.report)
        _check_event(event)
        table.valid = table.valid and event.valid


def _check_event(event: Table) -> None:
    kind = event.value.get("type")
    if not isinstance(kind, str) or kind not in _EVENT_TYPES:
        event.fail(
            f'Expected "{event.field}.type" to be a supported Artifacts event type, but got '
            f"{stringify(kind)}.",
            "type",
            f"Accepted are {', '.join(sorted(_EVENT_TYPES))}.",
        )
    filters = event.value.get("filter", {})
    if not isinstance(filters, dict):
        event.fail(
            f'Expected "{event.field}.filter" to be of type object, but got {stringify(filters)}.',
            "filter",
        )
    elif not all(
        key in ("namespace", "repo_name") and isinstance(value, str)
        for key, value in filters.items()
    ):
        event.fail(
            f'Expected "{event.field}.filter" to contain only string "namespace" and "repo_name" '
            f"fields, but got {stringify(filters)}.",
            "filter",
        )
    targets = event.value.get("targets")
    if not isinstance(targets, list) or not targets:
        event.fail(
            f'Expected "{event.field}.targets" to be a non-empty array, but got '
            f"{stringify(targets)}.",
            "targets",
        )
    else:
        for index, target in enumerate(targets):
            _check_target(event, index, target)
    event.only("type", "filter", "targets")


def _check_target(event: Table, index: int, target: Any) -> None:
    match target:
        case {"type": "workflow", "workflow_name": str(name)} if name:
            return
    event.fail(
        f'Expected "{event.field}.targets[{index}]" to be a workflow target with a non-empty '
        f'"workflow_name", but got {stringify(target)}.',
        "targets",
    )
