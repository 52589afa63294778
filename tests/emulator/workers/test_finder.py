"""Modules that the emulator supplies by name."""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest

from pyflare.workers.finder import ForeignPyodideError, ModuleFactory, SyntheticFinder

Install = Callable[[dict[str, ModuleFactory]], SyntheticFinder]


@pytest.fixture
def install() -> Iterator[Install]:
    made: list[SyntheticFinder] = []

    def install(table: dict[str, ModuleFactory]) -> SyntheticFinder:
        finder = SyntheticFinder(table)
        finder.install()
        made.append(finder)
        return finder

    yield install
    for finder in made:
        finder.uninstall()


def module(name: str, **values: object) -> ModuleType:
    made = types.ModuleType(name)
    made.__dict__.update(values)
    return made


def test_a_module_is_made_at_its_first_import_and_then_kept(install: Install) -> None:
    calls: list[str] = []

    def factory() -> ModuleType:
        calls.append("made")
        return module("supplied", answer=42)

    install({"supplied": factory})
    assert calls == []

    first = importlib.import_module("supplied")

    assert first.answer == 42
    assert importlib.import_module("supplied") is first
    assert calls == ["made"]


def test_a_submodule_is_found_below_its_package(install: Install) -> None:
    install(
        {
            "supplied": lambda: module("supplied", __path__=[]),
            "supplied.part": lambda: module("supplied.part", answer=1),
        }
    )

    assert importlib.import_module("supplied.part").answer == 1
    assert importlib.import_module("supplied").part.answer == 1


def test_a_submodule_that_is_not_in_the_table_does_not_exist(install: Install) -> None:
    install({"supplied": lambda: module("supplied", __path__=[])})

    with pytest.raises(ModuleNotFoundError, match=r"No module named 'supplied\.other'"):
        importlib.import_module("supplied.other")


def test_a_module_that_lives_under_another_name_keeps_its_spec(install: Install) -> None:
    import pyflare.workers as lent

    install({"supplied": lambda: lent})

    assert importlib.import_module("supplied") is lent
    assert lent.__spec__ is not None
    assert lent.__spec__.name == "pyflare.workers"


def test_the_modules_are_gone_after_uninstalling(install: Install) -> None:
    finder = install({"supplied": lambda: module("supplied")})
    importlib.import_module("supplied")

    finder.uninstall()

    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("supplied")


@pytest.mark.parametrize("name", ["pyodide", "_pyodide"])
def test_a_real_pyodide_that_was_imported_before_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    foreign = module(name, __file__="/packages/pyodide/__init__.py")
    monkeypatch.setitem(sys.modules, name, foreign)
    finder = SyntheticFinder({"pyodide": lambda: module("pyodide")})

    with pytest.raises(ForeignPyodideError) as caught:
        finder.install()

    assert f"the module '{name}' was already imported from /packages/pyodide" in str(caught.value)
    assert "Uninstall the distribution pyodide-py" in str(caught.value)
    assert finder not in sys.meta_path


def test_our_own_pyodide_does_not_stop_a_second_installation(install: Install) -> None:
    table = {"pyodide": lambda: module("pyodide", __path__=[])}
    first = install(table)
    importlib.import_module("pyodide")

    second = install(table)

    assert [finder in sys.meta_path for finder in (first, second)] == [True, True]
