"""The sample project with tests over all bindings, run as its owner would run it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2] / "examples" / "tested-project"


@pytest.mark.parametrize("order", ["usual", "reversed"])
@pytest.mark.parametrize("processes", ["0", "2"])
def test_its_tests_pass(tmp_path: Path, order: str, processes: str) -> None:
    plugin = "def pytest_collection_modifyitems(items):\n    items.reverse()\n"
    (tmp_path / "reversed_order.py").write_text(plugin)
    given = ["-n", processes, *(["-p", "reversed_order"] if order == "reversed" else [])]
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "CLOUDFLARE"))
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-W", "error", *given],
        cwd=PROJECT,
        env={**environment, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    passed = re.search(r"(\d+) passed in", done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert passed is not None
    assert int(passed[1]) >= 60
    assert not list(PROJECT.rglob(".pyflare"))
