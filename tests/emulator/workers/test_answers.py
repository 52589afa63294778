"""What happens when a `fetch` handler returns something else than a response."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.emulator.actors.conftest import write_objects
from tests.emulator.conftest import Answer, Runner, request, write_worker

CLASSES = """
    import js
    from workers import DurableObject, Response, WorkerEntrypoint


    async def later():
        return Response("answer")


    class Thing(DurableObject):
        async def fetch(self, request):
            return {value}


    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            if request.url.endswith("/object"):
                return await self.env.THING.getByName("a").fetch(request)
            return {value}
"""
PROMISE = "the Promise did not resolve to 'Response'"


def ask(run: Runner, path: Path, target: str = "/") -> Answer:
    async def program(flare: Any) -> Any:
        answer = await request(flare, target)
        flare.log.flush()
        return answer

    answer: Answer = run(program, path)
    return answer


@pytest.mark.parametrize(
    ("value", "text", "note"),
    [
        (
            "later()",
            "TypeError: Awaitable <class 'coroutine'> cannot be sent over RPC.",
            "returned a value of type coroutine; return what it gives: `return await ...`.",
        ),
        (
            "js.Promise.resolve(1)",
            "TypeError: Awaitable <class 'pyodide.webloop.PyodideFuture'> cannot be sent over RPC.",
            "return what it gives: `return await ...`.",
        ),
        (
            '(Response("no"), 404)',
            "TypeError: <class 'tuple'> cannot be sent over RPC.",
            "returned a value of type tuple; return a Response.",
        ),
        (
            'bytearray(b"no")',
            "TypeError: <class 'bytearray'> cannot be sent over RPC.",
            "returned a value of type bytearray; return a Response.",
        ),
        ('"text"', PROMISE, "returned a value of type str; return a Response."),
        ("js.Headers.new()", PROMISE, "returned a value of type Headers; return a Response."),
        ("None", PROMISE, "returned None; return a Response."),
    ],
)
def test_of_a_class(run: Runner, tmp_path: Path, value: str, text: str, note: str) -> None:
    answer = ask(run, write_worker(tmp_path, CLASSES.replace("{value}", value)))

    assert answer.status == 500
    assert text in run.err.text
    assert "Default.fetch in entry.py returned " in run.err.text
    assert note in run.err.text
    assert "never awaited" not in run.err.text


def test_of_an_object(run: Runner, tmp_path: Path) -> None:
    path = write_objects(tmp_path, CLASSES.replace("{value}", "later()"))

    answer = ask(run, path, "/object")

    assert answer.status == 500
    assert "Awaitable <class 'coroutine'> cannot be sent over RPC." in answer.text


@pytest.mark.parametrize("value", ["later()", "wrapped()", "js.Promise.resolve(later())"])
def test_what_a_function_of_the_module_returns_is_awaited_to_its_end(
    run: Runner, tmp_path: Path, value: str
) -> None:
    source = f"""
        import js
        from workers import Response

        async def later():
            return Response("answer")

        async def wrapped():
            return later()

        async def on_fetch(request):
            return {value}
    """

    answer = ask(run, write_worker(tmp_path, source, compatibility_date="2025-01-01"))

    assert answer.text == "answer"
