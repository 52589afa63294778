"""Imports that wait half-way: nobody sees a module that is only partly there."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

SLOW = """
import asyncio
from pyflare.workers.suspend import run_sync
run_sync(asyncio.sleep(0))
run_sync(asyncio.sleep(0))
OWNER = {owner!r}
"""

ENTRY = """
async def use():
    from slow import OWNER
    return OWNER

async def begin():
    import slow
    return slow.OWNER
"""


def test_a_second_import_waits_for_the_first(workers: Any) -> None:
    a = workers.start("a", {"entry.py": ENTRY, "slow.py": SLOW.format(owner="a")})

    async def main() -> list[str]:
        return await asyncio.gather(*(workers.event(a, name) for name in ("begin", "use", "use")))

    assert workers.run(main()) == ["a", "a", "a"]


def test_two_workers_import_modules_of_one_name_at_the_same_time(workers: Any) -> None:
    scopes = [
        workers.start(name, {"entry.py": ENTRY, "slow.py": SLOW.format(owner=name)})
        for name in ("a", "b")
    ]

    async def main() -> list[str]:
        return await asyncio.gather(*(workers.event(scope, "use") for scope in scopes * 3))

    assert workers.run(main()) == ["a", "b"] * 3


def test_a_circular_import_works_as_ever(workers: Any) -> None:
    a = workers.start(
        "a",
        {
            "entry.py": "def use():\n    import left\n    return left.VALUE\n",
            "left.py": "import right\nVALUE = 1\n",
            "right.py": "import left\n",
        },
    )

    assert workers.call(a, "use") == 1


def test_a_task_of_the_import_itself_does_not_wait_for_it(workers: Any) -> None:
    slow = """
        import asyncio
        from pyflare.workers.suspend import run_sync
        EARLY = 1
        async def own():
            import slow
            return slow.EARLY
        OWNER = run_sync(asyncio.create_task(own()))
        """
    a = workers.start("a", {"entry.py": ENTRY, "slow.py": slow})

    assert workers.call(a, "use") == 1


def test_an_import_that_fails_releases_those_who_wait(workers: Any) -> None:
    slow = "import asyncio\nfrom pyflare.workers.suspend import run_sync\n"
    slow += "run_sync(asyncio.sleep(0))\nraise LookupError('broken')\n"
    a = workers.start("a", {"entry.py": ENTRY, "slow.py": slow})

    async def main() -> list[Any]:
        events = (workers.event(a, name) for name in ("begin", "use"))
        return await asyncio.gather(*events, return_exceptions=True)

    first, second = workers.run(main())
    assert repr(first) == "LookupError('broken')"
    assert isinstance(second, ImportError)


def test_the_main_module_may_wait_while_it_is_imported(workers: Any) -> None:
    a = workers.make("a", {"entry.py": SLOW.format(owner="a")})
    workers.isolation.add(a.space)

    async def load() -> Any:
        return a.space.import_main("entry")

    async def main() -> Any:
        return await workers.pool.drive(load(), a.new_context())

    assert workers.run(main()).OWNER == "a"


def test_waiting_where_nothing_can_be_suspended_fails_the_import(workers: Any) -> None:
    a = workers.make("a", {"entry.py": SLOW.format(owner="a")})
    workers.isolation.add(a.space)

    with pytest.raises(RuntimeError, match="Cannot stack switch"):
        a.space.import_main("entry")
