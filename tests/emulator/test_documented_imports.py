"""What the pages show can be imported, and `pyflare` itself stays cheap to import."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pyflare

ROOT = Path(__file__).parents[2]
PAGES = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md"])
IMPORT = re.compile(r"^\s*from (pyflare[\w.]*) import ([\w, ]+)", re.MULTILINE)
#: Names of the package that an example cannot use without saying where they come from.
NAMES = re.compile(r"\b(ManualClock|SystemClock|platform_proxy)\(")


def examples(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_import_that_a_page_shows_works(page: Path) -> None:
    for module, names in IMPORT.findall(page.read_text(encoding="utf-8")):
        for name in names.replace(" ", "").split(","):
            found = importlib.import_module(module)
            assert hasattr(found, name) or importlib.import_module(f"{module}.{name}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_an_example_says_where_its_names_come_from(page: Path) -> None:
    for example in examples(page):
        for name in NAMES.findall(example):
            assert re.search(rf"import .*\b{name}\b", example), f"{name} in {example}"


@pytest.mark.parametrize("name", pyflare.__all__)
def test_a_public_name_is_there(name: str) -> None:
    assert getattr(pyflare, name).__name__ == name


def test_the_package_alone_loads_none_of_its_rooms() -> None:
    program = "import sys, pyflare; print([name for name in sys.modules if 'pyflare' in name])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    names = [name for name in eval(done.stdout) if not name.startswith("__editable__")]
    assert names == ["pyflare"]
