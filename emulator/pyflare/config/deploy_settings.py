"""Settings that change nothing when a worker runs locally: checked, kept as they are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .stringify import stringify
from .table import Kind, Table

# Inheritable keys that hold one plain value.
PLAIN: dict[str, Kind] = {
    "account_id": "string",
    "tsconfig": "string",
    "jsx_factory": "string",
    "jsx_fragment": "string",
    "find_additional_modules": "boolean",
    "no_bundle": "boolean",
    "minify": "boolean",
    "keep_names": "boolean",
    "preserve_file_names": "boolean",
    "upload_source_maps": "boolean",
    "workers_dev": "boolean",
    "preview_urls": "boolean",
    "logpush": "boolean",
    "first_party_worker": "boolean",
}


def _observability(table: Table) -> None:
    switches = [table.prop("enabled", "boolean")]
    table.only("enabled", "head_sampling_rate", "logs", "traces")
    _sampling_rate(table)
    for key, own in (("logs", ("invocation_logs",)), ("traces", ())):
        inner = table.table(key)
        if inner is not None:
            switches.append(inner.prop("enabled", "boolean"))
            _sampling_rate(inner)
            for flag in ("persist", *own):
                inner.flag(flag)
            inner.texts("destinations", f"{key}.destinations")
            known = ("enabled", "head_sampling_rate", "destinations", "persist", *own)
            table.report.unexpected(table.field, inner.path, inner.value, known)
    if table.valid and not any(isinstance(each, bool) for each in switches):
        names = " or ".join(f'"{table.field}.{n}"' for n in
                            ("enabled", "logs.enabled", "traces.enabled"))  # fmt: skip
        table.fail(f"{names} is required.")


def _sampling_rate(table: Table) -> None:
    rate = table.number("head_sampling_rate")
    if rate is not None and not 0 <= rate <= 1:
        name = table.named("head_sampling_rate")
        table.fail(f'"{name}" must be a value between 0 and 1.', "head_sampling_rate")


def _placement(table: Table) -> None:
    targeted = [key for key in ("region", "host", "hostname") if key in table]
    if "hint" in table and targeted:
        table.fail(
            '"placement" cannot have both "hint" (smart format) and "region"/"host"/"hostname" '
            "(targeted format) fields"
        )
    elif "hint" in table:
        mode = table.prop("mode", "string", required=True, choices=("off", "smart"))
        if table.text("hint") and mode == "off":
            table.fail('"placement.hint" can only be set when "placement.mode" is "smart"', "hint")
    elif targeted:
        table.prop("mode", "string", choices=("off", "targeted"))
        for key in targeted:
            table.text(key)
        if len(targeted) > 1:
            names = ", ".join(f'"{key}"' for key in targeted)
            table.fail(
                f'"placement" fields {names} are mutually exclusive. Only one can be specified.'
            )
    else:
        table.prop("mode", "string", required=True, choices=("off", "smart", "targeted"))


def _cache(table: Table) -> None:
    if table.prop("enabled", "boolean", required=True):
        table.warn(
            '"cache.enabled" has no effect: every request reaches the Worker, and ctx.cache is None.',
            "enabled",
        )
    table.flag("cross_version_cache")
    table.only("enabled", "cross_version_cache")


def _access(table: Table) -> None:
    table.only("dev")
    dev = table.table("dev")
    if dev is not None:
        dev.prop("aud", "string", required=True)
        dev.prop("identity", "object")
        dev.only("aud", "identity")
        table.warn('"access.dev" has no effect: ctx.access is None, as without Access.', "dev")


def _anything(table: Table) -> None:
    pass


# Inheritable keys that hold an object.
OBJECTS: dict[str, Callable[[Table], None]] = {
    "observability": _observability,
    "placement": _placement,
    "cache": _cache,
    "access": _access,
    "previews": _anything,
}

ACCOUNT_IS_EMPTY = (
    'The "account_id" field in your configuration is an empty string and will be ignored.\n'
    'Please remove the "account_id" field from your configuration.'
)


def read_plain(table: Table, key: str) -> Any:
    value = table.prop(key, PLAIN[key])
    if key == "account_id" and value == "":
        table.warn(ACCOUNT_IS_EMPTY, key)
        return None
    return value


def read_object(table: Table, key: str) -> Any:
    inner = table.table(key)
    if inner is None:
        return None
    OBJECTS[key](inner)
    table.valid = table.valid and inner.valid
    return inner.value


def check_containers(value: Any, field: str, table: Table) -> Any:
    """`containers`: the shape is checked; no container is ever started."""
    if not isinstance(value, list):
        table.fail(
            f'"containers" field should be an array, but got {stringify(value)}', "containers"
        )
        return None
    for index, raw in enumerate(value):
        path = (*table.path, "containers", index)
        if not isinstance(raw, dict):
            table.report.error(
                f'"{field}[{index}]" should be an object but got {stringify(raw)}.', path
            )
            continue
        entry = Table(raw, field, path, table.report)
        for key in ("class_name", "name", "image"):
            entry.text(key)
        for key in ("max_instances", "instances"):
            entry.number(key)
        configuration = raw.get("configuration")
        if not raw.get("image") and not (
            isinstance(configuration, dict) and configuration.get("image")
        ):
            entry.fail(
                '"containers.image" field must be defined for each container app. This should be '
                "the path to your Dockerfile or an image URI pointing to the Cloudflare registry."
            )
    table.warn(
        f'"{field}" are not started locally: an object that uses its container gets an error.',
        "containers",
    )
    return value


def read_cloudchamber(table: Table) -> Any:
    """`cloudchamber`: the shape is checked, nothing of it is used."""
    for key in ("memory", "image", "location"):
        table.may(key)
    table.may("ipv4", kind="boolean")
    table.may("vcpu", kind="number")
    return table.value


def check_connect(value: Any, field: str, table: Table) -> Any:
    """`connect`: inbound TCP handlers."""
    if not isinstance(value, list):
        table.fail(f'The field "{field}" should be an array but got {stringify(value)}.', "connect")
        return None
    first: dict[tuple[Any, Any], int] = {}
    for index, raw in enumerate(value):
        path = (*table.path, "connect", index)
        here = f"{field}[{index}]"
        if not isinstance(raw, dict):
            table.report.error(f'"{here}" should be an object, but got {stringify(raw)}', path)
            continue
        entry = Table(raw, here, path, table.report)
        _check_handler(entry)
        if not entry.valid:
            continue
        same = first.setdefault((raw["protocol"], raw["port"]), index)
        if same != index:
            entry.fail(
                f'"{here}" has the same "protocol" ({raw["protocol"]}) and "port" '
                f'({raw["port"]}) as "{field}[{same}]". Each entry in "connect" must use a '
                "unique protocol/port combination."
            )
    table.warn(f'"{field}" handlers are not served locally: no port is opened.', "connect")
    return value


def _check_handler(entry: Table) -> None:
    entry.only("protocol", "port", "address")
    if entry.value.get("protocol") != "tcp":
        shown = entry.value.get("protocol", entry.value)
        entry.fail(
            f'"{entry.field}" should have a "protocol" field of "tcp" but got {stringify(shown)}.',
            "protocol",
        )
    template = '"{field}" should have a {type} "{key}" field but got {json}.'
    port = entry.need("port", template, "number")
    if port is not None and not (port == port and 1 <= port <= 65535 and int(port) == port):
        entry.fail(
            f'"{entry.field}" should have an integer "port" field between 1 and 65535 but got '
            f"{stringify(entry.value)}.",
            "port",
        )
    entry.may_text(
        "address", '"{field}" should, optionally, have a {type} "{key}" field but got {json}.'
    )
