"""What `flare.fetch` puts into a request, compared with what `fetch` of JavaScript would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pyflare import Pyflare
from tests.emulator.conftest import Runner, write_worker

SOURCE = """
    import js
    from pyodide.ffi import jsnull
    from workers import Response, WorkerEntrypoint

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            headers = request.js_object.headers
            found = [headers.get("content-type"), headers.get("x-a")]
            if headers.get("upgrade"):
                client, server = js.WebSocketPair.new().object_values()
                server.accept()
                server.send(found[1])
                return Response(None, status=101, web_socket=client)
            return Response.json([None if each is jsnull else each for each in found])
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_worker(tmp_path, SOURCE)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"body": "text"}, "text/plain;charset=UTF-8"),
        ({"body": ""}, "text/plain;charset=UTF-8"),
        ({"body": "{}", "headers": {"Content-Type": "application/json"}}, "application/json"),
        ({"body": "{}", "headers": [("content-type", "a/b")]}, "a/b"),
        ({"body": b"bytes"}, None),
        ({"json": {}}, "application/json"),
        ({"data": {"a": "1"}}, "application/x-www-form-urlencoded"),
        ({}, None),
    ],
)
def test_the_type_of_a_body(
    run: Runner, config: Path, options: dict[str, Any], expected: str | None
) -> None:
    async def program(flare: Pyflare) -> Any:
        return (await flare.fetch("/", **options)).json()

    assert run(program, config)[0] == expected


def test_a_header_arrives_as_the_text_that_it_is(run: Runner, config: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        headers = {"X-A": "5 € für ÿ"}
        pairs = (await flare.fetch("/", headers=list(headers.items()))).json()
        answered = (await flare.fetch("/", headers=headers)).json()
        async with flare.websocket("/", headers=headers) as socket:
            return {pairs[1], answered[1], await socket.receive()}

    assert run(program, config) == {"5 € für ÿ"}
