"""The pytest plugin, seen from a project that uses it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.emulator.conftest import write_worker

from .conftest import Project

ANYIO = """
    import pytest

    @pytest.fixture
    def anyio_backend():
        return "asyncio"
    """


def test_state_belongs_to_one_test(project: Project) -> None:
    outcome = project.run(
        """
        import pytest

        @pytest.mark.parametrize("n", range(3))
        def test_empty_at_first(pyflare, pyflare_env, n):
            assert pyflare_env.KV.get("k") is None
            assert pyflare_env.THING.getByName("x").call() == 1
            pyflare_env.KV.put("k", "v")
            pyflare_env.THING.getByName("x").keep("v")
        """
    )
    assert outcome.counts == {"passed": 3}, outcome.text


@pytest.mark.parametrize(("scope", "calls"), [("module", 3), ("function", 1)])
def test_state_is_shared_where_that_is_asked_for(project: Project, scope: str, calls: int) -> None:
    outcome = project.run(
        f"""
        import pytest

        @pytest.mark.parametrize("n", [1, 2, 3])
        def test_counts(pyflare_shared, n):
            assert pyflare_shared.env().THING.getByName("x").call() == min(n, {calls})
        """,
        ini=f"pyflare_scope = {scope}",
    )
    assert outcome.counts == {"passed": 3}, outcome.text


def test_tests_without_await_use_own_and_shared_state_side_by_side(project: Project) -> None:
    outcome = project.run(
        """
        def test_shared(pyflare_shared):
            assert pyflare_shared.env().THING.getByName("x").call() == 1

        def test_own(pyflare):
            assert pyflare.env().THING.getByName("x").call() == 1

        def test_shared_again(pyflare_shared):
            assert pyflare_shared.env().THING.getByName("x").call() == 2
        """
    )
    assert outcome.counts == {"passed": 3}, outcome.text


def test_async_tests_that_mix_own_and_shared_state_are_told_to_part(project: Project) -> None:
    outcome = project.run(
        """
        import pytest

        @pytest.mark.asyncio(loop_scope="module")
        async def test_shared(pyflare_shared):
            assert (await pyflare_shared.fetch("/")).text == "none"

        @pytest.mark.asyncio
        async def test_own(pyflare):
            pass
        """
    )
    assert outcome.counts == {"passed": 1, "error": 1}, outcome.text
    assert "the modules of one Worker are to be loaded twice at a time" in outcome.text
    assert "in different modules" in outcome.text


@pytest.mark.parametrize(
    ("marker", "arguments", "ini", "conftest"),
    [
        ("asyncio", (), "", ""),
        ("anyio", (), "", ANYIO),
        ("anyio", ("-p", "no:asyncio"), "", ANYIO),
        ("filterwarnings('error')", (), "asyncio_mode = auto", ""),
    ],
)
def test_async_tests_run_on_their_own_loop(
    project: Project, marker: str, arguments: tuple[str, ...], ini: str, conftest: str
) -> None:
    outcome = project.run(
        f"""
        import pytest

        @pytest.mark.{marker}
        async def test_it(pyflare, pyflare_env, pyflare_clock):
            assert (await pyflare.fetch("/")).text == "none"
            await pyflare_env.KV.put("k", "v", expirationTtl=60)
            await pyflare_clock.advance(minutes=2)
            assert await pyflare_env.KV.get("k") is None
        """,
        *arguments,
        ini=ini,
        conftest=conftest,
    )
    assert outcome.counts == {"passed": 1}, outcome.text


def test_async_fixtures_of_the_project_can_use_it(project: Project) -> None:
    outcome = project.run(
        """
        import pytest
        import pytest_asyncio

        @pytest_asyncio.fixture
        async def filled(pyflare):
            await pyflare.env().KV.put("k", "v")
            return pyflare

        @pytest.mark.asyncio
        async def test_it(filled, pyflare_env):
            assert await pyflare_env.KV.get("k") == "v"
        """,
    )
    assert outcome.counts == {"passed": 1}, outcome.text


def test_async_tests_share_on_a_loop_that_lives_as_long(project: Project) -> None:
    outcome = project.run(
        """
        import pytest

        pytestmark = pytest.mark.asyncio(loop_scope="module")

        @pytest.mark.parametrize("n", range(2))
        async def test_counts(pyflare_shared, n):
            assert await pyflare_shared.env().THING.getByName("x").call() == n + 1
        """,
    )
    assert outcome.counts == {"passed": 2}, outcome.text


def test_async_tests_cannot_share_without_such_a_loop(project: Project) -> None:
    outcome = project.run(
        """
        import pytest

        @pytest.mark.asyncio
        async def test_it(pyflare_shared):
            pass
        """,
    )
    assert 'pytest.mark.asyncio(loop_scope="module")' in outcome.text


def test_an_async_test_without_a_plugin_is_told_what_is_missing(project: Project) -> None:
    outcome = project.run("async def test_it(pyflare): pass", "-p", "no:asyncio", "-p", "no:anyio")
    assert "test_it is async; install pytest-asyncio" in outcome.text


def test_a_websocket_needs_no_await(project: Project) -> None:
    outcome = project.run(
        """
        import pytest
        from pyflare.embed.websocket import WebSocketRefused

        def test_echo(pyflare):
            with pyflare.websocket("/echo") as socket:
                socket.send("hello")
                assert socket.receive() == "hello"

        def test_refused(pyflare):
            with pytest.raises(WebSocketRefused, match="status 200"):
                with pyflare.websocket("/"):
                    pass
        """
    )
    assert outcome.counts == {"passed": 2}, outcome.text


def test_it_runs_in_parallel(project: Project) -> None:
    outcome = project.run(
        """
        import pytest

        @pytest.mark.parametrize("n", range(10))
        def test_own_state(pyflare, n):
            assert pyflare.env().THING.getByName("x").call() == 1
        """,
        "-n",
        "2",
    )
    assert outcome.counts == {"passed": 10}, outcome.text


def test_a_failure_shows_the_worker_and_not_what_is_between(project: Project) -> None:
    outcome = project.run('def test_it(pyflare): pyflare.fetch("/fails")')

    assert outcome.counts == {"failed": 1}
    assert "src/entry.py" in outcome.text
    assert "LookupError: deep inside the worker" in outcome.text
    assert "embed/client.py" not in outcome.text


def test_a_failure_can_show_everything(project: Project) -> None:
    outcome = project.run('def test_it(pyflare): pyflare.fetch("/fails")', "--full-trace")

    assert "embed/client.py" in outcome.text


def test_background_work_that_fails_fails_its_test(project: Project) -> None:
    outcome = project.run(
        """
        def test_it(pyflare):
            pyflare.fetch("/background")

        def test_looked_at(pyflare, pyflare_logs):
            pyflare.fetch("/background")
            pyflare.settle()
            assert [str(each.error) for each in pyflare_logs.errors] == ["nobody sees this"]
            pyflare_logs.clear()
        """
    )
    assert outcome.counts == {"passed": 2, "error": 1}, outcome.text
    assert "background work failed (tested: waitUntil)" in outcome.text


def test_markers_and_fixtures_set_arguments(project: Project) -> None:
    outcome = project.run(
        """
        import pytest

        pytestmark = pytest.mark.pyflare(vars={"MODE": "module"})

        def test_of_the_module(pyflare):
            assert pyflare.fetch("/").text == "module"

        @pytest.mark.pyflare(vars={"MODE": "own"})
        def test_of_its_own(pyflare):
            assert pyflare.fetch("/").text == "own"

        def test_of_the_fixture(pyflare):
            assert pyflare.env().EXTRA == 7
        """,
        conftest="""
        import pytest

        @pytest.fixture(scope="session")
        def pyflare_options():
            return {"bindings": {"EXTRA": 7}}
        """,
    )
    assert outcome.counts == {"passed": 3}, outcome.text


def test_a_marker_that_says_something_else_is_refused(project: Project) -> None:
    outcome = project.run(
        """
        import pytest

        @pytest.mark.pyflare(variables={})
        def test_it(pyflare): pass
        """
    )
    assert "test_it takes bindings, clock" in outcome.text
    assert "by name, not variables." in outcome.text


def test_the_ini_file_names_the_environment(project: Project) -> None:
    outcome = project.run(
        'def test_it(pyflare): assert pyflare.fetch("/").text == "staging"',
        ini="pyflare_env = staging",
    )
    assert outcome.counts == {"passed": 1}, outcome.text


def test_the_command_line_names_the_configuration(project: Project) -> None:
    (project.folder / "wrangler.json").rename(project.folder / "other.json")
    outcome = project.run(
        'def test_it(pyflare): assert pyflare.fetch("/").text == "none"',
        "--pyflare-config",
        "other.json",
    )
    assert outcome.counts == {"passed": 1}, outcome.text


def test_state_can_be_kept(project: Project) -> None:
    outcome = project.run(
        'def test_it(pyflare, tmp_path): pyflare.env().KV.put("k", "v")',
        "--pyflare-keep-state",
        f"--basetemp={project.folder / 'kept'}",
    )
    assert outcome.counts == {"passed": 1}, outcome.text
    assert any((project.folder / "kept").rglob("state/*"))


def test_objects_are_looked_into(project: Project) -> None:
    outcome = project.run(
        """
        import pytest
        from pyflare.testing import (abort_all_objects, evict_object, list_object_ids, run_in_object,
            run_object_alarm)

        @pytest.fixture
        def stub(pyflare_env):
            return pyflare_env.THING.getByName("x")

        def test_code_runs_inside(pyflare, stub):
            stub.call()
            assert pyflare.run(run_in_object, stub, lambda instance, ctx: instance.calls) == 1
            async def calls_itself(instance, ctx):
                return await instance.call()
            assert pyflare.run(run_in_object, stub, calls_itself) == 2

        def test_what_the_code_raises_is_raised(pyflare, stub):
            def fail(instance, ctx):
                raise KeyError("mine")
            with pytest.raises(KeyError, match="mine"):
                pyflare.run(run_in_object, stub, fail)

        def test_alarm_runs_now(pyflare, stub, pyflare_env):
            assert pyflare.run(run_object_alarm, stub) is False
            stub.keep("v")
            assert pyflare.run(run_object_alarm, stub) is True
            async def stored(instance, ctx):
                return await ctx.storage.get("v"), await ctx.storage.getAlarm()
            assert pyflare.run(run_in_object, stub, stored) == ("rang", None)

        def test_alarm_that_fails_is_not_tried_again(pyflare, stub):
            stub.keep("bad")
            with pytest.raises(ValueError, match="alarm failed"):
                pyflare.run(run_object_alarm, stub)
            assert pyflare.run(run_object_alarm, stub) is False

        def test_time_runs_it(pyflare, stub, pyflare_clock):
            stub.keep("v")
            pyflare_clock.advance(61)
            async def stored(instance, ctx):
                return await ctx.storage.get("v")
            assert pyflare.run(run_in_object, stub, stored) == "rang"

        def test_alarms_do_not_leak_into_the_next_test(pyflare_clock, pyflare_logs, pyflare):
            pyflare_clock.advance(minutes=5)
            assert pyflare.run(list_object_ids, pyflare.env().THING) == []

        def test_eviction_loses_memory_only(pyflare, stub):
            stub.call()
            assert pyflare.run(evict_object, stub) is True
            assert stub.call() == 1
            pyflare.run(evict_object, stub)
            assert pyflare.run(evict_object, stub) is False

        def test_all_are_aborted(pyflare, stub):
            stub.call()
            pyflare.run(abort_all_objects, pyflare)
            assert stub.call() == 1

        @pytest.mark.parametrize(("helper", "kind"), [(run_in_object, "runInDurableObject"),
            (run_object_alarm, "runDurableObjectAlarm"), (evict_object, "evictDurableObject")])
        def test_what_is_no_stub_is_refused(pyflare, helper, kind):
            more = [print] if helper is run_in_object else []
            with pytest.raises(Exception, match=f"Failed to execute '{kind}': parameter 1 is not of type"):
                pyflare.run(helper, 7, *more)

        def test_what_is_no_namespace_is_refused(pyflare):
            with pytest.raises(Exception, match="is not of type 'DurableObjectNamespace'"):
                pyflare.run(list_object_ids, pyflare.env().KV)
        """
    )
    assert outcome.counts == {"passed": 12}, outcome.text


def test_migrations_are_applied_in_order_and_once(project: Project) -> None:
    outcome = project.run(
        """
        import pytest
        from pathlib import Path
        from pyflare.testing import apply_d1_migrations, read_d1_migrations

        FOLDER = Path(__file__).parent / "migrations"

        def test_applied(pyflare):
            db = pyflare.env().DB
            migrations = read_d1_migrations(FOLDER)
            assert [len(each["queries"]) for each in migrations] == [2, 1]
            assert pyflare.run(apply_d1_migrations, db, migrations) == ["1_a.sql", "2_b.sql"]
            assert pyflare.run(apply_d1_migrations, db, migrations) == []
            assert db.prepare("SELECT v FROM t").first().v == "a;b"

        def test_unfinished(tmp_path):
            (tmp_path / "1.sql").write_text("INSERT INTO t VALUES ('a")
            with pytest.raises(ValueError, match="ends within a statement"):
                read_d1_migrations(tmp_path)

        def test_no_folder(tmp_path):
            with pytest.raises(FileNotFoundError, match="no directory of migrations"):
                read_d1_migrations(tmp_path / "none")
        """
    )
    assert outcome.counts == {"passed": 3}, outcome.text


def test_pytest_loads_no_emulator_before_a_fixture_is_used() -> None:
    program = """
