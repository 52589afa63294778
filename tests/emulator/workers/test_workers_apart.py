"""Two workers with the same file names in one interpreter never see each other's modules."""

from __future__ import annotations

import asyncio
import gc
import pickle
import sys
from typing import Any

import pytest

from pyflare.workers.crossing import call_in, entered
from pyflare.workers.current import WorkerScope
from pyflare.workers.loop import new_uvloop

ENTRY = """
import asyncio
import importlib
from utils import OWNER
from app.models import Item

def at_import():
    return OWNER, Item.owner

def lazily():
    import late
    return late.OWNER

async def after_sleep():
    await asyncio.sleep(0)
    await asyncio.sleep(0.001)
    import late
    from app import views
    return late.OWNER, views.owner()

async def in_timer():
    loop = asyncio.get_running_loop()
    answer = loop.create_future()
    def fire():
        import late
        answer.set_result(late.OWNER)
    loop.call_later(0.001, fire)
    return await answer

async def in_task():
    async def job():
        import late
        return late.OWNER
    return await asyncio.create_task(job())

def by_name():
    return importlib.import_module("app.views").owner()

async def calls(other):
    import late
    before = late.OWNER
    answer = await other()
    from app import views
    return before, answer, views.owner()

def calls_at_once(other):
    answer = other()
    import late
    return answer, late.OWNER
"""


def files(owner: str) -> dict[str, str]:
    return {
        "entry.py": ENTRY,
        "utils.py": f"OWNER = {owner!r}\n",
        "late.py": f"OWNER = {owner!r}\n",
        "app/__init__.py": "",
        "app/models.py": f"""
            import dataclasses
            from typing import ClassVar

            @dataclasses.dataclass
            class Item:
                owner: ClassVar[str] = {owner!r}
                name: str = "nothing"
            """,
        "app/views.py": """
            from .models import Item

            def owner():
                from . import deep
                return Item.owner + deep.SUFFIX
            """,
        "app/deep.py": "SUFFIX = '!'\n",
    }


@pytest.fixture
def pair(workers: Any) -> tuple[WorkerScope, WorkerScope]:
    first, second = workers.make("first", files("first")), workers.make("second", files("second"))
    workers.isolation.add(first.space, second.space)
    for scope in (first, second):
        scope.data["main"] = workers.load(scope)
    return first, second


@pytest.mark.parametrize(
    ("handler", "expected"),
    [
        ("at_import", lambda owner: (owner, owner)),
        ("lazily", lambda owner: owner),
        ("after_sleep", lambda owner: (owner, owner + "!")),
        ("in_timer", lambda owner: owner),
        ("in_task", lambda owner: owner),
        ("by_name", lambda owner: owner + "!"),
    ],
)
def test_each_worker_finds_its_own_module(
    workers: Any, pair: tuple[WorkerScope, WorkerScope], handler: str, expected: Any
) -> None:
    async def main() -> list[Any]:
        return await asyncio.gather(*(workers.event(scope, handler) for scope in pair * 2))

    assert workers.run(main()) == [expected(scope.name) for scope in pair * 2]


def test_a_worker_that_awaits_another_keeps_its_own_modules(
    workers: Any, pair: tuple[WorkerScope, WorkerScope]
) -> None:
    first, second = pair

    async def main() -> Any:
        return await workers.event(first, "calls", lambda: workers.event(second, "after_sleep"))

    assert workers.run(main()) == ("first", ("second", "second!"), "first!")


def test_a_synchronous_call_into_another_worker_uses_and_leaves_the_right_modules(
    workers: Any, pair: tuple[WorkerScope, WorkerScope]
) -> None:
    first, second = pair
    lazily = second.data["main"].lazily

    def cross() -> Any:
        return call_in(second.context, lazily)

    assert workers.call(first, "calls_at_once", cross) == ("second", "first")


def test_entering_a_worker_makes_it_current_and_restores_the_caller(
    workers: Any, pair: tuple[WorkerScope, WorkerScope]
) -> None:
    first, second = pair
    seen = []

    def cross() -> Any:
        with entered(second):
            seen.append(sys.modules["utils"].OWNER)
        seen.append(sys.modules["utils"].OWNER)
        return seen

    workers.call(first, "calls_at_once", cross)
    assert seen == ["second", "first"]


def test_120_interleaved_events_with_calls_between_the_workers(
    workers: Any, pair: tuple[WorkerScope, WorkerScope]
) -> None:
    async def main() -> list[Any]:
        jobs = []
        for number in range(120):
            mine, other = pair if number % 2 else pair[::-1]
            jobs.append(
                workers.event(
                    mine, "calls", lambda other=other: workers.event(other, "after_sleep")
                )
            )
        return await asyncio.gather(*jobs)

    answers = workers.run(main())
    for number, answer in enumerate(answers):
        mine, other = ("first", "second") if number % 2 else ("second", "first")
        assert answer == (mine, (other, other + "!"), mine + "!")


def test_pickle_finds_the_class_of_the_worker_that_runs(
    workers: Any, pair: tuple[WorkerScope, WorkerScope]
) -> None:
    for scope in pair:
        with entered(scope):
            item = sys.modules["app.models"].Item("a")
            copy = pickle.loads(pickle.dumps(item))
        assert type(copy).owner == scope.name


