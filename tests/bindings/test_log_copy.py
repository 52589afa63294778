"""The write-ahead log is copied into the database while its owner has it open."""

from pathlib import Path

import apsw

from pyflare_bindings.storage.log_copy import LogCopy


def test_what_is_in_the_log_reaches_the_database_file(tmp_path: Path) -> None:
    path = tmp_path / "db.sqlite"
    owner = apsw.Connection(str(path))
    owner.execute("PRAGMA journal_mode=WAL").fetchall()
    owner.wal_autocheckpoint(0)
    owner.execute("CREATE TABLE t (v)")
    owner.executemany("INSERT INTO t VALUES (?)", [("x" * 1000,)] * 100)
    before = path.stat().st_size

    LogCopy(path).copy()

    assert path.stat().st_size > before + 100_000
    assert owner.wal_checkpoint()[0] == owner.wal_checkpoint()[1]
    owner.close()
