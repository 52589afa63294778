"""Which Durable Object classes an environment declares, by `migrations` or by `exports`."""

from __future__ import annotations

from functools import partial
from typing import Any

from .scope import Scope
from .stringify import stringify

INHERITABLE = ("migrations", "exports")


def read(scope: Scope) -> None:
    scope.inherit("migrations", partial(_migrations, scope), ())
    scope.inherit("exports", partial(_exports, scope), {})
    classes: dict[str, bool] = {}
    if scope.values["migrations"]:
        from .blocks.objects import fold

        # An inherited list was folded, and its mistakes told, with the top level.
        own = scope.raw.get("migrations") is not None or scope.top is None
        classes = (
            fold(scope.values["migrations"], scope.table)
            if own or scope.top is None
            else dict(scope.top["object_classes"])
        )
    if scope.values["migrations"] and scope.values["exports"]:
        scope.report.error(
            "`migrations` and `exports` are mutually exclusive. Choose one or the other to "
            "declare your Durable Object lifecycle, but not both.",
            (*scope.table.path, "exports"),
        )
    scope.values["object_classes"] = classes | scope.values["exports"]
    _warn_undeclared(scope)


def _migrations(scope: Scope) -> Any:
    value = scope.raw["migrations"]
    if not isinstance(value, list):
        if value is not None:
            scope.table.fail(
                f'The optional "migrations" field should be an array, but got {stringify(value)}',
                "migrations",
            )
        return None
    from .blocks.objects import migrations

    return migrations(value, "migrations", scope.table)


def _exports(scope: Scope) -> Any:
    value = scope.raw["exports"]
    if value is None:
        return None
    table = scope.table.table(
        "exports",
        'The optional "exports" field should be an object keyed by class name, but got '
        f"{stringify(value)}",
    )
    if table is None:
        return None
    from .blocks.objects import exports

    return exports(table)


def _warn_undeclared(scope: Scope) -> None:
    if scope.values["migrations"]:
        return
    missing = list(
        dict.fromkeys(
            entry.class_name
            for entry in scope.values["durable_objects"]
            if entry.script_name is None and entry.class_name not in scope.values["exports"]
        )
    )
    if missing:
        scope.report.warning(
            "You have configured `durable_objects` exported by this Worker "
            f"({', '.join(missing)}), but no `migrations` (or live `exports` entry) for them.",
            (*scope.table.path, "durable_objects"),
            'Declare them, for example: "migrations": [{"tag": "v1", "new_sqlite_classes": '
            f"{stringify(missing)}}}]",
        )
