"""A wrong configuration ends the command with exit code 1 and says where the fault is."""

import subprocess
from pathlib import Path

import pytest

from .dev_server import environment, pyflare
from .projects import write_project

ENTRY = "from workers import WorkerEntrypoint\n"


def run_dev(directory: Path, configuration: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        pyflare("dev", "-c", configuration, "--port", "0", "--persist-to", directory / "state"),
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=20,
        env=environment(),
        check=False,
    )


WRONG = {
    "broken syntax": (
        'wrangler.jsonc',
        '{\n  "name": "worker",\n  "main" "src/entry.py"\n}',
        "wrangler.jsonc:3:",
        "",
    ),
    "broken TOML": (
        "wrangler.toml",
        'name = "worker"\nmain = \n',
        "wrangler.toml:2",
        "",
    ),
    "a name with capitals": (
        "wrangler.jsonc",
        '{\n  "name": "My_Worker",\n  "main": "src/entry.py"\n}',
        "wrangler.jsonc:2",
        'Expected "name" to be of type string, alphanumeric and lowercase with dashes only'
        ' but got "My_Worker".',
    ),
    "a date that is none": (
        "wrangler.jsonc",
        '{\n  "name": "worker",\n  "main": "src/entry.py",\n  "compatibility_date": "2025-13-01",\n'
        '  "compatibility_flags": ["python_workers"]\n}',
        "wrangler.jsonc:4",
        '"compatibility_date" field should be a valid ISO-8601 date (YYYY-MM-DD),'
        ' but got "2025-13-01".',
    ),
    "a date in the future": (
        "wrangler.jsonc",
        '{\n  "name": "worker",\n  "main": "src/entry.py",\n  "compatibility_date": "2199-01-01",\n'
        '  "compatibility_flags": ["python_workers"]\n}',
        "wrangler.jsonc:4",
        'Compatibility date "2199-01-01" is in the future and unsupported',
    ),
    "an entry point that is not there": (
        "wrangler.jsonc",
        '{\n  "name": "worker",\n  "main": "src/missing.py",\n  "compatibility_date": "2026-05-01",\n'
        '  "compatibility_flags": ["python_workers"]\n}',
        "wrangler.jsonc:3",
        'The entry-point file at "src/missing.py" was not found.',
    ),
    "no entry point": (
        "wrangler.jsonc",
        '{\n  "name": "worker",\n  "compatibility_date": "2026-05-01"\n}',
        '"main": "src/entry.py"',
        "Missing entry-point to Worker script or to assets directory",
    ),
    "Python without its flag": (
        "wrangler.jsonc",
        '{\n  "name": "worker",\n  "main": "src/entry.py",\n  "compatibility_date": "2026-05-01"\n}',
        "wrangler.jsonc:1",
        "The `python_workers` compatibility flag is required to use Python.",
    ),
    "one name for two bindings": (
        "wrangler.jsonc",
        '{\n  "name": "worker",\n  "main": "src/entry.py",\n  "compatibility_date": "2026-05-01",\n'
        '  "compatibility_flags": ["python_workers"],\n  "vars": {"DB": "x"},\n'
        '  "d1_databases": [{"binding": "DB", "database_name": "a", "database_id": "a"}]\n}',
        "wrangler.jsonc:",
        "DB assigned to D1 Database and Environment Variable bindings.",
    ),
    "a TOML date as variable": (
        "wrangler.toml",
        'name = "worker"\nmain = "src/entry.py"\ncompatibility_date = "2026-05-01"\n'
        'compatibility_flags = ["python_workers"]\n[vars]\nT = 2025-12-19\n',
        "wrangler.toml:6",
        'The field "vars.T" is a TOML date, which is not supported. Please use a string instead,'
        ' e.g. T = "2025-12-19".',
    ),
    "a value of the wrong type": (
        "wrangler.jsonc",
        '{\n  "name": "worker",\n  "main": "src/entry.py",\n  "compatibility_date": "2026-05-01",\n'
        '  "compatibility_flags": ["python_workers"],\n  "d1_databases": {"binding": "DB"}\n}',
        "wrangler.jsonc:6",
        "d1_databases",
    ),
    "a binding that pyflare does not have": (
        "wrangler.jsonc",
        '{\n  "name": "worker",\n  "main": "src/entry.py",\n  "compatibility_date": "2026-05-01",\n'
        '  "compatibility_flags": ["python_workers"],\n'
        '  "workflows": [{"binding": "FLOW", "name": "f", "class_name": "F"}]\n}',
        "wrangler.jsonc:6",
        "FLOW",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("file", "text", "place", "message"), WRONG.values(), ids=list(WRONG))
def test_a_wrong_configuration_is_refused_with_its_place(
    tmp_path: Path, file: str, text: str, place: str, message: str
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "entry.py").write_text(ENTRY)
    (tmp_path / file).write_text(text)

    done = run_dev(tmp_path, tmp_path / file)

    printed = done.stdout + done.stderr
    assert done.returncode == 1, printed
    assert "[ERROR]" in printed
    assert place in printed
    assert message in printed
    assert "Traceback" not in printed


def test_a_configuration_that_is_not_there_is_named(tmp_path: Path) -> None:
    done = run_dev(tmp_path, tmp_path / "nowhere.jsonc")

    assert done.returncode == 1
    assert "nowhere.jsonc" in done.stdout + done.stderr


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    project = write_project(tmp_path, ENTRY, name="Wrong_Name", compatibility_date="yesterday")

    done = run_dev(tmp_path, project)

    printed = done.stdout + done.stderr
    assert '"Wrong_Name"' in printed
    assert '"yesterday"' in printed


def test_an_unknown_flag_is_a_usage_error(tmp_path: Path) -> None:
    done = subprocess.run(
        pyflare("dev", "--no-such-flag"), capture_output=True, text=True, check=False, cwd=tmp_path
    )

    assert done.returncode == 2
    assert "--no-such-flag" in done.stderr
