"""What was acknowledged survives the sudden end of the process."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pyflare_bindings.d1 import Statement
from pyflare_bindings.registry import BindingRegistry

WRITER = """
import asyncio, sys
from pathlib import Path
from pyflare_bindings.d1 import Statement
from pyflare_bindings.registry import BindingRegistry

async def main(root, durability):
    database = BindingRegistry(Path(root), durability=durability).d1("a")
    await database.query([Statement("CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, x)")])

    async def write():
        while True:
            results = await database.query(
                [Statement("INSERT INTO t (x) VALUES (hex(randomblob(500)))")] * 3
            )
            print(*(result.meta.last_row_id for result in results), results.bookmark, flush=True)
            await asyncio.sleep(0)

    await asyncio.gather(*(write() for _ in range(5)))

asyncio.run(main(*sys.argv[1:]))
"""


def acknowledged_before_kill(root: Path, durability: str, answers: int) -> tuple[set[int], str]:
    """Start a writer, read some answers and kill it. Out: row ids and the last bookmark."""
    command = [sys.executable, "-c", WRITER, str(root), durability]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        lines = [writer.stdout.readline() for _ in range(answers)]
        writer.send_signal(signal.SIGKILL)
        lines += writer.stdout.read().splitlines(keepends=True)
    complete = [line.split() for line in lines if line.endswith("\n")]
    rows = {int(word) for words in complete for word in words[:-1]}
    return rows, max(words[-1] for words in complete)


@pytest.mark.parametrize("durability", ["process", "machine"])
def test_every_acknowledged_row_is_there_after_a_kill(tmp_path: Path, durability: str) -> None:
    async def check(rows: set[int], bookmark: str) -> None:
        registry = BindingRegistry(tmp_path)
        database = registry.d1("a")
        results = await database.query([Statement("SELECT id FROM t")])
        stored = [id for (id,) in results[0].rows]
        assert rows <= set(stored)
        assert len(stored) % 3 == 0, "a batch is there as a whole or not at all"
        assert results.bookmark > bookmark
        assert database._engine is not None
        checked = database._engine.sandbox.internal("PRAGMA integrity_check")
        assert checked == [("ok",)]
        await registry.close()

    written: set[int] = set()
    for round_ in range(3):
        rows, bookmark = acknowledged_before_kill(tmp_path, durability, 30 + 50 * round_)
        assert rows
        written |= rows
        asyncio.run(check(written, bookmark))
