"""What the fixtures keep of a Worker's output."""

from __future__ import annotations

from .conftest import Project

PRINTS = """
import sys
from js import console
from workers import Response, WorkerEntrypoint

print("on import")

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        print("printing", 1)
        console.warn("warned")
        print("two", "lines", sep="\\n")
        print("in ", end="")
        print("parts")
        print("elsewhere", file=sys.stderr)
        return Response("")
"""


def test_printed_lines_are_lines_of_the_console(project: Project) -> None:
    (project.folder / "src/entry.py").write_text(PRINTS)
    outcome = project.run(
        """
        import pytest

        LINES = ["on import", "printing 1", "warned", "two", "lines", "in parts"]

        def test_kept_and_printed(pyflare, pyflare_logs, capsys):
            pyflare.fetch("/")
            print("of the test")
            assert pyflare_logs.texts[1:] == LINES[1:]
            assert pyflare_logs.console_lines[1] == ("tested", "log", "printing 1")
            assert "printing 1\\ntwo\\nlines\\nin parts\\nof the test" in capsys.readouterr().out

        @pytest.mark.asyncio
        async def test_with_await(pyflare, pyflare_logs):
            await pyflare.fetch("/")
            assert pyflare_logs.texts == LINES

        def test_afterwards():
            assert print.__name__ == "print"

        def test_own_lines(pyflare, pyflare_shared):
            pyflare.fetch("/")
            assert pyflare_shared.log.texts == ["on import"]
        """
    )
    assert outcome.counts == {"passed": 4}, outcome.text


def test_an_exception_that_a_framework_answers_is_shown_once(project: Project) -> None:
    (project.folder / "src/entry.py").write_text(
        """
import asgi
from fastapi import FastAPI
from workers import WorkerEntrypoint

app = FastAPI()

@app.get("/")
async def fails():
    raise LookupError("deep inside")

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return await asgi.fetch(app, request, self.env, self.ctx)
"""
    )
    outcome = project.run(
        """
        def test_it(pyflare, pyflare_logs):
            assert pyflare.fetch("/").status_code == 500
            assert [type(each.error) for each in pyflare_logs.errors] == [LookupError]
            assert False
        """
    )
    assert outcome.counts == {"failed": 1}, outcome.text
    assert outcome.text.count("Traceback") == 1, outcome.text
    assert "after response started: LookupError: deep inside" in outcome.text
