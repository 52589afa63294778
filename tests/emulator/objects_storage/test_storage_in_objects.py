"""The storage as Workers use it: in live objects, over requests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pyflare import Pyflare
from tests.emulator.conftest import Runner, request, write_worker

OBJECT = """
import asyncio
from workers import DurableObject, Response, WorkerEntrypoint

class Thing(DurableObject):
    async def fetch(self, request):
        return Response(repr(await self.work(self.ctx.storage)))

    async def alarm(self):
        pass

    {work}

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        stub = self.env.THING.getByName("one")
        return await stub.fetch(request.url)
"""


def _worker(folder: Path, work: str, **config: Any) -> Path:
    lines = [line.strip("\n") for line in work.strip("\n").splitlines()]
    source = OBJECT.replace("{work}", "\n    ".join(lines))
    settings = {
        "durable_objects": {"bindings": [{"name": "THING", "class_name": "Thing"}]},
        "migrations": [{"tag": "v1", "new_sqlite_classes": ["Thing"]}],
    }
    return write_worker(folder / "worker", source, **{**settings, **config})


def _answers(run: Runner, config: Path, count: int = 1) -> list[str]:
    async def program(flare: Pyflare) -> list[str]:
        return [(await request(flare)).text for _ in range(count)]

    return run(program, config)  # type: ignore[no-any-return]


def test_a_counter_counts(run: Runner, tmp_path: Path) -> None:
    work = """
async def work(self, storage):
    n = (await storage.get("n") or 0) + 1
    await storage.put("n", n)
    return n
"""
    assert _answers(run, _worker(tmp_path, work), 3) == ["1", "2", "3"]


def test_a_transaction_may_wait_for_another_object(run: Runner, tmp_path: Path) -> None:
    work = """
async def work(self, storage):
    if self.ctx.id.name == "other":
        return "reached"

    async def body(txn):
        await txn.put("n", 1)
        response = await self.env.THING.getByName("other").fetch("http://x/")
        await asyncio.sleep(0.001)
        return await response.text()

    return await storage.transaction(body), await storage.get("n")
"""
    assert _answers(run, _worker(tmp_path, work)) == ["(\"'reached'\", 1)"]


def test_a_failed_transaction_does_not_reset_the_object(run: Runner, tmp_path: Path) -> None:
    work = """
runs = 0

async def work(self, storage):
    self.runs += 1

    async def body(txn):
        await txn.put("n", 1)
        await asyncio.sleep(0.001)
        raise ValueError("own")

    try:
        await storage.transaction(body)
    except ValueError:
        return self.runs, await storage.get("n")
"""
    assert _answers(run, _worker(tmp_path, work), 2) == ["(1, None)", "(2, None)"]


def test_other_events_wait_while_a_transaction_is_open(run: Runner, tmp_path: Path) -> None:
    work = """
async def work(self, storage):
    async def body(txn):
        n = (await txn.get("n")) or 0
        await asyncio.sleep(0.001)
        await txn.put("n", n + 1)
        return n + 1

    return await storage.transaction(body)
"""

    async def program(flare: Pyflare) -> list[str]:
        import asyncio

        answers = await asyncio.gather(*(request(flare) for _ in range(5)))
        return [answer.text for answer in answers]

    assert run(program, _worker(tmp_path, work)) == ["1", "2", "3", "4", "5"]


@pytest.mark.parametrize(
    ("flags", "left"),
    [
        ([], "None"),
        (["delete_all_preserves_alarm"], "4102444800000"),
    ],
)
def test_a_flag_says_whether_delete_all_keeps_the_alarm(
    run: Runner, tmp_path: Path, flags: list[str], left: str
) -> None:
    work = """
async def work(self, storage):
    await storage.setAlarm(4102444800000)
    await storage.sync()
    await storage.deleteAll()
    return await storage.getAlarm()
"""
    config = _worker(tmp_path, work, compatibility_flags=["python_workers", *flags])
    assert _answers(run, config) == [left]


@pytest.mark.parametrize(
    ("flags", "kept"),
    [([], "True"), (["legacy_error_serialization"], "False")],
)
def test_a_flag_says_whether_errors_keep_their_properties(
    run: Runner, tmp_path: Path, flags: list[str], kept: str
) -> None:
    work = """
async def work(self, storage):
    from js import TypeError
    error = TypeError.new("t")
    error.code = 7
    await storage.put("e", error)
    return hasattr(await storage._binding.get("e"), "code")
"""
    config = _worker(tmp_path, work, compatibility_flags=["python_workers", *flags])
    assert _answers(run, config) == [kept]


def test_a_class_without_sqlite_has_keys_and_values_only(run: Runner, tmp_path: Path) -> None:
    work = """
async def work(self, storage):
    await storage.put("n", 1)
    try:
        storage.sql.exec("SELECT 1")
    except Exception as error:
        return await storage.get("n"), str(error)[:30]
"""
    config = _worker(tmp_path, work, migrations=[{"tag": "v1", "new_classes": ["Thing"]}])
    assert _answers(run, config) == ["(1, 'Error: This Durable Object is ')"]


@pytest.mark.parametrize("writes", [1, 8])
@pytest.mark.parametrize("damage", [b"", b"no database " * 1000])
def test_a_damaged_file_is_named_in_one_line_and_nothing_of_the_runtime(
    run: Runner, tmp_path: Path, writes: int, damage: bytes
) -> None:
    work = """
async def work(self, storage):
    await storage.put("n", (await storage.get("n") or 0) + 1)
    return await storage.get("n")
"""
    config = _worker(tmp_path / "w", work)
    state = tmp_path / "state"

    def answers() -> list[str]:
        async def program(flare: Pyflare) -> list[str]:
            found = []
            for _ in range(writes):
                try:
                    found.append((await flare.fetch("http://x/")).text)
                except Exception as error:
                    found.append(str(error))
            return found

        return run(program, config, persist_to=state)

    assert answers()[-1] == str(writes)
    files = [path for path in state.rglob("*.sqlite*") if path.is_file() and "do" in path.parts]
    newest = [path for path in files if not path.name.startswith("young")] or files
    for path in newest:
        if path.suffix == ".sqlite":
            path.write_bytes(damage)
        else:
            path.unlink()
    for text in answers():
        if text.isdigit():
            assert damage == b""
            assert writes == 1
        else:
            assert ".sqlite: this " in text
            assert "Traceback" not in text
