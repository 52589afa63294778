"""A module that needs a newer Python than this one: the error says so."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from pyflare import Pyflare
from pyflare.workers.python_version import note_older_python
from tests.emulator.conftest import write_worker


def notes(error: BaseException, production: str | None) -> list[str]:
    note_older_python(error, production)
    return getattr(error, "__notes__", [])


@pytest.fixture
def python_3_11(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 11, 7, "final", 0))


@pytest.mark.usefixtures("python_3_11")
@pytest.mark.parametrize("error", [SyntaxError("invalid syntax"), ImportError("override")])
def test_an_older_python_is_named_as_a_reason(error: Exception) -> None:
    assert notes(error, "3.13") == [
        "Production runs this Worker on Python 3.13; this is Python 3.11. If the code needs the newer one, "
        "install pyflare in an environment of Python 3.13."
    ]


@pytest.mark.usefixtures("python_3_11")
@pytest.mark.parametrize(
    ("error", "production"),
    [
        (SyntaxError(), "3.11"),
        (SyntaxError(), None),
        (ValueError(), "3.13"),
        (ModuleNotFoundError(), "3.13"),
    ],
)
def test_it_is_no_reason_otherwise(error: Exception, production: str | None) -> None:
    assert notes(error, production) == []


def test_a_worker_that_cannot_be_imported_tells_it(tmp_path: Path) -> None:
    if sys.version_info >= (3, 13):
        pytest.skip("this Python is as new as production's")
    config = write_worker(
        tmp_path, "from typing import no_such_name\n", compatibility_date="2026-08-01"
    )

    async def run() -> str:
        async with Pyflare(config, persist_to=None) as flare:
            failure = flare.loaded().failure
            return "\n".join(getattr(failure, "__notes__", []))

    assert "Production runs this Worker on Python 3." in asyncio.run(run())
