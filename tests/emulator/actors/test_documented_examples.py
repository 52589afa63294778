"""The examples of docs/durable-objects.md do what the page says, as they are written there."""

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from pyflare import Pyflare
from tests.emulator.conftest import Runner, write_worker

PAGE = Path(__file__).parents[3] / "docs" / "durable-objects.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)

IMPORTS = """
from workers import DurableObject, Response, WorkerEntrypoint


class Default(WorkerEntrypoint):
    pass


"""


def block(*, having: str) -> str:
    """The one example with these words."""
    [found] = [each for each in BLOCKS if having in each]
    return str(found)


@pytest.fixture
def page(tmp_path: Path, run: Runner) -> Any:
    def go(source: str, class_name: str, program: Any) -> Any:
        config = write_worker(
            tmp_path / "w",
            source,
            durable_objects={"bindings": [{"name": "COUNTER", "class_name": class_name}]},
            migrations=[{"tag": "v1", "new_sqlite_classes": [class_name]}],
            queues={"producers": [{"binding": "AUDIT", "queue": "audit"}]},
        )
        return run(program, config)

    return go


def test_the_counter_counts(page: Any) -> None:
    async def program(flare: Pyflare) -> list[str]:
        return [(await flare.fetch("/")).text for _ in range(3)]

    assert page(block(having="class Counter"), "Counter", program) == ["1", "2", "3"]


def test_the_room_keeps_visits_and_messages(page: Any) -> None:
    async def program(flare: Pyflare) -> Any:
        room = flare.env().COUNTER.getByName("lobby")
        for text in ("hello", "there"):
            response = await room.fetch("http://room/", method="POST", body=text)
        return await response.json()

    source = IMPORTS + block(having="CREATE TABLE IF NOT EXISTS messages")
    assert page(source, "Room", program) == {"visits": 2, "newest": ["there", "hello"]}


def test_the_transactions_keep_what_they_wrote(page: Any) -> None:
    example = textwrap.indent(block(having="async def transfer(txn)"), " " * 8)
    source = (
        IMPORTS
        + "class Account(DurableObject):\n"
        + "    async def work(self):\n"
        + "        self.storage = self.ctx.storage\n"
        + '        self.storage.sql.exec("CREATE TABLE messages (text TEXT)")\n'
        + "        self.storage.sql.exec(\"INSERT INTO messages VALUES ('old')\")\n"
        + '        await self.storage.put({"a": 30, "b": 0})\n'
        + example
        + '        rows = self.storage.sql.exec("SELECT * FROM messages").toArray()\n'
        + '        return [await self.storage.get("a"), await self.storage.get("b"), len(rows)]\n'
    )

    async def program(flare: Pyflare) -> Any:
        return await flare.env().COUNTER.getByName("one").work()

    assert page(source, "Account", program) == [20, 10, 0]


def test_brackets_ask_for_properties_anew(page: Any) -> None:
    source = (
        IMPORTS
        + "class Sized(DurableObject):\n"
        + "    async def work(self):\n"
        + "        sql = self.ctx.storage.sql\n"
        + '        sql.exec("CREATE TABLE t (id, x); INSERT INTO t VALUES (1, zeroblob(500000)), (2, 1)")\n'
        + '        cursor = sql.exec("SELECT id FROM t")\n'
        + '        before = [cursor["rowsRead"], sql["databaseSize"] > 400_000]\n'
        + "        cursor.next()\n"
        + '        sql.exec("DELETE FROM t")\n'
        + '        return [before, cursor["rowsRead"], sql["databaseSize"] < 100_000]\n'
    )

    async def program(flare: Pyflare) -> Any:
        return await flare.env().COUNTER.getByName("one").work()

    assert page(source, "Sized", program) == [[1, True], 2, True]
