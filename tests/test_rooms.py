"""The rules between the rooms hold, and a broken one is noticed."""

from pathlib import Path

import pytest
from importlinter.cli import EXIT_STATUS_ERROR, EXIT_STATUS_SUCCESS, lint_imports

ROOT = Path(__file__).parent.parent


def test_no_room_imports_what_it_may_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)

    status = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)

    assert status == EXIT_STATUS_SUCCESS, capsys.readouterr().out


def test_an_owner_that_imports_the_emulator_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package, source in {"emulator_": "", "owners_": "import emulator_\n"}.items():
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text(source)
    rules = (ROOT / "pyproject.toml").read_text()
    start = rules.index("[tool.importlinter]")
    ground_floor = "\n\n".join(rules[start:].split("\n\n")[:2])
    renamed = ground_floor.replace("pyflare_bindings", "owners_").replace("pyflare", "emulator_")
    (tmp_path / "pyproject.toml").write_text(renamed)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)

    status = lint_imports(config_filename=str(tmp_path / "pyproject.toml"), no_cache=True)

    assert status == EXIT_STATUS_ERROR
