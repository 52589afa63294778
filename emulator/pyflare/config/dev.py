"""The `dev` block: how `pyflare dev` listens. The command line wins over it."""

from __future__ import annotations

import re
import sys
from typing import Final, NamedTuple

from .table import Table

PROTOCOLS = ("http", "https")
#: What a host is, as messages say it.
HOST_FORM: Final = 'a host name, with or without a port, such as "example.com"'
_HOST: Final = re.compile(r"(?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?")


class DevConfig(NamedTuple):
    """None where nothing was configured and the command chooses."""

    ip: str
    port: int | None = None
    inspector_port: int | None = None
    inspector_ip: str | None = None
    local_protocol: str = "http"
    upstream_protocol: str = "http"
    host: str | None = None
    enable_containers: bool = True
    container_engine: str | None = None
    generate_types: bool = False


def default_dev() -> DevConfig:
    return DevConfig(ip="127.0.0.1" if sys.platform == "win32" else "localhost")


def read_dev(table: Table) -> DevConfig:
    default = default_dev()
    table.only(*DevConfig._fields)
    protocol = table.text("local_protocol", choices=PROTOCOLS) or "http"
    containers, types = table.flag("enable_containers"), table.flag("generate_types")
    return DevConfig(
        ip=table.text("ip") or default.ip,
        port=_port(table, "port"),
        inspector_port=_port(table, "inspector_port"),
        inspector_ip=table.text("inspector_ip"),
        local_protocol=protocol,
        upstream_protocol=table.text("upstream_protocol", choices=PROTOCOLS) or protocol,
        host=_host(table),
        enable_containers=True if containers is None else containers,
        container_engine=table.text("container_engine"),
        generate_types=bool(types),
    )


def is_host(text: str) -> bool:
    """Whether `text` can stand in a `Host` header."""
    match = _HOST.fullmatch(text)
    return match is not None and int(match[1] or 0) <= 65535


def _host(table: Table) -> str | None:
    host = table.text("host")
    if host is not None and not is_host(host):
        table.fail(f'"{table.named("host")}" must be {HOST_FORM} but got "{host}".', "host")
        return None
    return host


def _port(table: Table, key: str) -> int | None:
    value = table.number(key)
    if value is None:
        return None
    if value != value or not 0 <= value <= 65535 or int(value) != value:
        table.fail(f'"{table.named(key)}" must be a port between 0 and 65535 but got {value}.', key)
        return None
    return int(value)
