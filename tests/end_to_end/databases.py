"""What lies on disk after a crash, looked at from outside and without disturbing it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw


@contextmanager
def as_left_behind(state: Path, scratch: Path) -> Iterator[apsw.Connection]:
    """Opens a copy of the one D1 database below `state`, write-ahead log included, as a crash left it.

    `scratch` is the directory for the copy; it is emptied first."""
    (path,) = state.glob("**/d1/*.sqlite")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    copy = Path(shutil.copy(path, scratch))
    log = path.with_name(f"{path.name}-wal")
    if log.exists():
        shutil.copy(log, scratch)
    connection = apsw.Connection(str(copy))
    try:
        yield connection
    finally:
        connection.close()


def integrity(connection: apsw.Connection) -> list[str]:
    """The findings of `PRAGMA integrity_check`: `["ok"]` when there are none."""
    return [str(line) for (line,) in connection.execute("PRAGMA integrity_check")]
