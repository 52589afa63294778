"""What a Worker's log says of Python's bytes in raw classes, and what goes on working there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.emulator.conftest import Runner, request, write_worker


def told(run: Runner, path: Path, times: int) -> tuple[str, list[str]]:
    async def program(flare: Any) -> list[str]:
        return [(await request(flare)).text for _ in range(times)]

    answers = run(program, path)
    return " ".join(run.err.text.split()), answers


def test_the_log_warns_once_of_each_place(run: Runner, tmp_path: Path) -> None:
    source = """
        from js import Response
        from workers import WorkerEntrypoint

        class Default(WorkerEntrypoint):
            async def fetch(self, request):
                return Response.new(b"abc")
    """
    text, answers = told(run, write_worker(tmp_path, source), 3)

    assert answers == ["b'abc'"] * 3
    assert text.count("the body of a Response was given bytes of Python") == 1
    assert "entry.py, line 7:" in text


def test_the_sdk_takes_bytes_and_dicts(run: Runner, tmp_path: Path) -> None:
    source = """
        from workers import Blob, Request, Response, WorkerEntrypoint, fetch

        class Default(WorkerEntrypoint):
            async def fetch(self, request):
                asked = Request("http://a/", method="PUT", body=b"abc", headers={"X-A": "1"})
                sent = [await asked.text(), asked.headers["x-a"], await Blob([b"abc"]).text()]
                listed = Response.json([{"a": [{"b": 1}]}], headers={"X-A": "1"})
                sent += [await listed.text(), listed.headers["x-a"]]
                return Response(repr(sent).encode(), headers={"X-A": "1"})
    """
    text, answers = told(run, write_worker(tmp_path, source), 1)

    assert answers == ["""['abc', '1', 'abc', '[{"a": [{"b": 1}]}]', '1']"""]
    assert "PyProxy" not in text
