"""Bindings with few fields: email, rate limits, analytics, Hyperdrive, secrets, version."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..diagnostics import Position
from ..stringify import stringify
from ..table import MUST, NEEDS, Table, is_kind

_POSITIVE_INTEGER = re.compile(r"0*[1-9][0-9]*")


@dataclass(frozen=True, slots=True, eq=False)
class SendEmailBinding:
    """An entry of `send_email`; None where every address is allowed."""

    binding: str
    destination_address: str | None = None
    allowed_destination_addresses: tuple[str, ...] | None = None
    allowed_sender_addresses: tuple[str, ...] | None = None
    remote: bool | None = None
    position: Position | None = None

    @property
    def label(self) -> str:
        if self.destination_address is not None:
            return self.destination_address
        return ", ".join(self.allowed_destination_addresses or ()) or "unrestricted"


@dataclass(frozen=True, slots=True, eq=False)
class RateLimit:
    """An entry of `ratelimits`: `limit` requests per `period` seconds (10 or 60)."""

    binding: str
    namespace_id: str
    limit: float
    period: int
    position: Position | None = None

    @property
    def local_id(self) -> str:
        """Bindings with equal ids share their counters."""
        return self.namespace_id

    @property
    def label(self) -> str:
        return f"{stringify(self.limit)} requests/{self.period}s"


@dataclass(frozen=True, slots=True, eq=False)
class AnalyticsEngineDataset:
    """An entry of `analytics_engine_datasets`."""

    binding: str
    dataset: str | None = None
    position: Position | None = None

    @property
    def label(self) -> str:
        return self.binding if self.dataset is None else self.dataset


@dataclass(frozen=True, slots=True, eq=False)
class Hyperdrive:
    """An entry of `hyperdrive`. The connection string holds a password and is never shown."""

    binding: str
    id: str
    local_connection_string: str | None = field(default=None, repr=False)
    position: Position | None = None

    @property
    def label(self) -> str:
        return self.id


@dataclass(frozen=True, slots=True, eq=False)
class SecretsStoreSecret:
    """An entry of `secrets_store_secrets`."""

    binding: str
    store_id: str
    secret_name: str
    position: Position | None = None

    @property
    def local_id(self) -> str:
        """The store; the key in it is `secret_name`."""
        return self.store_id

    @property
    def label(self) -> str:
        return f"{self.store_id}/{self.secret_name}"


@dataclass(frozen=True, slots=True, eq=False)
class VersionMetadata:
    """The block `version_metadata`."""

    binding: str
    position: Position | None = None

    @property
    def label(self) -> str:
        return ""


def send_email(table: Table) -> SendEmailBinding | None:
    name = table.need_text("name")
    destination = table.may_text("destination_address")
    allowed = table.may_texts("allowed_destination_addresses")
    senders = table.may_texts("allowed_sender_addresses")
    if "destination_address" in table and "allowed_destination_addresses" in table:
        table.fail(
            f'"{table.field}" bindings should have either a "destination_address" or '
            '"allowed_destination_addresses" field, but not both.'
        )
    remote = table.remote()
    table.only(
        "allowed_sender_addresses", "allowed_destination_addresses", "destination_address",
        "name", "binding", "remote",
    )  # fmt: skip
    if not table.valid:
        return None
    return SendEmailBinding(name, destination, allowed, senders, remote, table.position)


def rate_limit(table: Table) -> RateLimit | None:
    name = table.need_text("name", MUST)
    namespace_id = table.need_text("namespace_id", MUST)
    if isinstance(table.value.get("namespace_id"), str) and not _POSITIVE_INTEGER.fullmatch(
        namespace_id
    ):
        table.fail(
            f'"{table.field}" bindings must have a "namespace_id" field that is the text of a '
            f"positive integer but got {stringify(namespace_id)}.",
            "namespace_id",
        )
    limit, period = simple_limit(table)
    table.only("name", "namespace_id", "simple")
    if not table.valid:
        return None
    return RateLimit(name, namespace_id, limit, period, table.position)


def simple_limit(table: Table) -> tuple[float, int]:
    """The limit and its period in seconds."""
    simple = table.value.get("simple")
    if not isinstance(simple, dict):
        table.fail(
            f'"{table.field}" bindings must have a "simple" configuration object but got '
            f"{stringify(table.value)}.",
            "simple",
        )
        return 0.0, 0
    limit, period = _simple(Table(simple, f"{table.field}.simple", table.path, table.report))
    table.valid = table.valid and period != 0
    return limit, period


def _simple(simple: Table) -> tuple[float, int]:
    owner = simple.field.removesuffix(".simple")
    path = (*simple.path, "simple")
    limit, period = simple.value.get("limit"), simple.value.get("period")
    valid = True
    if not is_kind(limit, "number") or limit is None:
        simple.report.error(
            f'"{owner}" bindings "simple.limit" must be a number but got '
            f"{stringify(simple.value)}.",
            (*path, "limit"),
        )
        valid = False
    if not is_kind(period, "number") or period is None:
        simple.report.error(
            f'"{owner}" bindings "simple.period" is required and must be a number but got '
            f"{stringify(simple.value)}.",
            (*path, "period"),
        )
        valid = False
    elif period not in (10, 60):
        simple.report.error(
            f'"{owner}" bindings "simple.period" must be either 10 or 60 but got '
            f"{stringify(period)}.",
            (*path, "period"),
        )
        valid = False
    simple.report.unexpected(simple.field, path, simple.value, ["limit", "period"])
    if not valid:
        return 0.0, 0
    assert limit is not None
    assert period is not None
    return limit, int(period)


def analytics_engine_dataset(table: Table) -> AnalyticsEngineDataset | None:
    binding = table.need_text("binding")
    dataset = table.may_text("dataset", empty=False)
    table.only("binding", "dataset")
    if not table.valid:
        return None
    return AnalyticsEngineDataset(binding, dataset, table.position)


def hyperdrive(table: Table) -> Hyperdrive | None:
    binding = table.need_text("binding")
    config_id = table.need_text(
        "id", '"{field}" bindings must have a "{key}" field but got {json}.'
    )
    address = table.may_text("localConnectionString")
    table.only("binding", "id", "localConnectionString")
    if not table.valid:
        return None
    return Hyperdrive(binding, config_id, address, table.position)


def secrets_store_secret(table: Table) -> SecretsStoreSecret | None:
    binding = table.need_text("binding", MUST)
    store_id = table.need_text("store_id", MUST)
    secret_name = table.need_text("secret_name", MUST)
    table.only("binding", "store_id", "secret_name")
    if not table.valid:
        return None
    return SecretsStoreSecret(binding, store_id, secret_name, table.position)


def version_metadata(table: Table) -> VersionMetadata | None:
    binding = table.need_text("binding", NEEDS)
    return VersionMetadata(binding, table.position) if table.valid else None
