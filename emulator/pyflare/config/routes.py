"""`route` and `routes`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .report import Report
from .stringify import stringify
from .table import Table

if TYPE_CHECKING:
    from .assets import AssetsConfig

_SHAPE = "{ pattern, custom_domain, zone_id | zone_name, enabled, previews_enabled }"
_TYPES: Mapping[str, type] = {
    "pattern": str,
    "zone_id": str,
    "zone_name": str,
    "custom_domain": bool,
    "enabled": bool,
    "previews_enabled": bool,
}


class Route(NamedTuple):
    """One route: `pattern` such as `example.com/api/*`, and where it belongs."""

    pattern: str
    zone_name: str | None = None
    zone_id: str | None = None
    custom_domain: bool = False

    @property
    def host(self) -> str:
        """The host part of the pattern, possibly with `*`."""
        pattern = self.pattern.removeprefix("https://").removeprefix("http://")
        return pattern.split("/", 1)[0]


def read_routes(table: Table) -> tuple[Route, ...] | None:
    """The routes of one environment, or None when it has neither key."""
    raw = table.value
    route = raw.get("route")
    if route == "":
        table.warn(
            'The "route" field in your configuration is an empty string and will be ignored.\n'
            'Please remove the "route" field from your configuration.',
            "route",
        )
        route = None
    elif "route" in raw and not _is_route(route):
        table.fail(
            f'Expected "route" to be either a string, or an object with shape {_SHAPE}, but got '
            f"{stringify(route)}.",
            "route",
        )
        route = None
    routes = raw.get("routes")
    if routes is None and "routes" not in raw:
        return None if route is None else (_route(route),)
    if not isinstance(routes, list):
        table.fail(f'Expected "routes" to be an array but got {stringify(routes)}.', "routes")
        return None
    wrong = [each for each in routes if not _is_route(each)]
    if wrong:
        table.fail(
            f'Expected "routes" to be an array of either strings or objects with the shape '
            f"{_SHAPE}, but these weren't valid: {stringify(wrong, indent=2)}.",
            "routes",
        )
        return None
    if "route" in raw:
        table.fail(
            'Expected exactly one of the following fields ["routes","route"].',
            "routes",
        )
    return tuple(_route(each) for each in routes)


def check_routes(
    routes: Iterable[Route],
    assets: AssetsConfig | None,
    *,
    has_main: bool,
    cwd: Path,
    report: Report,
) -> None:
    """Report custom domains that are none, and routes at whose paths there may be no assets.

    Source: workers-sdk `packages/deploy-helpers/src/deploy/helpers/validate-routes.ts`
    """
    invalid: list[str] = []
    mounted: list[str] = []
    for route in routes:
        pattern = route.pattern
        if route.custom_domain:
            reasons = [text for sign, text in _NOT_IN_DOMAINS if sign in pattern]
            if reasons:
                invalid.append("\n".join((f"{pattern}:", *reasons)))
        elif (
            assets is not None
            and assets.directory is not None
            and assets.run_worker_first is not True
            and pattern.split("/")[1:] != ["*"]
        ):
            below = pattern.replace("https://", "").replace("http://", "").partition("/")[2]
            shown = os.path.normpath(os.path.join(os.path.relpath(assets.directory, cwd), below))
            mounted.append(f"  • {pattern} (Will match assets: {shown})")
    if invalid:
        report.error("Invalid Routes:\n" + "\n\n".join(invalid))
    if mounted:
        told = "The following routes will attempt to serve Assets on a configured path:\n"
        told += "\n".join(mounted)
        if has_main:
            told += "\n\nRequests not matching an asset will be forwarded to the Worker's code."
        report.warning(told)


_NOT_IN_DOMAINS = (
    ("*", "Wildcard operators (*) are not allowed in Custom Domains"),
    ("/", "Paths are not allowed in Custom Domains"),
)


def _is_route(value: object) -> bool:
    if isinstance(value, str):
        return value != ""
    if not isinstance(value, dict) or not isinstance(value.get("pattern"), str):
        return False
    if any(key not in _TYPES or not isinstance(each, _TYPES[key]) for key, each in value.items()):
        return False
    if "zone_id" in value and "zone_name" in value:
        return False
    if "custom_domain" in value:
        return True
    return "enabled" not in value and "previews_enabled" not in value and len(value) > 1


def _route(value: Any) -> Route:
    if isinstance(value, str):
        return Route(value)
    return Route(
        value["pattern"],
        value.get("zone_name"),
        value.get("zone_id"),
        value.get("custom_domain", False),
    )
