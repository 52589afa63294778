"""An import that was killed is finished by the next one."""

import json
import subprocess
from pathlib import Path

from tests.emulator.state_files.wrangler_state import WranglerFixture

from .dev_server import environment, pyflare

CLASS = "shop-Counter"
OBJECTS = 40
KEYS = 500


def test_a_killed_import_is_finished_by_the_next_one(tmp_path: Path) -> None:
    wrangler = WranglerFixture(tmp_path)
    wrangler.d1("dbid-1", "CREATE TABLE t (v)", ("INSERT INTO t VALUES (1)", ()))
    wrangler.kv("kvprev", {f"key-{n}": (b"v" * 70_000, None, None) for n in range(KEYS)})
    for number in range(OBJECTS):
        wrangler.object(CLASS, f"object-{number}", "CREATE TABLE t (v)")
    (tmp_path / "wrangler.json").write_text(
        json.dumps(
            {
                "name": "shop",
                "compatibility_date": "2026-05-01",
                "d1_databases": [{"binding": "DB", "database_id": "dbid-1"}],
                "kv_namespaces": [{"binding": "KV", "id": "kvprev"}],
                "durable_objects": {"bindings": [{"name": "C", "class_name": "Counter"}]},
                "migrations": [{"tag": "v1", "new_sqlite_classes": ["Counter"]}],
            }
        )
    )

    with subprocess.Popen(
        pyflare("state", "import"), cwd=tmp_path, env=environment(), stdout=subprocess.PIPE
    ) as killed:
        assert killed.stdout is not None
        first = killed.stdout.readline()
        # In the middle of the namespace, whose contents are being written.
        killed.kill()
    report = json.loads(
        subprocess.run(
            pyflare("state", "import", "--json"),
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            check=True,
        ).stdout
    )

    assert first == b"D1 database dbid-1: imported, 1 tables\n"
    assert [(each["kind"], each["action"], each["count"]) for each in report] == [
        ("D1 database", "kept", 0),
        ("KV namespace", "imported", KEYS),
        ("Durable Object class", "imported", OBJECTS),
    ]
    blobs = list((tmp_path / ".pyflare").rglob("*.blobs/*"))
    assert len(blobs) == KEYS, "nothing of the killed run is left over"
