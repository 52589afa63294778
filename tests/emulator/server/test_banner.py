"""The start-up table of bindings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyflare.config import parse
from pyflare.config.worker import WorkerConfig
from pyflare.server.banner import bindings_table, reach, secrets_line


def worker(tmp_path: Path, **settings: Any) -> WorkerConfig:
    base = {
        "name": "api",
        "main": "entry.py",
        "compatibility_date": "2026-01-01",
        "compatibility_flags": ["python_workers"],
    }
    return parse({**base, **settings}, base=tmp_path, running=False).worker


def test_table_lists_bindings_in_columns_variables_last(tmp_path: Path) -> None:
    config = worker(
        tmp_path,
        vars={"GREETING": "hi", "LIMITS": {"a": [1, 2]}},
        d1_databases=[{"binding": "DB", "database_name": "people", "database_id": "1"}],
        kv_namespaces=[{"binding": "KV", "id": "kv-id"}],
    )
    assert bindings_table(config, named=False).splitlines() == [
        "Your Worker has access to the following bindings:",
        "Binding                       Resource                  Mode",
        "env.KV (kv-id)                KV Namespace              local",
        "env.DB (people)               D1 Database               local",
        'env.GREETING ("hi")           Environment Variable      local',
        'env.LIMITS ({"a":[1,2]})      Environment Variable      local',
    ]


def test_the_mode_says_what_works_here(tmp_path: Path) -> None:
    config = worker(
        tmp_path,
        ai={"binding": "A"},
        browser={"binding": "B"},
        dispatch_namespaces=[{"binding": "D", "namespace": "n"}],
        pipelines=[{"binding": "P", "stream": "s"}],
        logfwdr={"bindings": [{"name": "L", "destination": "d"}]},
        ratelimits=[{"name": "R", "namespace_id": "1", "simple": {"limit": 1, "period": 10}}],
    )
    rows = bindings_table(config, named=False).splitlines()[2:]
    modes = {row[4]: row.rpartition("  ")[2] for row in rows}
    assert modes == {**dict.fromkeys("ABPL", "not supported"), **dict.fromkeys("DR", "local")}


def test_several_workers_are_named(tmp_path: Path) -> None:
    table = bindings_table(worker(tmp_path, vars={"A": "1"}), named=True)
    assert table.startswith("api has access to the following bindings:\n")


def test_worker_without_bindings_says_so(tmp_path: Path) -> None:
    assert bindings_table(worker(tmp_path), named=False) == "No bindings found."


def test_secrets_are_never_shown(tmp_path: Path) -> None:
    (tmp_path / ".dev.vars").write_text("TOKEN=s3cr3t")
    loaded = parse(
        {
            "name": "api",
            "main": "entry.py",
            "compatibility_date": "2026-01-01",
            "compatibility_flags": ["python_workers"],
        },
        base=tmp_path,
        running=False,
        secret_files=True,
    )
    table = bindings_table(loaded.worker, named=False)
    assert 'env.TOKEN ("(hidden)")' in table
    assert "s3cr3t" not in table
    assert secrets_line([loaded], tmp_path) == "Using secrets defined in .dev.vars"


def test_no_secret_files_give_no_line() -> None:
    assert secrets_line([], Path()) is None


def test_control_characters_in_values_are_escaped(tmp_path: Path) -> None:
    table = bindings_table(worker(tmp_path, vars={"A": "x\n\x1b[2Jy"}), named=False)
    assert "\x1b" not in table
    assert r'env.A ("x\n\x1b[2Jy")' in table


def test_ways_to_each_worker_are_listed() -> None:
    text = reach(["a", "long"], {"long": ["example.com/*"]}, "http://localhost:8787")
    assert text.splitlines() == [
        "Each Worker is reached as follows:",
        "  a     http://localhost:8787/, http://a.localhost:8787/",
        "  long  http://long.localhost:8787/, example.com/*",
    ]
