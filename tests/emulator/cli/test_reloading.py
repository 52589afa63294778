"""Saving files while ``pyflare dev`` runs: the process stays, whatever was saved."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyflare.cli.reload import _watched
from pyflare.config import load
from tests.emulator.conftest import write_worker

ANSWER = """\
from workers import Response, WorkerEntrypoint


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response({text})
"""


class Edited:
    """A project under a running command."""

    def __init__(self, dev: Any, project: Any, directory: Path, **settings: Any) -> None:
        self.directory = directory
        self.config = project(directory, ANSWER.format(text="'one'"), **settings)
        self.entry = directory / "src" / "entry.py"
        self.running = dev(directory).ready()
        self.answers("one")

    def answers(self, text: str) -> None:
        """Wait until the worker answers this."""
        self.running.until(lambda: self.running.get() == (200, text))

    def fails(self, text: str) -> None:
        """Wait until requests are answered with 500 and a traceback that holds this text."""

        def failed() -> bool:
            status, body = self.running.get()
            return status == 500 and text in body

        self.running.until(failed)


@pytest.fixture
def edited(dev: Any, project: Any, tmp_path: Path) -> Callable[..., Edited]:
    return lambda **settings: Edited(dev, project, tmp_path / "edited", **settings)


def test_saved_module_is_live_by_itself(edited: Any) -> None:
    project = edited()
    project.entry.write_text(ANSWER.format(text="'two'"))
    project.answers("two")
    project.running.until(lambda: "⎔ Local server updated and ready\n" in project.running.out)


def test_imported_module_is_read_again_too(edited: Any) -> None:
    project = edited()
    other = project.directory / "src" / "other.py"
    other.write_text("TEXT = 'first'\n")
    project.entry.write_text("from other import TEXT\n" + ANSWER.format(text="TEXT"))
    project.answers("first")
    other.write_text("TEXT = 'second'\n")
    project.answers("second")


@pytest.mark.parametrize(
    ("broken", "error"),
    [
        ("def broken(:\n", "SyntaxError"),
        ("import a_module_that_does_not_exist\n", "ModuleNotFoundError"),
        ("raise ValueError('at import')\n", "ValueError: at import"),
    ],
)
def test_broken_module_shows_its_traceback_and_the_next_save_mends_it(
    edited: Any, broken: str, error: str
) -> None:
    project = edited()
    project.entry.write_text(broken)
    project.fails(error)
    project.running.until(lambda: f"✘ [ERROR] Uncaught {error}" in project.running.err)
    project.entry.write_text(ANSWER.format(text="'mended'"))
    project.answers("mended")


def test_file_that_a_rule_bundles_is_read_again(edited: Any) -> None:
    project = edited(rules=[{"type": "Data", "globs": ["**/*.yml"]}])
    page = project.directory / "src" / "page.yml"
    project.entry.write_text(
        "import pathlib\n"
        "TEXT = (pathlib.Path(__file__).parent / 'page.yml').read_text()\n"
        + ANSWER.format(text="TEXT")
    )
    project.fails("FileNotFoundError")
    page.write_text("first")
    project.answers("first")
    page.write_text("second")
    project.answers("second")


@pytest.mark.parametrize(("file", "is_apart"), [("0001_a.sql", True), ("__init__.py", False)])
def test_migrations_beside_the_main_module_are_no_reason_to_load_it_again(
    tmp_path: Path, file: str, is_apart: bool
) -> None:
    databases = [{"binding": "DB", "database_id": "db"}]
    config = write_worker(tmp_path, {"entry.py": ""}, main="entry.py", d1_databases=databases)
    (tmp_path / "migrations").mkdir()
    before = _watched([load(config)]).snapshot()
    (tmp_path / "migrations" / file).write_text("")
    assert (_watched([load(config)]).snapshot() == before) is is_apart


def test_deleted_entry_does_not_end_the_process(edited: Any) -> None:
    project = edited()
    project.entry.unlink()
    project.running.until(lambda: "⎔ Reloading local server..." in project.running.out)
    project.entry.write_text(ANSWER.format(text="'back'"))
    project.answers("back")


def test_broken_configuration_is_shown_until_it_is_mended(edited: Any) -> None:
    project = edited()
    whole = project.config.read_text()
    project.config.write_text("{ broken")
    project.running.until(lambda: "✘ [ERROR]" in project.running.err)
    assert project.running.get()[0] == 500
    project.config.write_text(whole)
    project.entry.write_text(ANSWER.format(text="'two'"))
    project.answers("two")


def test_changed_variable_in_the_configuration_is_live(edited: Any) -> None:
    project = edited(vars={"MODE": "old"})
    project.entry.write_text(ANSWER.format(text="self.env.MODE"))
    project.answers("old")
    settings = json.loads(project.config.read_text())
    project.config.write_text(json.dumps(settings | {"vars": {"MODE": "new"}}))
    project.answers("new")


def test_new_secrets_file_is_live(edited: Any) -> None:
    project = edited(vars={"MODE": "old"})
    project.entry.write_text(ANSWER.format(text="self.env.MODE"))
    project.answers("old")
    (project.directory / ".dev.vars").write_text("MODE=secret\n")
    project.answers("secret")


def test_new_route_is_what_the_worker_sees(edited: Any) -> None:
    project = edited()
    project.entry.write_text(ANSWER.format(text="request.url.split('/')[2].split(':')[0]"))
    project.answers("127.0.0.1")
    settings = json.loads(project.config.read_text())
    project.config.write_text(json.dumps(settings | {"route": "new.example.com/*"}))
    project.answers("new.example.com")


def test_without_watching_nothing_is_loaded_again(dev: Any, project: Any, tmp_path: Path) -> None:
    project(tmp_path / "still", ANSWER.format(text="'one'"))
    running = dev(tmp_path / "still", "--no-watch").ready()
    (tmp_path / "still" / "src" / "entry.py").write_text(ANSWER.format(text="'two'"))
    (tmp_path / "still" / "src" / "new.py").write_text("")
    assert running.get() == (200, "one")
    assert "Reloading" not in running.out