@pytest.mark.parametrize("kind", ["switching", "uvloop"])
def test_an_asynchronous_generator_is_finished_as_its_own_worker(workers: Any, kind: str) -> None:
    if kind == "uvloop":
        pytest.importorskip("uvloop")
    entry = """
        from pyflare.workers.current import current
        seen = []
        swapped = {swapped}

        async def numbers():
            try:
                yield 1
                yield 2
            finally:
                seen.append(current.get().name)
                if swapped:
                    import late
                    seen.append(late.OWNER)

        async def start():
            generator = numbers()
            await anext(generator)
            return generator
        """
    scopes = [
        workers.start(
            name,
            {
                "entry.py": entry.format(swapped=kind == "switching"),
                "late.py": f"OWNER = {name!r}\n",
            },
        )
        for name in ("first", "second")
    ]

    async def main() -> None:
        generators = [await workers.event(scope, "start") for scope in scopes]
        workers.isolation.switch(scopes[1].space)
        generators.clear()
        gc.collect()
        for _ in range(5):
            await asyncio.sleep(0)

    workers.run(main(), new_uvloop if kind == "uvloop" else None)
    times = 2 if kind == "switching" else 1
    assert [scope.data["main"].seen for scope in scopes] == [["first"] * times, ["second"] * times]


def test_pydantic_resolves_forward_references_in_each_workers_module(workers: Any) -> None:
    pytest.importorskip("pydantic")
    entry = """
        from __future__ import annotations
        from pydantic import BaseModel

        class Order(BaseModel):
            lines: list[Line]

        class Line(BaseModel):
            {field}: int

        def check(value):
            return Order.model_validate({{"lines": [value]}}).model_dump()
        """
    a = workers.start("a", {"entry.py": entry.format(field="left")})
    b = workers.start("b", {"entry.py": entry.format(field="right")})

    assert workers.call(a, "check", {"left": 1}) == {"lines": [{"left": 1}]}
    assert workers.call(b, "check", {"right": 2}) == {"lines": [{"right": 2}]}


def test_the_search_path_that_a_worker_edits_is_its_own(workers: Any) -> None:
    entry = """
        import sys

        def add(folder):
            sys.path.insert(0, folder)

        def has(folder):
            return folder in sys.path
        """
    a, b = workers.start("a", {"entry.py": entry}), workers.start("b", {"entry.py": entry})

    workers.call(a, "add", "/somewhere")

    assert workers.call(a, "has", "/somewhere")
    assert not workers.call(b, "has", "/somewhere")


def test_a_module_that_replaces_itself_stays_replaced(workers: Any) -> None:
    files = {
        "entry.py": """
            def kind():
                import odd
                return odd.kind
            """,
        "odd.py": """
            import sys, types
            made = types.SimpleNamespace(kind="replaced")
            sys.modules[__name__] = made
            """,
    }
    a, b = workers.start("a", files), workers.start("b", files)

    async def main() -> list[str]:
        return [await workers.event(scope, "kind") for scope in (a, b, a, b)]

    assert workers.run(main()) == ["replaced"] * 4


def test_a_module_that_a_worker_deletes_is_imported_anew(workers: Any) -> None:
    files = {
        "entry.py": """
            import sys

            def again():
                import counted
                first = counted
                del sys.modules["counted"]
                import counted
                return counted is not first

            def same():
                import counted
                return counted is sys.modules["counted"]
            """,
        "counted.py": "",
    }
    a, b = workers.start("a", files), workers.start("b", files)

    async def main() -> list[bool]:
        return [
            await workers.event(a, "again"),
            await workers.event(b, "same"),
            await workers.event(a, "same"),
        ]

    assert workers.run(main()) == [True, True, True]


def test_a_reload_replaces_one_workers_modules_and_leaves_the_others(workers: Any) -> None:
    files = {"entry.py": "from utils import VALUE\n", "utils.py": "VALUE = 1\n"}
    a, b = workers.start("a", files), workers.start("b", files)
    other = b.data["main"]
    (a.space.root / "utils.py").write_text("VALUE = 2\n")

    fresh = a.space.reload("entry")

    assert (fresh.VALUE, a.data["main"].VALUE) == (2, 1)
    with entered(b):
        assert sys.modules["entry"] is other


def test_a_failed_reload_keeps_the_modules_that_worked(workers: Any) -> None:
    a = workers.start("a", {"entry.py": "import utils\n", "utils.py": "VALUE = 1\n"})
    workers.start("b", {"entry.py": ""})
    before = a.data["main"]
    (a.space.root / "utils.py").write_text("VALUE = nonsense\n")

    with pytest.raises(NameError, match="nonsense"):
        a.space.reload("entry")

    with entered(a):
        assert sys.modules["entry"] is before
        assert sys.modules["utils"].VALUE == 1


def test_removing_a_worker_takes_its_modules_out_of_the_process(workers: Any) -> None:
    a = workers.start("a", {"entry.py": "import utils", "utils.py": ""})
    b = workers.start("b", {"entry.py": "import utils", "utils.py": ""})

    workers.isolation.remove(a.space)
    workers.isolation.remove(b.space)

    assert "utils" not in sys.modules
    assert "entry" not in sys.modules
