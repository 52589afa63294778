"""The hint for code that expects objects of JavaScript where results are Python's own."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from pyflare.server.tracebacks import format_traceback
from tests.emulator.conftest import Runner, request, write_worker

HINT = "Results of bindings come as Python's own"


def failing(value: Any, attribute: str) -> str:
    try:
        getattr(value, attribute)
    except AttributeError as error:
        return format_traceback(error)
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize("date", ["2026-02-12", "2026-05-01"])
@pytest.mark.parametrize(
    "expression",
    ["result.results.length", "result.results.to_py()", "result.to_py()", "result.meta.to_py()"],
)
def test_of_a_binding_s_result(run: Runner, tmp_path: Path, date: str, expression: str) -> None:
    source = f"""
        from workers import Response, WorkerEntrypoint

        class Default(WorkerEntrypoint):
            async def fetch(self, request):
                result = await self.env.DB.prepare("SELECT 1 AS one").all()
                return Response(str({expression}))
    """
    path = write_worker(
        tmp_path,
        source,
        compatibility_date=date,
        d1_databases=[{"binding": "DB", "database_id": "db", "database_name": "db"}],
    )

    async def program(flare: Any) -> str:
        return (await request(flare)).text

    answer = run(program, path)

    assert "AttributeError" in answer
    assert answer.count(HINT) == 1
    assert run.err.text.count(HINT) == 1


@pytest.mark.parametrize(
    ("value", "attribute"),
    [
        (memoryview(b""), "to_bytes"),
        (datetime.datetime(2026, 1, 1), "getTime"),
        ([], "forEach"),
        ({}, "object_keys"),
    ],
)
def test_of_every_kind_of_result(value: Any, attribute: str) -> None:
    assert HINT in failing(value, attribute)


@pytest.mark.parametrize(
    ("value", "attribute"), [([], "lenght"), ("text", "length"), (object(), "to_py"), ({}, "x")]
)
def test_is_not_given_for_other_mistakes(value: Any, attribute: str) -> None:
    assert HINT not in failing(value, attribute)


def test_comes_beside_other_notes() -> None:
    error = AttributeError("no", name="length", obj=[])
    error.add_note("mine")

    text = format_traceback(error)

    assert "mine" in text
    assert HINT in text
