"""A class that `renamed_classes` gives another name keeps its objects: ids, storage and alarms."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyflare import Pyflare
from pyflare_bindings.registry import BindingRegistry
from pyflare_bindings.storage.errors import StateError
from tests.emulator.conftest import Runner, write_worker

SOURCE = """
    from workers import DurableObject, Response, WorkerEntrypoint


    class Kept(DurableObject):
        async def add(self):
            n = (await self.ctx.storage.get("n") or 0) + 1
            await self.ctx.storage.put("n", n)
            return [n, self.ctx.id.toString(), type(self).__name__]

        async def wake(self, at):
            await self.ctx.storage.setAlarm(at)

        async def alarm(self):
            await self.ctx.storage.put("n", 1000)


    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            return Response("")
"""

NEW = {"tag": "v1", "new_sqlite_classes": ["First"]}
RENAMED = {"tag": "v2", "renamed_classes": [{"from": "First", "to": "Second"}]}
RENAMED_AGAIN = {"tag": "v3", "renamed_classes": [{"from": "Second", "to": "Third"}]}
FIRST_ANEW = {"tag": "v3", "new_sqlite_classes": ["First"]}

Add = Callable[..., Any]


@pytest.fixture
def add(tmp_path: Path, run: Runner) -> Add:
    """Counts in one object of a class, in a state directory that stays; gives count and id."""

    def go(
        class_name: str, *migrations: Any, program: Any = None, also: tuple[str, ...] = ()
    ) -> Any:
        names = (class_name, *also)
        classes = "".join(f"\n\n    class {name}(Kept):\n        pass\n" for name in names)
        config = write_worker(
            tmp_path / "w",
            SOURCE.replace("\n\n    class Default", classes + "\n\n    class Default"),
            durable_objects={
                "bindings": [{"name": name.upper(), "class_name": name} for name in names]
            },
            migrations=list(migrations),
        )

        async def inside(flare: Pyflare) -> Any:
            stub = getattr(flare.env(), class_name.upper()).getByName("one")
            if program is not None:
                return await program(stub, flare)
            count, id, name = await stub.add()
            assert name == class_name
            return count, id

        return run(inside, config, persist_to=tmp_path / "state")

    return go


def test_the_objects_keep_ids_and_storage(add: Add) -> None:
    first = add("First", NEW)
    assert add("Second", NEW, RENAMED) == (2, first[1])
    assert add("Second", NEW, RENAMED) == (3, first[1])
    assert add("Third", NEW, RENAMED, RENAMED_AGAIN) == (4, first[1])


def test_several_names_in_one_go(add: Add) -> None:
    first = add("First", NEW)
    assert add("Third", NEW, RENAMED, RENAMED_AGAIN) == (2, first[1])


def test_the_old_name_is_that_of_another_class_later(add: Add) -> None:
    first = add("First", NEW)
    assert add("Second", NEW, RENAMED)[0] == 2
    count, id = add("First", NEW, RENAMED, FIRST_ANEW, also=("Second",))
    assert (count, id != first[1]) == (1, True)
    assert add("First", NEW, RENAMED, FIRST_ANEW, also=("Second",)) == (2, id)
    assert add("Second", NEW, RENAMED, FIRST_ANEW, also=("First",)) == (3, first[1])


def test_going_back_to_the_configuration_before_finds_the_objects_too(add: Add) -> None:
    add("First", NEW)
    add("Second", NEW, RENAMED)
    assert add("First", NEW)[0] == 3
    assert add("Second", NEW, RENAMED)[0] == 4


def test_a_class_that_has_stored_something_under_its_own_name_keeps_that(add: Add) -> None:
    second = add("Second", NEW, RENAMED)
    assert add("First", NEW)[0] == 1
    assert add("Second", NEW, RENAMED) == (2, second[1])


def test_a_class_with_a_name_that_was_deleted_is_another(add: Add) -> None:
    add("First", NEW)
    deleted = {"tag": "v2", "deleted_classes": ["First"]}
    anew = {"tag": "v3", "new_sqlite_classes": ["Second"]}
    assert add("Second", NEW, deleted, anew)[0] == 1


def test_alarms_come_with_them(add: Add) -> None:
    async def set_alarm(stub: Any, flare: Pyflare) -> None:
        await stub.wake(int(flare.clock.now().timestamp() * 1000) + 60_000)

    async def wait(stub: Any, flare: Pyflare) -> Any:
        await flare.clock.advance(minutes=2)
        return (await stub.add())[0]

    add("First", NEW, program=set_alarm)
    assert add("Second", NEW, RENAMED, program=wait) == 1001


def test_a_rename_while_it_runs(add: Add, tmp_path: Path) -> None:
    async def rename(stub: Any, flare: Pyflare) -> Any:
        before = await stub.add()
        path = tmp_path / "w" / "wrangler.json"
        source = tmp_path / "w" / "src" / "entry.py"
        config = json.loads(path.read_text())
        config["migrations"] = [NEW, RENAMED]
        config["durable_objects"]["bindings"][0]["class_name"] = "Second"
        path.write_text(json.dumps(config))
        source.write_text(source.read_text().replace("class First", "class Second"))
        await flare.reload(path)
        after = await flare.env().FIRST.getByName("one").add()
        return [before[0], after[0], after[2], before[1] == after[1]]

    assert add("First", NEW, program=rename) == [1, 2, "Second", True]


def test_a_damaged_list_of_names_is_named(add: Add, tmp_path: Path) -> None:
    add("First", NEW)
    add("Second", NEW, RENAMED)
    [path] = (tmp_path / "state").rglob("renamed.json")
    for damage in ("{", "[]", '{"a": 1}'):
        path.write_text(damage)
        with pytest.raises(StateError, match=r"renamed\.json: this file is damaged\. Remove it"):
            BindingRegistry(tmp_path / "state").renamed_objects().kept_as("w-Second")
    path.unlink()
    assert add("Second", NEW, RENAMED)[0] == 3
