"""Node as the yardstick: JavaScript expressions evaluated over JSON inputs."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

import pytest

Evaluate = Callable[[str, Sequence[Any]], list[Any]]


@pytest.fixture(scope="session")
def node() -> Evaluate:
    """``node(expression, inputs)`` gives the expression's value for each ``x`` of the inputs; skips without Node."""
    path = shutil.which("node")
    if path is None:
        pytest.skip("Node is not installed")

    def evaluate(expression: str, inputs: Sequence[Any]) -> list[Any]:
        program = (
            f"const f = (x) => {{ try {{ return {expression}; }} catch (e) {{ return 'ERROR ' + e; }} }};"
            "const chunks = [];"
            "process.stdin.on('data', (c) => chunks.push(c)).on('end', () => {"
            "  const inputs = JSON.parse(Buffer.concat(chunks).toString());"
            "  process.stdout.write(JSON.stringify(inputs.map(f)));"
            "});"
        )
        done = subprocess.run(
            [path, "-e", program],
            input=json.dumps(list(inputs)),
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
            env={"TZ": "UTC"},
        )
        result: list[Any] = json.loads(done.stdout)
        return result

    return evaluate
