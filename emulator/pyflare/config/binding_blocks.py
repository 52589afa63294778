"""The variables and the binding blocks of an environment."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, time
from functools import partial
from typing import Any

from . import blocks, deploy_settings
from .scope import Scope
from .stringify import stringify
from .table import Table

INHERITABLE = ("logfwdr",)
NOT_INHERITABLE = (
    "define", "vars", "secrets", "tail_consumers", "streaming_tail_consumers", "containers",
    "cloudchamber", "connect", "durable_objects", "queues", "unsafe", *blocks.LISTS,
    *blocks.SINGLES,
)  # fmt: skip


def read(scope: Scope, worker_name: str) -> None:
    scope.own("vars", partial(_vars, scope), {})
    scope.own("define", partial(_define, scope), {})
    scope.own("secrets", partial(_secrets, scope))
    scope.own("durable_objects", partial(_durable_objects, scope, worker_name), ())
    scope.own("queues", partial(_queues, scope), {"producers": (), "consumers": ()})
    for key in blocks.LISTS:
        scope.own(key, partial(_list, scope, key), ())
    for key in blocks.SINGLES:
        scope.own(key, partial(_single, scope, key))
    for key in ("tail_consumers", "streaming_tail_consumers"):
        scope.own(key, partial(_tail, scope, key), ())
    scope.own("unsafe", partial(_passed_through, scope, "unsafe"), ())
    scope.inherit("logfwdr", partial(_passed_through, scope, "logfwdr"), ())
    scope.own("cloudchamber", partial(_cloudchamber, scope))
    scope.own(
        "containers",
        lambda: deploy_settings.check_containers(
            scope.raw["containers"], f"{scope.prefix}containers", scope.table
        ),
    )
    scope.own(
        "connect",
        lambda: deploy_settings.check_connect(
            scope.raw["connect"], f"{scope.prefix}connect", scope.table
        ),
    )


def _object(scope: Scope, key: str) -> Table | None:
    """The object at `key`, with the wording that blocks of bindings use."""
    value = scope.raw[key]
    table = scope.table.table(
        key, f'The field "{scope.prefix}{key}" should be an object but got {stringify(value)}.'
    )
    if table is not None:
        table.field = f"{scope.prefix}{key}"
    return table


def _vars(scope: Scope) -> Any:
    table = _object(scope, "vars")
    if table is None:
        return None
    for name, value in table.value.items():
        if isinstance(value, date | time):
            table.fail(
                f'The field "{table.field}.{name}" is a TOML date, which is not supported. '
                f'Please use a string instead, e.g. {name} = "2025-12-19".',
                name,
            )
    _warn_missing(scope, "vars", list(table.value), _top_names(scope, "vars"))
    return {name: _json_value(value) for name, value in table.value.items()}


def _define(scope: Scope) -> Any:
    table = _object(scope, "define")
    if table is None:
        return None
    for name, value in table.value.items():
        if not isinstance(value, str):
            table.fail(
                f'The field "{table.field}.{name}" should be a string but got {stringify(value)}.',
                name,
            )
    _warn_missing(scope, "define", list(table.value), _top_names(scope, "define"))
    return table.value


def _secrets(scope: Scope) -> Any:
    table = _object(scope, "secrets")
    if table is None:
        return None
    table.only("required")
    return {"required": table.texts("required") or ()}


def _top_names(scope: Scope, key: str) -> list[str]:
    value = None if scope.top_raw is None else scope.top_raw.get(key)
    return list(value) if isinstance(value, dict) else []


def _warn_missing(scope: Scope, key: str, present: list[str], expected: list[str]) -> None:
    missing = [name for name in expected if name not in present]
    if missing:
        scope.report.warning(
            f"The following {key} exist at the top level, but not on "
            f'"{scope.prefix}{key}".\n'
            f'"{key}" is not inherited by environments. '
            f'Please add these to "{scope.prefix}{key}":\n'
            + "\n".join(f"- {name}" for name in missing),
            (*scope.table.path, key),
        )


def _list(scope: Scope, key: str) -> Any:
    field, value = f"{scope.prefix}{key}", scope.raw[key]
    if not isinstance(value, list):
        _not_a_list(scope, key, field, value)
        return None
    module, function, noun = blocks.LISTS[key]
    read = blocks.reader(module, function)
    found: list[Any] = []
    for index, raw in enumerate(value):
        path = (*scope.table.path, key, index)
        if isinstance(raw, dict):
            entry = read(Table(raw, f"{field}[{index}]", path, scope.report))
            found += [] if entry is None else [entry]
        else:
            scope.report.error(
                f'"{noun}" bindings should be objects, but got {stringify(raw)}', path
            )
    _warn_missing_entries(scope, key, value)
    return tuple(found)


def _not_a_list(scope: Scope, key: str, field: str, value: object) -> None:
    hint = None
    if scope.report.source.is_toml and isinstance(value, dict):
        hint = f"In TOML, an entry of a list is written [[{field}]], with two brackets."
    scope.table.fail(
        f'The field "{field}" should be an array but got {stringify(value)}.', key, hint
    )


def _warn_missing_entries(scope: Scope, key: str, value: list[Any]) -> None:
    top = None if scope.top_raw is None else scope.top_raw.get(key)
    for name in _names(top):
        if name not in _names(value):
            scope.report.warning(
                f'There is a {key} binding with name "{name}" at the top level, but not on '
                f'"env.{scope.env_name}".\n"{key}" is not inherited by environments. '
                f'Please add a binding for "{name}" to "{scope.prefix}{key}".',
                (*scope.table.path, key),
            )


def _single(scope: Scope, key: str) -> Any:
    table = _object(scope, key)
    if table is None:
        return None
    module, function = blocks.SINGLES[key]
    return blocks.reader(module, function)(table)


def _cloudchamber(scope: Scope) -> Any:
    table = _object(scope, "cloudchamber")
    return None if table is None else deploy_settings.read_cloudchamber(table)


def _passed_through(scope: Scope, key: str) -> Any:
    table = _object(scope, key)
    if table is None:
        return None
    if key == "unsafe":
        scope.report.warning(
            '"unsafe" fields are experimental and may change or break at any time.',
            (*scope.table.path, key),
        )
    return blocks.reader("unsafe", key)(table)


def _durable_objects(scope: Scope, worker_name: str) -> Any:
    from .blocks.objects import durable_object

    table = _object(scope, "durable_objects")
    if table is None:
        return None
    value = table.value.get("bindings")
    if "bindings" not in table:
        table.fail(f'The field "{table.field}" is missing the required "bindings" property.')
    elif not isinstance(value, list):
        _not_a_list(scope, "durable_objects", f"{table.field}.bindings", value)
    if not isinstance(value, list):
        return None
    found: list[Any] = []
    for index, raw in enumerate(value):
        field, path = f"{table.field}.bindings[{index}]", (*table.path, "bindings", index)
        inner = scope.report.within(f'"{field}": {stringify(raw)}')
        if isinstance(raw, dict):
            entry = durable_object(Table(raw, field, path, inner), worker_name)
            found += [] if entry is None else [entry]
        else:
            inner.error(f'Expected "{field}" to be an object but got {stringify(raw)}', path)
    _warn_missing_objects(scope, value)
    return tuple(found)


def _warn_missing_objects(scope: Scope, value: list[Any]) -> None:
    top = None if scope.top_raw is None else scope.top_raw.get("durable_objects")
    expected = _names(top.get("bindings") if isinstance(top, dict) else None)
    missing = [name for name in expected if name not in _names(value)]
    if missing:
        scope.report.warning(
            f'The following bindings are at the top level, but not on "env.{scope.env_name}".\n'
            '"durable_objects" is not inherited by environments. '
            f'Please add a binding for each to "{scope.prefix}durable_objects.bindings":\n'
            + "\n".join(f"- {name}" for name in missing),
            (*scope.table.path, "durable_objects"),
        )


def _queues(scope: Scope) -> Any:
    table = _object(scope, "queues")
    if table is None:
        return None
    from .blocks.queues import consumer, producer

    table.only("consumers", "producers")
    return {
        "producers": _queue_entries(scope, table, "producers", producer),
        "consumers": _queue_entries(scope, table, "consumers", consumer),
    }


def _queue_entries(
    scope: Scope, table: Table, key: str, read: Callable[[Table], Any]
) -> tuple[Any, ...]:
    field, value = f"{table.field}.{key}", table.value.get(key, [])
    if not isinstance(value, list):
        table.fail(f'The field "{field}" should be an array but got {stringify(value)}.', key)
        return ()
    found: list[Any] = []
    for index, raw in enumerate(value):
        path = (*table.path, key, index)
        if isinstance(raw, dict):
            found.append(read(Table(raw, f"{field}[{index}]", path, scope.report)))
        elif key == "producers":
            scope.report.error(
                f'"queue" bindings should be objects, but got {stringify(raw)}', path
            )
        else:
            scope.report.error(
                f'"{field}[{index}]" should be a objects, but got {stringify(raw)}', path
            )
    return tuple(entry for entry in found if entry is not None)


def _tail(scope: Scope, key: str) -> Any:
    from .blocks.services import tail_consumer

    value = scope.raw[key]
    if not isinstance(value, list):
        scope.table.fail(f'Expected "{key}" to be an array but got {stringify(value)}.', key)
        return None
    found = [tail_consumer(each) for each in scope.elements(key, key)]
    return tuple(entry for entry in found if entry is not None)


def _names(entries: object) -> list[str]:
    """The names of a raw list of bindings, which call them `binding` or `name`."""
    if not isinstance(entries, list):
        return []
    named = [e.get("binding", e.get("name")) for e in entries if isinstance(e, dict)]
    return [name for name in named if isinstance(name, str)]


def _json_value(value: object) -> object:
    """A value as it arrives in the worker: dates inside become texts, NaN and infinity null."""
    match value:
        case dict():
            return {key: _json_value(each) for key, each in value.items()}
        case list():
            return [_json_value(each) for each in value]
        case date() | time():
            return value.isoformat()
        case float() if value != value or value in (float("inf"), float("-inf")):
            return None
        case _:
            return value
