"""What a failing test shows: the test and the Worker, and nothing between."""

from __future__ import annotations

import re

import pytest

from .conftest import Project

WORKER = """
from workers import DurableObject, Response, WorkerEntrypoint

class Thing(DurableObject):
    async def fail(self):
        raise ValueError("in the object")

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return await self.env.THING.getByName("a").fail()

    async def fail(self):
        raise ValueError("in the worker")
"""

ACTIONS = {
    "a method of the Worker": ("pyflare_worker.fail()", "in the worker"),
    "a method of an object": ('pyflare_env.THING.getByName("a").fail()', "in the object"),
    "a request": ('pyflare.fetch("/")', "in the object"),
    "a statement": ('pyflare_env.DB.prepare("SELECT bad").first()', "no such column: bad"),
    "a binding that is not there": ('pyflare_env.NOPE.get("k")', "AttributeError: NOPE"),
    "a wrong argument": ('pyflare.fetch("/", nope=1)', "unexpected keyword argument 'nope'"),
    "a turned clock": ("pyflare_clock.advance(-1)", "ValueError"),
}


def frames(text: str) -> list[str]:
    """The files of the frames that are shown, but for those quoted in messages and logs."""
    return re.findall(r"^(\S+\.py):\d+: ", text.partition("short test summary")[0], re.MULTILINE)


@pytest.mark.parametrize("kind", ["def", "async def"])
@pytest.mark.parametrize("action", ACTIONS)
def test_there_is_nothing_between_the_test_and_the_worker(
    project: Project, action: str, kind: str
) -> None:
    (project.folder / "src/entry.py").write_text(WORKER)
    call, text = ACTIONS[action]
    fixture = call.partition(".")[0]
    marker, wait = ("@pytest.mark.asyncio", "await ") if kind == "async def" else ("", "")
    outcome = project.run(
        f"import pytest\n{marker}\n{kind} test_it({fixture}):\n    {wait}{call}", "-p", "no:anyio"
    )
    assert outcome.counts == {"failed": 1}, outcome.text
    assert text in outcome.text
    assert set(frames(outcome.text)) <= {"test_it.py", "src/entry.py"}, outcome.text


@pytest.mark.parametrize("kind", ["def", "async def"])
@pytest.mark.parametrize(
    ("marker", "text"),
    [
        ("configs='none.json'", "Could not read file: none.json"),
        ("variables={}", "by name, not variables."),
    ],
)
def test_a_project_that_cannot_start_is_told_without_a_traceback(
    project: Project, kind: str, marker: str, text: str
) -> None:
    outcome = project.run(
        f"""
        import pytest
        pytestmark = pytest.mark.pyflare({marker})
        {"@pytest.mark.asyncio" if kind == "async def" else ""}
        {kind} test_it(pyflare): pass
        """
    )
    assert outcome.counts == {"error": 1}, outcome.text
    assert text in outcome.text
    assert not frames(outcome.text), outcome.text


def test_a_fixture_of_the_project_that_fails_shows_itself_and_the_worker(project: Project) -> None:
    (project.folder / "src/entry.py").write_text(WORKER)
    outcome = project.run(
        """
        import pytest

        @pytest.fixture
        def filled(pyflare_worker):
            pyflare_worker.fail()

        def test_it(filled): pass
        """
    )
    assert outcome.counts == {"error": 1}, outcome.text
    assert set(frames(outcome.text)) <= {"test_it.py", "src/entry.py"}, outcome.text
