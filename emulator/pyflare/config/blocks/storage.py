"""`kv_namespaces`, `d1_databases`, `r2_buckets`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..diagnostics import Position
from ..stringify import stringify
from ..table import Table

_BUCKET_NAME = re.compile(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]")
_BUCKET_RULE = (
    "Bucket names must begin and end with an alphanumeric character, only contain lowercase "
    "letters, numbers, and hyphens, and be between 3 and 63 characters long."
)


@dataclass(frozen=True, slots=True, eq=False)
class KVNamespace:
    """An entry of `kv_namespaces`."""

    binding: str
    id: str | None = None
    preview_id: str | None = None
    remote: bool | None = None
    position: Position | None = None

    @property
    def local_id(self) -> str:
        """Two bindings share data exactly when this is equal."""
        return _first(self.preview_id, self.id, self.binding)

    @property
    def label(self) -> str:
        return self.local_id


@dataclass(frozen=True, slots=True, eq=False)
class D1Database:
    """An entry of `d1_databases`. `migrations_dir` and `migrations_pattern` are relative to the
    directory of the configuration file."""

    binding: str
    database_name: str | None = None
    database_id: str | None = None
    preview_database_id: str | None = None
    migrations_table: str = "d1_migrations"
    migrations_dir: str = "./migrations"
    migrations_pattern: str | None = None
    remote: bool | None = None
    position: Position | None = None

    @property
    def local_id(self) -> str:
        """Two bindings share data exactly when this is equal; `database_name` never counts."""
        return _first(self.preview_database_id, self.database_id, self.binding)

    @property
    def label(self) -> str:
        return _first(
            self.preview_database_id, self.database_name, self.database_id or self.binding
        )


@dataclass(frozen=True, slots=True, eq=False)
class R2Bucket:
    """An entry of `r2_buckets`. `s3_credentials` is (access key id, secret access key)."""

    binding: str
    bucket_name: str | None = None
    preview_bucket_name: str | None = None
    jurisdiction: str | None = None
    remote: bool | None = None
    s3_credentials: tuple[str, str] | None = field(default=None, repr=False)
    position: Position | None = None

    @property
    def local_id(self) -> str:
        """Two bindings share data exactly when this is equal."""
        return _first(self.preview_bucket_name, self.bucket_name, self.binding)

    @property
    def label(self) -> str:
        return self.local_id


def _first(preferred: str | None, second: str | None, last: str) -> str:
    if preferred is not None:
        return preferred
    return last if second is None else second


def kv_namespace(table: Table) -> KVNamespace | None:
    binding = table.need_text("binding")
    template = '"{field}" bindings should have a string "{key}" field but got {json}.'
    namespace_id = table.may_text("id", template, empty=False)
    preview_id = table.may_text("preview_id")
    remote = table.remote()
    table.only("binding", "id", "preview_id", "remote")
    if not table.valid:
        return None
    return KVNamespace(binding, namespace_id, preview_id, remote, table.position)


def d1_database(table: Table) -> D1Database | None:
    binding = table.need_text("binding")
    database_id = table.may_text(
        "database_id", '"{field}" bindings must have a "{key}" field but got {json}.'
    )
    preview_id = table.may_text("preview_database_id")
    remote = table.remote()
    pattern = table.may_text("migrations_pattern")
    name = table.may_text("database_name")
    directory = table.may_text("migrations_dir")
    history = table.may_text("migrations_table")
    table.may_text("database_internal_env")
    table.only(
        "binding", "database_id", "database_internal_env", "database_name", "migrations_dir",
        "migrations_pattern", "migrations_table", "preview_database_id", "remote",
    )  # fmt: skip
    if not table.valid:
        return None
    return D1Database(
        binding=binding,
        database_name=name,
        database_id=database_id,
        preview_database_id=preview_id,
        migrations_table="d1_migrations" if history is None else history,
        migrations_dir="./migrations" if directory is None else directory,
        migrations_pattern=pattern,
        remote=remote,
        position=table.position,
    )


def r2_bucket(table: Table) -> R2Bucket | None:
    binding = table.need_text("binding")
    template = '"{field}" bindings should have a string "{key}" field but got {json}.'
    name = table.may_text("bucket_name", template, empty=False)
    _check_bucket_name(table, "bucket_name", name)
    preview = table.may_text("preview_bucket_name")
    _check_bucket_name(table, "preview_bucket_name", preview)
    jurisdiction = table.may_text("jurisdiction")
    remote = table.remote()
    credentials = _credentials(table)
    table.only(
        "binding", "bucket_name", "preview_bucket_name", "jurisdiction", "remote", "local_dev"
    )
    if not table.valid:
        return None
    return R2Bucket(
        binding=binding,
        bucket_name=name,
        preview_bucket_name=preview,
        jurisdiction=jurisdiction,
        remote=remote,
        s3_credentials=credentials,
        position=table.position,
    )


def _check_bucket_name(table: Table, key: str, name: str | None) -> None:
    if table.valid and name is not None and not _BUCKET_NAME.fullmatch(name):
        table.fail(f"{table.field}.{key}={stringify(name)} is invalid. {_BUCKET_RULE}", key)


def _credentials(table: Table) -> tuple[str, str] | None:
    template = '"{field}" bindings should, optionally, have an {type} "{key}" field but got {json}.'
    local = table.may("local_dev", template, "object")
    if local is None:
        return None
    if not isinstance(local, dict):
        table.fail(
            template.format(
                field=table.field, key="local_dev", type="object", json=stringify(table.value)
            ),
            "local_dev",
        )
        return None
    table.report.unexpected(
        f"{table.field}.local_dev",
        (*table.path, "local_dev"),
        local,
        ["experimental_s3_credentials"],
    )
    if "experimental_s3_credentials" not in local:
        return None
    match local["experimental_s3_credentials"]:
        case {"accessKeyId": str(key_id), "secretAccessKey": str(secret)}:
            return key_id, secret
    table.fail(
        f'"{table.field}" bindings should, optionally, have a '
        '"local_dev.experimental_s3_credentials" field with string "accessKeyId" and '
        f'"secretAccessKey" fields, but got {stringify(table.value)}.',
        "local_dev",
    )
    return None
