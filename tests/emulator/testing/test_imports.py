"""Tests that import the modules of the Worker under test."""

from __future__ import annotations

import pytest

from .conftest import Project

HELPER = """
VALUE = "plain"
COUNT = 0

def shout(text):
    return text.upper()
"""

ENTRY = """
import asyncio
from js import Headers
from pyodide.ffi import to_js
from workers import DurableObject, Response, WorkerEntrypoint, env
import helper

HEADERS = Headers.new()

class Refused(Exception):
    pass

class Thing(DurableObject):
    async def value(self):
        return helper.VALUE

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        helper.COUNT += 1
        if request.url.endswith("/lazy"):
            import lazy
            return Response(lazy.NAME)
        if request.url.endswith("/fails"):
            raise Refused("no")
        if request.url.endswith("/kept"):
            await env.KV.put("k", f"{await env.KV.get('k')}+")
            return Response(await env.KV.get("k"))
        return Response(f"{helper.VALUE} {helper.COUNT}")
"""


@pytest.fixture
def worker(project: Project) -> Project:
    (project.folder / "src/entry.py").write_text(ENTRY)
    (project.folder / "src/helper.py").write_text(HELPER)
    (project.folder / "src/lazy.py").write_text('NAME = "lazy"\n')
    return project


LAYOUTS = [("pythonpath = src", ""), ("", ""), ("", "import entry")]


@pytest.mark.parametrize(("ini", "conftest"), LAYOUTS)
def test_a_unit_test_needs_no_fixture(worker: Project, ini: str, conftest: str) -> None:
    outcome = worker.run(
        """
        import asyncio
        import entry
        from helper import shout

        def test_function():
            assert shout("a") == "A"

        def test_javascript():
            import js
            assert entry.HEADERS.has("x") is False
            assert js.Headers is entry.Headers

        def test_sdk():
            assert asyncio.run(entry.Response("x").text()) == "x"
        """,
        ini=ini,
        conftest=conftest,
    )
    assert outcome.counts == {"passed": 3}, outcome.text


@pytest.mark.parametrize(("ini", "conftest"), LAYOUTS)
def test_the_worker_runs_the_modules_that_the_test_imports(
    worker: Project, ini: str, conftest: str
) -> None:
    outcome = worker.run(
        """
        import pytest
        import entry, helper
        from entry import Refused
        from pyflare.testing import run_in_object

        @pytest.fixture
        def patched(monkeypatch):
            monkeypatch.setattr(helper, "VALUE", "early")

        def test_patched_in_the_test(pyflare, monkeypatch):
            monkeypatch.setattr(helper, "VALUE", "patched")
            assert pyflare.fetch("/").text.startswith("patched")

        def test_patched_before_it_starts(patched, pyflare):
            assert pyflare.fetch("/").text.startswith("early")

        def test_undone_afterwards(pyflare):
            assert pyflare.fetch("/").text.startswith("plain")

        def test_exceptions_are_the_workers(pyflare):
            with pytest.raises(Refused):
                pyflare.fetch("/fails")

        def test_classes_are_the_workers(pyflare, pyflare_env):
            stub = pyflare_env.THING.getByName("a")
            assert pyflare.run(run_in_object, stub, lambda it, ctx: type(it)) is entry.Thing
            assert stub.value() == "plain"

        @pytest.mark.asyncio
        async def test_with_await(pyflare, monkeypatch):
            monkeypatch.setattr("helper.VALUE", "awaited")
            assert (await pyflare.fetch("/")).text.startswith("awaited")

        @pytest.mark.parametrize("n", range(2))
        def test_shared_and_own_state_side_by_side(pyflare_shared, pyflare, n, monkeypatch):
            monkeypatch.setattr(helper, "VALUE", "both")
            for each in (pyflare_shared, pyflare):
                assert each.fetch("/").text.startswith("both")
        """,
        ini=ini,
        conftest=conftest,
    )
    assert outcome.counts == {"passed": 8}, outcome.text


def test_what_is_imported_lives_on_and_the_rest_is_new_for_each_test(worker: Project) -> None:
    outcome = worker.run(
        """
        import helper

        def test_first(pyflare):
            import entry
            entry.SEEN = 1
            assert pyflare.fetch("/").text == "plain 1"

        def test_second(pyflare):
            import entry
            assert not hasattr(entry, "SEEN")
            assert pyflare.fetch("/").text == "plain 2"
        """
    )
    assert outcome.counts == {"passed": 2}, outcome.text


