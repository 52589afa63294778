"""The settings of an environment: everything that is not a binding."""

from __future__ import annotations

from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from . import deploy_settings
from .paths import absolute
from .scope import Scope
from .stringify import stringify

_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-")

INHERITABLE = (
    "name", "main", "compatibility_date", "compatibility_flags", "base_dir", "rules", "build",
    "route", "routes", "triggers", "assets", "limits", "python_modules", "compliance_region",
    *deploy_settings.PLAIN, *deploy_settings.OBJECTS,
)  # fmt: skip


def read(scope: Scope) -> None:
    table = scope.table
    _removed(scope)
    scope.inherit("name", partial(_name, scope))
    if scope.top is not None and scope.raw.get("name") is None and scope.values["name"]:
        scope.values["name"] = f"{scope.values['name']}-{scope.env_name}"
    for key in ("main", "base_dir"):
        scope.inherit(key, partial(_path, scope, key))
    scope.inherit("compatibility_date", partial(_date, scope))
    scope.inherit("compatibility_flags", partial(_string_array, scope, "compatibility_flags"), ())
    _routes(scope)
    scope.inherit("triggers", partial(_triggers, scope))
    scope.inherit("assets", partial(_assets, scope))
    scope.inherit("rules", partial(_rules, scope), ())
    scope.inherit("build", partial(_build, scope))
    scope.inherit("limits", partial(_limits, scope), {})
    scope.inherit("python_modules", partial(_python_modules, scope), ("**/*.pyc",))
    regions = ("public", "fedramp_high")
    scope.inherit("compliance_region", partial(table.text, "compliance_region", choices=regions))
    for key in deploy_settings.PLAIN:
        scope.inherit(key, partial(deploy_settings.read_plain, table, key))
    for key in deploy_settings.OBJECTS:
        scope.inherit(key, partial(deploy_settings.read_object, table, key))


def _removed(scope: Scope) -> None:
    if "node_compat" in scope.raw:
        scope.table.fail(
            'Removed: "node_compat":\nThe "node_compat" field is no longer supported as of '
            "Wrangler v4. Instead, use the `nodejs_compat` compatibility flag.",
            "node_compat",
        )


def _name(scope: Scope) -> str | None:
    value = scope.raw["name"]
    if isinstance(value, str) and is_worker_name(value):
        return value
    scope.table.fail(
        'Expected "name" to be of type string, alphanumeric and lowercase with dashes '
        f"only but got {stringify(value)}.",
        "name",
    )
    return None


def _path(scope: Scope, key: str) -> Path | None:
    value = scope.table.text(key)
    return None if value is None else absolute(scope.directory, value)


def _date(scope: Scope) -> str | None:
    value = scope.table.text("compatibility_date")
    if value is None:
        return None
    if "–" in value or "—" in value:
        scope.table.fail(
            '"compatibility_date" field should use ISO-8601 accepted hyphens (-) rather than '
            "en-dashes (–) or em-dashes (—).",
            "compatibility_date",
        )
    if not is_iso_date(value.replace("–", "-").replace("—", "-")):
        scope.table.fail(
            '"compatibility_date" field should be a valid ISO-8601 date (YYYY-MM-DD), but got '
            f"{stringify(value)}.",
            "compatibility_date",
        )
        return None
    return value


def is_iso_date(text: str) -> bool:
    """Whether `text` is a day of the calendar in the form YYYY-MM-DD."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def is_worker_name(text: str) -> bool:
    """Whether `text` can name a worker; an empty text stands for no name."""
    return _NAME_CHARACTERS.issuperset(text) and not text.startswith("-")


def _string_array(scope: Scope, key: str) -> tuple[str, ...] | None:
    value = scope.raw[key]
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return tuple(value)
    scope.table.fail(
        f'Expected "{key}" to be of type string array but got {stringify(value)}.', key
    )
    return None


def _routes(scope: Scope) -> None:
    scope.values["routes"] = None if scope.top is None else scope.top["routes"]
    if scope.raw.get("route") is None and scope.raw.get("routes") is None:
        _warn_inherited_domains(scope)
        if "route" not in scope.raw and "routes" not in scope.raw:
            return
    from .routes import read_routes

    routes = read_routes(scope.table)
    if routes is not None:
        scope.values["routes"] = routes


def _warn_inherited_domains(scope: Scope) -> None:
    domains = [r.pattern for r in scope.values["routes"] or () if r.custom_domain]
    if scope.env_name is not None and domains:
        scope.report.warning(
            f'The "env.{scope.env_name}" environment inherits the top-level `routes` '
            f"configuration, which includes the custom domain(s): {', '.join(domains)}. A "
            "deployment would move them away from the top-level Worker. Add "
            f'`"routes": []` to "env.{scope.env_name}" to prevent it.',
            scope.table.path,
        )


def _triggers(scope: Scope) -> Any:
    table = scope.table.table(
        "triggers",
        f'Expected "triggers" to be of type object but got {stringify(scope.raw["triggers"])}.',
    )
    if table is None:
        return None
    from .triggers import read_crons

    return {"crons": read_crons(table)}


def _assets(scope: Scope) -> Any:
    table = scope.table.table("assets")
    if table is None:
        return None
    from .assets import read_assets

    return read_assets(table, scope.directory)


def _rules(scope: Scope) -> Any:
    field = f"{scope.prefix}rules"
    value = scope.raw["rules"]
    if not isinstance(value, list):
        scope.table.fail(
            f'The field "{field}" should be an array but got {stringify(value)}.', "rules"
        )
        return None
    from .rules import read_rule

    found = [read_rule(each) for each in scope.elements("rules", field)]
    return tuple(rule for rule in found if rule is not None)


def _build(scope: Scope) -> Any:
    table = scope.table.table("build")
    if table is None:
        return None
    table.only("command", "cwd", "watch_dir")
    command, cwd = table.text("command"), table.text("cwd")
    several = isinstance(table.value.get("watch_dir"), list)
    one = None if several else table.text("watch_dir")
    dirs = (table.texts("watch_dir") or ()) if several else (one or "./src",)
    from .worker import BuildConfig

    watched = tuple(absolute(scope.directory, each) for each in dirs) if command else ()
    return BuildConfig(command, cwd, watched)


def _limits(scope: Scope) -> Any:
    table = scope.table.table("limits")
    if table is None:
        return None
    limits = {key: table.number(key) for key in ("cpu_ms", "subrequests")}
    return {key: value for key, value in limits.items() if value is not None}


def _python_modules(scope: Scope) -> Any:
    table = scope.table.table("python_modules")
    if table is None or "exclude" not in table:
        return None
    value = table.value["exclude"]
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return tuple(value)
    table.fail(
        f'Expected "python_modules.exclude" to be of type string array but got {stringify(value)}.',
        "exclude",
    )
    return None
