"""Noticing changed files."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from pyflare.cli.watch import Watched, changes
from pyflare.config import Rule


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "src" / "package").mkdir(parents=True)
    (root / "src" / "entry.py").write_text("one")
    (root / "src" / "package" / "module.py").write_text("one")
    (root / "wrangler.jsonc").write_text("{}")
    return root


def watched(project: Path) -> Watched:
    return Watched((project / "src",), (project / "wrangler.jsonc", project / ".dev.vars"))


def noticed(project: Path, *steps: Callable[[], object]) -> list[set[Path]]:
    """What is noticed after each step, one after the other."""
    first = project / "src" / "first.py"
    since = max(path.stat().st_mtime_ns for path in project.rglob("*")) + 20_000_000

    def begin() -> None:
        first.write_text("the first change, after which the watcher is known to be at work")
        os.utime(first, ns=(since, since))

    async def go() -> list[set[Path]]:
        found: AsyncIterator[set[Path]] = changes(lambda: watched(project), since)
        seen = []
        for step in (begin, *steps):
            waiting: asyncio.Future[Any] = asyncio.ensure_future(anext(found))
            step()
            async with asyncio.timeout(20):
                seen.append(await waiting)
        await found.aclose()  # type: ignore[attr-defined]
        return seen

    before, *rest = asyncio.run(go())
    assert before == {first}
    return rest


def write(path: Path, text: str) -> Callable[[], object]:
    return lambda: path.write_text(text)


def test_changed_module_is_noticed(project: Path) -> None:
    entry = project / "src" / "entry.py"
    assert noticed(project, write(entry, "two!")) == [{entry}]


def test_module_in_a_package_is_noticed(project: Path) -> None:
    module = project / "src" / "package" / "module.py"
    assert noticed(project, write(module, "two!")) == [{module}]


def test_deleted_module_is_noticed(project: Path) -> None:
    entry = project / "src" / "entry.py"
    assert noticed(project, entry.unlink) == [{entry}]


def test_new_module_in_a_new_package_is_noticed(project: Path) -> None:
    new = project / "src" / "fresh" / "module.py"

    def create() -> None:
        new.parent.mkdir()
        new.write_text("new")

    assert noticed(project, create) == [{new}]


def test_file_saved_by_renaming_is_noticed(project: Path) -> None:
    entry = project / "src" / "entry.py"

    def save() -> None:
        temporary = project / "src" / ".entry.py.tmp"
        temporary.write_text("one")
        os.replace(temporary, entry)

    assert noticed(project, save) == [{entry}]


def test_configuration_is_noticed(project: Path) -> None:
    config = project / "wrangler.jsonc"
    assert noticed(project, write(config, '{"name": "x"}')) == [{config}]


def test_file_that_did_not_exist_is_noticed(project: Path) -> None:
    secrets = project / ".dev.vars"
    assert noticed(project, write(secrets, "A=1")) == [{secrets}]


def test_quick_saves_are_one_change(project: Path) -> None:
    entry, module = project / "src" / "entry.py", project / "src" / "package" / "module.py"

    def save() -> None:
        entry.write_text("two!")
        module.write_text("two!")
        entry.write_text("three!")

    assert noticed(project, save) == [{entry, module}]


def test_one_change_after_another_is_noticed(project: Path) -> None:
    entry = project / "src" / "entry.py"
    steps = [write(entry, "two!"), write(entry, "three!"), entry.unlink, write(entry, "four")]
    assert noticed(project, *steps) == [{entry}] * 4


@pytest.mark.parametrize(
    "name",
    [
        ".venv/lib/x.py",
        ".git/x.py",
        "node_modules/x.py",
        "__pycache__/x.py",
        "python_modules/x.py",
        "data.sqlite",
        "x.pyc",
    ],
)
def test_what_is_no_source_is_not_looked_at(project: Path, name: str) -> None:
    file = project / "src" / name
    file.parent.mkdir(exist_ok=True, parents=True)
    file.write_text("x")
    assert str(file) not in watched(project).snapshot()


@pytest.mark.parametrize(
    ("name", "is_bundled"),
    [
        ("page.yml", True),
        ("package/page.yml", True),
        ("template.j2", True),
        ("package/template.j2", False),
        ("page.css", False),
        ("node_modules/page.yml", False),
        (".hidden/page.yml", False),
    ],
)
def test_what_rules_bundle_is_looked_at(project: Path, name: str, is_bundled: bool) -> None:
    source = project / "src"
    rules = [Rule("Data", ("**/*.yml",)), Rule("Text", ("*.j2",))]
    file = source / name
    file.parent.mkdir(exist_ok=True, parents=True)
    file.write_text("x")

    found = Watched((source, project / "other"), rules={source: rules}).snapshot()

    assert (str(file) in found) is is_bundled


def test_virtual_environment_of_any_name_is_not_looked_at(project: Path) -> None:
    environment = project / "src" / "my-env"
    environment.mkdir()
    (environment / "pyvenv.cfg").write_text("")
    (environment / "module.py").write_text("x")
    found = watched(project)
    assert str(environment) not in found.directories()
    assert str(environment / "module.py") not in found.snapshot()


def test_file_that_was_loaded_and_deleted_before_the_first_look_is_noticed(project: Path) -> None:
    entry = project / "src" / "entry.py"
    entry.unlink()
    known = Watched((project / "src",), loaded=(entry,))
    since = time.time_ns() + 20_000_000

    async def go() -> set[Path]:
        async for changed in changes(lambda: known, since):
            return changed
        raise AssertionError("the watch has no end")

    assert asyncio.run(go()) == {entry}


def test_directory_that_is_gone_is_no_error(project: Path) -> None:
    gone = Watched((project / "missing",), (project / "missing" / "x.toml",))
    assert gone.directories() == []
    assert gone.snapshot() == {}
