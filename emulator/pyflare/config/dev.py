"""The `dev` block: how `pyflare dev` listens. The command line wins over it."""

from __future__ import annotations

import sys
from typing import NamedTuple

from .table import Table

PROTOCOLS = ("http", "https")


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
        host=table.text("host"),
        enable_containers=True if containers is None else containers,
        container_engine=table.text("container_engine"),
        generate_types=bool(types),
    )


def _port(table: Table, key: str) -> int | None:
    value = table.number(key)
    if value is None:
        return None
    if value != value or not 0 <= value <= 65535 or int(value) != value:
        table.fail(f'"{table.named(key)}" must be a port between 0 and 65535 but got {value}.', key)
        return None
    return int(value)
