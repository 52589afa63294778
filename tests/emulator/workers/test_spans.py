"""``ctx.tracing``: spans of a worker's own run their functions and record nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.emulator.conftest import Runner, request, write_worker

SOURCE = """
import asyncio
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        tracing = self.ctx.tracing

        async def later(span, *more):
            await asyncio.sleep(0)
            return [span.isTraced, *more]

        def now(span, *more):
            assert span.setAttribute("a", 1) is span
            assert span.setAttributes({"b": True}) is span
            span.end()
            return list(more)

        def fail(span):
            raise ValueError("on purpose")

        %s
"""


def answer(run: Runner, tmp_path: Path, code: str) -> str:
    async def program(flare: Any) -> Any:
        return (await request(flare)).text

    text: str = run(program, write_worker(tmp_path, SOURCE % code))
    return text


@pytest.mark.parametrize("method", ["enterSpan", "startActiveSpan"])
@pytest.mark.parametrize(
    ("call", "result"),
    [
        ("tracing.{}('work', now, 1, 2)", "[1, 2]"),
        ("await tracing.{}('work', later, 1)", "[False, 1]"),
    ],
)
def test_a_function_is_called_with_a_span(
    run: Runner, tmp_path: Path, method: str, call: str, result: str
) -> None:
    code = f"return Response(str({call.format(method)}))"
    assert answer(run, tmp_path, code) == result


def test_asynchronous_code_begins_before_anybody_waits_for_it(run: Runner, tmp_path: Path) -> None:
    code = """
        promise = tracing.enterSpan("work", later)
        for _ in range(5):
            await asyncio.sleep(0)
        return Response(str(promise.done()))
    """.strip()
    assert answer(run, tmp_path, code) == "True"


def test_what_the_function_raises_is_raised(run: Runner, tmp_path: Path) -> None:
    assert "ValueError: on purpose" in answer(
        run, tmp_path, "tracing.enterSpan('work', fail); return Response('no')"
    )


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("enterSpan()", "'enterSpan' on 'Tracing': parameter 1 is not of type 'string'."),
        ("enterSpan('a')", "'enterSpan' on 'Tracing': parameter 2 is not of type 'Function'."),
        (
            "startActiveSpan('a', 5)",
            "'startActiveSpan' on 'Tracing': parameter 2 is not of type 'Function'.",
        ),
        ("startSpan()", "'startSpan' on 'Tracing': parameter 1 is not of type 'string'."),
    ],
)
def test_an_argument_that_is_missing_or_wrong_is_named(
    run: Runner, tmp_path: Path, call: str, text: str
) -> None:
    assert text in answer(run, tmp_path, f"tracing.{call}; return Response('no')")