def test_without_an_import_everything_is_new_for_each_test(worker: Project) -> None:
    outcome = worker.run(
        """
        import pytest, sys

        @pytest.mark.parametrize("n", range(2))
        def test_it(pyflare, n):
            assert pyflare.fetch("/").text == "plain 1"
            assert pyflare.fetch("/lazy").text == "lazy"

        def test_afterwards():
            assert not {"entry", "helper", "lazy"} & sys.modules.keys()
        """,
        ini="pythonpath = src",
    )
    assert outcome.counts == {"passed": 3}, outcome.text


def test_what_an_imported_worker_imports_later_is_the_tests_too(worker: Project) -> None:
    outcome = worker.run(
        """
        import sys
        import entry

        def test_first(pyflare):
            assert pyflare.fetch("/lazy").text == "lazy"
            sys.modules["lazy"].NAME = "still the same"

        def test_second(pyflare):
            import lazy
            assert pyflare.fetch("/lazy").text == lazy.NAME == "still the same"
        """
    )
    assert outcome.counts == {"passed": 2}, outcome.text


def test_env_of_an_imported_module_is_that_of_the_running_worker(worker: Project) -> None:
    outcome = worker.run(
        """
        import pytest
        import entry

        @pytest.mark.parametrize("n", range(2))
        def test_it(pyflare, n):
            assert pyflare.fetch("/kept").text == "None+"

        def test_none_runs():
            with pytest.raises(AttributeError, match="env.KV was asked for outside a Worker"):
                entry.env.KV
        """
    )
    assert outcome.counts == {"passed": 3}, outcome.text


def test_a_reload_runs_new_code_and_the_next_test_has_what_it_imported(worker: Project) -> None:
    outcome = worker.run(
        """
        import pytest
        import helper, entry

        def test_first(pyflare, pytestconfig):
            file = pytestconfig.rootpath / "src/helper.py"
            before = file.read_text()
            file.write_text(before.replace("plain", "new"))
            pyflare.run(pyflare.flare.reload, file)
            file.write_text(before)
            assert pyflare.fetch("/").text == "new 1"

        def test_second(pyflare, monkeypatch):
            monkeypatch.setattr(helper, "VALUE", "patched")
            assert pyflare.fetch("/").text == "patched 1"
        """
    )
    assert outcome.counts == {"passed": 2}, outcome.text


def test_tests_beside_the_main_module_are_no_clash(worker: Project) -> None:
    for file in (worker.folder / "src").iterdir():
        file.rename(worker.folder / file.name)
    config = worker.folder / "wrangler.json"
    config.write_text(config.read_text().replace("src/entry.py", "entry.py"))
    outcome = worker.run(
        """
        import pytest

        @pytest.mark.asyncio
        @pytest.mark.parametrize("n", range(2))
        async def test_it(pyflare, n):
            assert (await pyflare.fetch("/")).text == "plain 1"
        """
    )
    assert outcome.counts == {"passed": 2}, outcome.text


def test_workers_with_modules_of_the_same_names_run_what_was_imported_of_theirs(
    worker: Project,
) -> None:
    other = worker.folder / "other"
    other.mkdir()
    (other / "entry.py").write_text(ENTRY)
    (other / "helper.py").write_text(HELPER.replace("plain", "other"))
    (other / "wrangler.json").write_text(
        '{"name": "other", "main": "entry.py", "compatibility_date": "2026-05-01", '
        '"compatibility_flags": ["python_workers"]}'
    )
    outcome = worker.run(
        """
        import helper

        def test_it(pyflare, monkeypatch):
            monkeypatch.setattr(helper, "VALUE", "patched")
            assert pyflare.fetch("/").text == "patched 1"
            assert pyflare.worker("other").fetch("/").text == "other 1"
            assert helper.COUNT == 1
        """,
        ini="pyflare_config =\n  wrangler.json\n  other/wrangler.json",
    )
    assert outcome.counts == {"passed": 1}, outcome.text


def test_a_project_without_workers_has_no_such_modules(worker: Project) -> None:
    (worker.folder / "wrangler.json").unlink()
    outcome = worker.run(
        """
        import pytest

        @pytest.mark.parametrize("name", ["js", "pyodide", "entry"])
        def test_it(name):
            with pytest.raises(ModuleNotFoundError):
                __import__(name)
        """
    )
    assert outcome.counts == {"passed": 3}, outcome.text


def test_an_import_by_another_name_is_told(worker: Project) -> None:
    outcome = worker.run(
        """
        import src.helper

        def test_it(pyflare, pyflare_logs):
            [text] = pyflare_logs.warnings
            assert "src.helper was imported" in text
            assert "Write `import helper`" in text
            assert pyflare.fetch("/").text == "plain 1"
        """
    )
    assert outcome.counts == {"passed": 1}, outcome.text
