"""Data commands as a person types them, in a project of their own."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from pyflare.cli import main

SETTINGS = {
    "name": "shop",
    "main": "src/entry.py",
    "compatibility_date": "2026-01-01",
    "compatibility_flags": ["python_workers"],
    "d1_databases": [{"binding": "DB", "database_name": "mydb", "database_id": "dbid-1"}],
    "kv_namespaces": [{"binding": "KV", "id": "kvid"}],
    "r2_buckets": [{"binding": "BUCKET", "bucket_name": "my-bucket"}],
    "queues": {"producers": [{"binding": "QUEUE", "queue": "jobs"}]},
    "durable_objects": {"bindings": [{"name": "COUNTER", "class_name": "Counter"}]},
    "migrations": [{"tag": "v1", "new_sqlite_classes": ["Counter"]}],
}


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Cli: TypeAlias = Callable[..., Outcome]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one binding of each kind."""
    (tmp_path / "wrangler.json").write_text(json.dumps(SETTINGS))
    return tmp_path


@pytest.fixture
def cli(project: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> Cli:
    """``cli("kv", "key", "list", ...)`` in the project."""

    def run(*words: str) -> Outcome:
        capfdbinary.readouterr()
        code = main([*words, "--cwd", str(project)])
        out, err = capfdbinary.readouterr()
        return Outcome(code, out.decode("utf-8", "replace"), err.decode(), out)

    return run
