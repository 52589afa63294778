"""Packages that `pywrangler sync` has put beside the configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.emulator.conftest import Runner, request, write_worker

SOURCE = """
from vend import VALUE
from workers import Response, WorkerEntrypoint
import packaging

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        from vend.inner import DEEP
        return Response(f"{VALUE} {DEEP} {packaging.__name__}")
"""
PACKAGES = {
    "python_modules/vend/__init__.py": "VALUE = 'vendored'",
    "python_modules/vend/inner.py": "DEEP = 'inside'",
    "python_modules/packaging/__init__.py": "raise AssertionError('the environment has it')",
    "python_modules/workers/__init__.py": "raise AssertionError('pyflare has it')",
}


async def answer(flare: Any) -> str:
    return (await request(flare)).text


@pytest.mark.parametrize("main", ["src/entry.py", "entry.py"])
def test_are_imported_behind_those_of_the_environment(
    run: Runner, tmp_path: Path, main: str
) -> None:
    config = write_worker(tmp_path / "a", {main: SOURCE, **PACKAGES}, main=main)

    assert run(answer, config) == "vendored inside packaging"


def test_of_two_workers_are_kept_apart(run: Runner, tmp_path: Path) -> None:
    configs = []
    for name in ("a", "b"):
        package = {"python_modules/vend/__init__.py": f"VALUE = {name!r}"}
        sources = {"src/entry.py": SOURCE, **PACKAGES, **package}
        configs.append(write_worker(tmp_path / name, sources))

    async def answers(flare: Any) -> list[str]:
        hosts = ("a.localhost", "b.localhost")
        return [(await request(flare, host=host)).text for host in hosts]

    assert run(answers, *configs) == ["a inside packaging", "b inside packaging"]