import sys, pytest
class Look:
    def pytest_unconfigure(self):
        print(sorted(name for name in sys.modules if name.startswith(("pyflare.e", "pyflare.w", "httpx"))))
sys.exit(pytest.main(["--co", "-q", "-p", "no:cacheprovider", "--rootdir", ".", "none.py"], plugins=[Look()]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert "[]" in done.stdout


@pytest.fixture
def two(project: Project) -> Project:
    """A second Worker, whose main module has the same name."""
    write_worker(
        project.folder / "other",
        """
        from workers import Response, WorkerEntrypoint

        class Default(WorkerEntrypoint):
            async def fetch(self, request):
                import entry
                return Response(f"other {entry.Default is type(self)}")
        """,
    )
    return project


SEVERAL = """
    import asyncio
    import pytest

    {mark}
    @pytest.mark.parametrize("n", range(2))
    async def test_both(pyflare, n):
        assert (await pyflare.fetch("/")).text == "none"
        assert (await pyflare.worker("other").fetch("/")).text == "other True"

    {mark}
    async def test_another():
        await asyncio.sleep(0)
    """


@pytest.mark.parametrize("mark", ["asyncio", "asyncio(loop_scope='module')", "anyio"])
def test_async_tests_run_workers_with_modules_of_the_same_names(two: Project, mark: str) -> None:
    conftest = """
        import pytest
        from pyflare.testing import new_event_loop

        @pytest.fixture
        def anyio_backend():
            return "asyncio", {"loop_factory": new_event_loop}
        """
    outcome = two.run(
        SEVERAL.format(mark=f"@pytest.mark.{mark}"),
        ini="pyflare_config =\n  wrangler.json\n  other/wrangler.json",
        conftest=conftest if mark == "anyio" else "",
    )
    assert outcome.counts == {"passed": 3}, outcome.text


def test_a_loop_factory_of_the_project_is_taken(two: Project) -> None:
    outcome = two.run(
        """
        import asyncio, pytest

        @pytest.mark.asyncio
        async def test_it():
            assert type(asyncio.get_running_loop()).__name__ == "Own"
        """,
        ini="pyflare_config =\n  wrangler.json\n  other/wrangler.json",
        conftest="""
        import asyncio

        class Own(asyncio.SelectorEventLoop):
            pass

        def pytest_asyncio_loop_factories(config, item):
            return {"own": Own}
        """,
    )
    assert outcome.counts == {"passed": 1}, outcome.text
