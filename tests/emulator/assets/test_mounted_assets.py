"""Assets that are mounted below a path redirect to addresses below it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.emulator.conftest import Answer, Runner, request, write_worker

FILES = {
    "folder/index.html": "folder",
    "page.html": "page",
    "docs/index.html": "docs",
    "docs/docs/index.html": "docs of docs",
    "a b/index.html": "spaced",
    "_redirects": ("/old /new 301\n/far https://other.test/x\n/home / 302\n/rewritten /page 200\n"),
}
SOURCE = """
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response("the Worker")
"""


def mounted(run: Runner, folder: Path, mount: str, path: str) -> Answer:
    for name, text in FILES.items():
        file = folder / "public" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    config = write_worker(folder, SOURCE, assets={"directory": "public"})

    async def program(flare: Any) -> Answer:
        async def below(scope: Any, receive: Any, send: Any) -> None:
            await flare({**scope, "root_path": mount}, receive, send)

        return await request(below, mount.rstrip("/") + path)  # type: ignore[arg-type]

    return run(program, config)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("/folder", "/docs/folder/"),
        ("/folder?x=1", "/docs/folder/?x=1"),
        ("/page.html", "/docs/page"),
        ("/index.html", None),
        ("//page", "/docs/page"),
        ("/p%61ge", "/docs/page"),
        ("/old?x=1", "/docs/new?x=1"),
        ("/home", "/docs"),
        ("/far", "https://other.test/x"),
        # A folder that is named as the mount is.
        ("/docs", "/docs/docs/"),
        ("/docs/index.html", "/docs/docs/"),
        ("/docs/docs", "/docs/docs/docs/"),
    ],
)
def test_a_redirect_stays_below_the_mount(
    run: Runner, tmp_path: Path, path: str, location: str | None
) -> None:
    answer = mounted(run, tmp_path, "/docs", path)

    assert dict(answer.headers).get("location") == location


def test_the_mount_is_no_part_of_the_path_of_a_file(run: Runner, tmp_path: Path) -> None:
    assert mounted(run, tmp_path, "/edge", "/folder/").body == b"folder"
    assert mounted(run, tmp_path, "/edge", "/rewritten").body == b"page"
    assert mounted(run, tmp_path, "/edge", "/edge/folder/").body == b"the Worker"
