"""The fixtures in tests without ``await``: threads, and bodies in parts."""

from __future__ import annotations

from .conftest import Project


def test_a_call_in_another_thread_says_where_pyflare_belongs_and_harms_nothing(
    project: Project,
) -> None:
    outcome = project.run(
        """
        from concurrent.futures import ThreadPoolExecutor
        import pytest

        CALLS = [
            lambda flare: flare.fetch("/"),
            lambda flare: flare.env().KV.get("k"),
            lambda flare: flare.clock.advance(1),
            lambda flare: flare.run(flare.flare.settle),
            lambda flare: flare.websocket("/echo").__enter__(),
        ]

        @pytest.mark.parametrize("call", CALLS)
        def test_threads(pyflare, call):
            assert pyflare.fetch("/").text == "none"
            with ThreadPoolExecutor(4, "mine") as pool:
                for each in [pool.submit(call, pyflare) for _ in range(8)]:
                    with pytest.raises(RuntimeError, match="called in the thread 'mine_.*thread of the test"):
                        each.result()
            assert pyflare.fetch("/").text == "none"
        """
    )
    assert outcome.counts == {"passed": 5}, outcome.text


def test_a_streamed_body_is_read_whole_in_parts_or_given_up(project: Project) -> None:
    outcome = project.run(
        """
        def test_read(pyflare):
            response = pyflare.fetch("/", stream=True)
            assert not response.is_closed
            assert response.read() == b"none"
            assert response.is_closed

        def test_parts(pyflare):
            assert b"".join(pyflare.fetch("/", stream=True).iter_bytes()) == b"none"

        def test_given_up(pyflare):
            response = pyflare.fetch("/", stream=True)
            response.close()
            assert response.is_closed
            assert pyflare.fetch("/").text == "none"
        """
    )
    assert outcome.counts == {"passed": 3}, outcome.text


def test_a_function_on_the_loop_is_handed_what_it_awaits(project: Project) -> None:
    outcome = project.run(
        """
        import asyncio
        import pytest

        CALLS = [
            lambda flare: flare.fetch("/"),
            lambda flare: flare.env().KV.get("k"),
            lambda flare: flare.clock.advance(1),
            lambda flare: flare.settle(),
            lambda flare: flare.run(asyncio.sleep(0)),
            lambda flare: flare.websocket("/echo").__enter__(),
        ]

        def test_several_at_a_time(pyflare):
            async def go(flare):
                return await asyncio.gather(*[flare.fetch("/") for _ in range(3)])
            assert [each.text for each in pyflare.run(go, pyflare)] == ["none"] * 3

        @pytest.mark.parametrize("call", CALLS)
        def test_without_await_says_so_and_harms_nothing(pyflare, call):
            env = pyflare.env()
            async def go():
                call(pyflare)
            with pytest.raises(RuntimeError, match=r"pyflare.run\\(function, pyflare\\)"):
                pyflare.run(go)
            assert pyflare.fetch("/").text == "none"
        """
    )
    assert outcome.counts == {"passed": 7}, outcome.text


def test_a_worker_can_be_reloaded(project: Project) -> None:
    outcome = project.run(
        """
        def test_it(pyflare, pytestconfig):
            file = pytestconfig.rootpath / "src/entry.py"
            file.write_text(file.read_text().replace('"none"', '"new"'))
            pyflare.reload("src/entry.py")
            assert pyflare.fetch("/").text == "new"
        """
    )
    assert outcome.counts == {"passed": 1}, outcome.text


def test_what_was_given_can_be_given_back_also_in_lists(project: Project) -> None:
    outcome = project.run(
        """
        import pytest

        @pytest.fixture
        def db(pyflare_env):
            pyflare_env.DB.exec("CREATE TABLE x (a)")
            return pyflare_env.DB

        @pytest.fixture
        def statements(db):
            return [db.prepare("INSERT INTO x VALUES (?)").bind(1), db.prepare("SELECT a FROM x")]

        def test_called(db, statements):
            _, found = db.batch(statements)
            assert [row.a for row in found.results] == [1]

        def test_run(pyflare, db, statements):
            _, found = pyflare.run(db.batch, statements)
            assert [row.a for row in found.results] == [1]

        def test_named(pyflare, db, statements):
            async def work(given):
                return await given["db"].batch(given["statements"])
            _, found = pyflare.run(work, {"db": db, "statements": statements})
            assert [row.a for row in found.results] == [1]

        def test_others_stay_what_they_are(pyflare):
            given = [1, {"a": [2]}]
            assert pyflare.run(lambda value: value, given) is given
        """
    )
    assert outcome.counts == {"passed": 4}, outcome.text
