"""A project with one resource of each kind, the state that wrangler left, and the real command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from pyflare.cli import main
from tests.emulator.state_files.wrangler_state import WranglerFixture

CONFIGURATION = {
    "name": "shop",
    "main": "entry.py",
    "compatibility_date": "2026-05-01",
    "compatibility_flags": ["python_workers"],
    "d1_databases": [{"binding": "DB", "database_name": "orders", "database_id": "dbid-1"}],
    "kv_namespaces": [{"binding": "KV", "id": "kvprev"}],
    "r2_buckets": [{"binding": "FILES", "bucket_name": "my-bucket"}],
    "durable_objects": {"bindings": [{"name": "COUNTER", "class_name": "Counter"}]},
    "migrations": [{"tag": "v1", "new_sqlite_classes": ["Counter"]}],
}


class Printed(NamedTuple):
    code: int
    out: str
    err: str


Command = Callable[..., Printed]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "wrangler.jsonc").write_text(json.dumps(CONFIGURATION))
    return folder


@pytest.fixture
def wrangler(project: Path) -> WranglerFixture:
    return WranglerFixture(project)


@pytest.fixture
def state(project: Path) -> Path:
    """Where pyflare keeps the project's state."""
    return project / ".pyflare" / "state"


@pytest.fixture
def command(
    project: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Command:
    """`pyflare state ...`, run in the project."""
    monkeypatch.chdir(project)

    def run(*arguments: str | Path) -> Printed:
        capfd.readouterr()
        code = main(["state", *map(str, arguments)])
        return Printed(code, *capfd.readouterr())

    return run
