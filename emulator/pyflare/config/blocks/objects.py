"""`durable_objects`, `workflows`, and the declarations of classes (`migrations`, `exports`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..diagnostics import Position
from ..stringify import stringify
from ..table import MAY_WHEN_PRESENT, NEEDS, Table

_WORKFLOW_NAME = re.compile(r"[a-zA-Z0-9_][a-zA-Z0-9_-]{0,63}")
_WORKFLOW_RULE = (
    "Workflow names must be 1-64 characters long, start with a letter, number, or underscore, "
    "and may only contain letters, numbers, underscores, or hyphens."
)
MAX_WORKFLOW_STEPS = 25_000


@dataclass(frozen=True, slots=True, eq=False)
class DurableObjectBinding:
    """An entry of `durable_objects.bindings`. `script` is the worker that defines the class:
    `script_name` (with its environment as a suffix), else this worker."""

    binding: str
    class_name: str
    script: str
    script_name: str | None = None
    environment: str | None = None
    position: Position | None = None

    @property
    def local_id(self) -> str:
        """Two bindings reach the same objects exactly when this is equal."""
        return f"{self.script}-{self.class_name}"

    @property
    def label(self) -> str:
        if self.script_name is None:
            return self.class_name
        return f"{self.class_name}, defined in {self.script}"


@dataclass(frozen=True, slots=True, eq=False)
class WorkflowBinding:
    """An entry of `workflows`. `schedules` are cron texts."""

    binding: str
    name: str
    class_name: str
    script_name: str | None = None
    step_limit: int | None = None
    schedules: tuple[str, ...] = ()
    position: Position | None = None

    @property
    def local_id(self) -> str:
        """Two bindings reach the same instances exactly when this is equal."""
        return self.name

    @property
    def label(self) -> str:
        return self.class_name


@dataclass(frozen=True, slots=True, eq=False)
class Migration:
    """An entry of `migrations`; pairs in `renamed` are (from, to), triples in `transferred`
    are (from, from script, to)."""

    tag: str
    new: tuple[str, ...] = ()
    new_sqlite: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    deleted: tuple[str, ...] = ()
    transferred: tuple[tuple[str, str, str], ...] = ()


def durable_object(table: Table, worker_name: str) -> DurableObjectBinding | None:
    name = table.need_text("name", NEEDS)
    class_name = table.need_text("class_name", NEEDS)
    script_name = table.may_text("script_name", MAY_WHEN_PRESENT)
    environment = table.may_text("environment", MAY_WHEN_PRESENT)
    if "environment" in table and "script_name" not in table:
        table.fail('binding should have a "script_name" field if "environment" is present.')
    remote = table.remote()
    if remote:
        table.fail("Durable Object bindings do not support accessing remote resources.", "remote")
    table.only("class_name", "environment", "name", "script_name")
    if not table.valid:
        return None
    script = worker_name if script_name is None else script_name
    if environment is not None:
        script = f"{script}-{environment}"
    return DurableObjectBinding(name, class_name, script, script_name, environment, table.position)


def workflow(table: Table) -> WorkflowBinding | None:
    binding = table.need_text("binding")
    name = table.need_text("name")
    if isinstance(table.value.get("name"), str) and not _WORKFLOW_NAME.fullmatch(name):
        table.fail(f'"{table.field}" binding "name" field is invalid. {_WORKFLOW_RULE}', "name")
    class_name = table.need_text("class_name")
    script_name = table.may_text("script_name")
    steps = _step_limit(table)
    schedules = _schedules(table)
    table.only("binding", "name", "class_name", "script_name", "limits", "schedules")
    if not table.valid:
        return None
    return WorkflowBinding(binding, name, class_name, script_name, steps, schedules, table.position)


def _step_limit(table: Table) -> int | None:
    if "limits" not in table:
        return None
    limits = table.table(
        "limits",
        f'"{table.field}" bindings should, optionally, have an object "limits" field but got '
        f"{stringify(table.value)}.",
    )
    if limits is None:
        return None
    limits.only("steps")
    if "steps" not in limits:
        return None
    steps = limits.value["steps"]
    if isinstance(steps, float) and steps.is_integer():
        steps = int(steps)
    if not isinstance(steps, int) or isinstance(steps, bool) or steps < 1:
        table.fail(
            f'"{table.field}" bindings "limits.steps" field must be a positive integer but got '
            f"{stringify(steps)}.",
            "limits",
        )
        return None
    if steps > MAX_WORKFLOW_STEPS:
        table.warn(
            f'"{table.field}" has a step limit of {steps}, which exceeds the production maximum '
            "of 25,000. This configuration may not work when deployed.",
            "limits",
        )
    return steps


def _schedules(table: Table) -> tuple[str, ...]:
    value = table.value.get("schedules")
    field = f'"{table.field}" bindings'
    match value:
        case None if "schedules" not in table:
            return ()
        case "":
            table.fail(f'{field} "schedules" field must not be an empty string.', "schedules")
        case str():
            return (value,)
        case []:
            table.fail(f'{field} "schedules" field must not be an empty array.', "schedules")
        case [*items] if all(isinstance(each, str) for each in items):
            if "" in items:
                table.fail(
                    f'{field} "schedules" field must not contain empty strings.', "schedules"
                )
            return tuple(items)
        case _:
            table.fail(
                f"{field} should, optionally, have a string or array of strings "
                f'"schedules" field but got {stringify(table.value)}.',
                "schedules",
            )
    return ()


def migrations(value: list[Any], field: str, parent: Table) -> tuple[Migration, ...]:
    """Read the list of migrations; entries with a mistake are reported and left out."""
    found: list[Migration] = []
    for index, raw in enumerate(value):
        path = (*parent.path, field, index)
        if not isinstance(raw, dict):
            parent.report.error(
                f'"{field}[{index}]" should be an object but got {stringify(raw)}.', path
            )
            continue
        table = Table(raw, f"{field}[{index}]", path, parent.report)
        parent.report.unexpected(
            field,
            path,
            raw,
            [
                "tag", "new_classes", "new_sqlite_classes", "renamed_classes",
                "deleted_classes", "transferred_classes",
            ],
        )  # fmt: skip
        tag = table.prop("tag", "string", required=True)
        migration = Migration(
            tag=tag or "",
            new=table.texts("new_classes") or (),
            new_sqlite=table.texts("new_sqlite_classes") or (),
            renamed=tuple(_objects(table, "renamed_classes", ("from", "to"))),
            deleted=table.texts("deleted_classes") or (),
            transferred=tuple(
                _objects(table, "transferred_classes", ("from", "from_script", "to"))
            ),
        )
        if table.valid:
            found.append(migration)
    return tuple(found)


def _objects(table: Table, key: str, fields: tuple[str, ...]) -> list[Any]:
    value = table.value.get(key, [])
    if isinstance(value, list) and all(
        isinstance(each, dict) and all(isinstance(each.get(f), str) for f in fields)
        for each in value
    ):
        return [tuple(each[f] for f in fields) for each in value]
    shape = ", ".join(f"{f}: string" for f in fields)
    table.fail(
        f'Expected "{table.named(key)}" to be an array of "{{{shape}}}" objects but got '
        f"{stringify(value)}.",
        key,
    )
    return []


def fold(history: tuple[Migration, ...], table: Table) -> dict[str, bool]:
    """The classes after all migrations, each with whether its storage is SQLite. Inside one
    entry the order is: deleted, renamed, new, new with SQLite."""
    classes: dict[str, bool] = {}

    def refuse(index: int, key: str, what: str, name: str) -> None:
        table.report.alone().error(
            f"Cannot apply {key} migration to {what} class {name}",
            (*table.path, "migrations", index, key),
        )

    for index, migration in enumerate(history):
        for name in migration.deleted:
            if classes.pop(name, None) is None:
                refuse(index, "deleted_classes", "non-existent", name)
        for old, new in migration.renamed:
            if old in classes:
                classes[new] = classes.pop(old)
            else:
                refuse(index, "renamed_classes", "non-existent", old)
        for names, key, sqlite in (
            (migration.new, "new_classes", False),
            (migration.new_sqlite, "new_sqlite_classes", True),
        ):
            for name in names:
                if name in classes:
                    refuse(index, key, "existing", name)
                else:
                    classes[name] = sqlite
        for _, _, to in migration.transferred:
            classes.setdefault(to, True)
    return classes


def names_before(history: Iterable[Migration]) -> dict[str, tuple[str, ...]]:
    """The classes that were renamed, each with the names it had before, the latest first."""
    names: dict[str, tuple[str, ...]] = {}
    for migration in history:
        for deleted in migration.deleted:
            names.pop(deleted, None)
        for old, new in migration.renamed:
            names[new] = (old, *names.pop(old, ()))
    return names


_STATES: dict[str, tuple[str, ...]] = {
    "created": ("type", "state", "storage", "container"),
    "deleted": ("type", "state"),
    "renamed": ("type", "state", "renamed_to"),
    "transferred": ("type", "state", "transferred_to"),
    "expecting-transfer": ("type", "state", "storage", "transfer_from", "container"),
}


def exports(table: Table) -> Mapping[str, bool]:
    """The live Durable Object classes of `exports`, each with whether its storage is SQLite."""
    live: dict[str, bool] = {}
    for name in table.value:
        entry = table.table(name)
        if entry is None:
            continue
        match entry.value.get("type"):
            case "durable-object":
                state = entry.value.get("state", "created")
                if _object_export(entry, state) and state in ("created", "expecting-transfer"):
                    live[name] = entry.value["storage"] == "sqlite"
            case "worker":
                entry.only("type", "cache")
                cache = entry.table("cache")
                if cache is not None:
                    cache.prop("enabled", "boolean", required=True)
                    cache.only("enabled")
            case other:
                entry.fail(
                    f'"{entry.field}.type" must be "durable-object" or "worker", but got '
                    f"{stringify(other)}.",
                    "type",
                )
        table.valid = table.valid and entry.valid
    return live


def _object_export(entry: Table, state: object) -> bool:
    if not isinstance(state, str) or state not in _STATES:
        entry.fail(
            f'"{entry.field}.state" must be one of "created", "deleted", "renamed", '
            f'"transferred", or "expecting-transfer" but got {stringify(state)}.',
            "state",
        )
        return False
    allowed = _STATES[state]
    if "storage" in allowed and entry.value.get("storage") not in ("sqlite", "legacy-kv"):
        entry.fail(
            f'"{entry.field}.storage" is required for state "{state}" and must be one of sqlite '
            f"and legacy-kv, but got {stringify(entry.value.get('storage'))}",
            "storage",
        )
    for key in ("renamed_to", "transferred_to", "transfer_from"):
        value = entry.value.get(key)
        if key in allowed and (not isinstance(value, str) or value == ""):
            entry.fail(
                f'"{entry.field}.{key}" is required for state "{state}" and must be a '
                "non-empty string.",
                key,
            )
    for key in entry.value:
        if key not in allowed:
            entry.fail(
                f'"{entry.field}.{key}" is forbidden on state "{state}".',
                key,
                f"Allowed properties are: {', '.join(allowed)}.",
            )
    return entry.valid
