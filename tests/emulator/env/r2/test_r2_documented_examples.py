"""The examples of docs/r2.md do what the page says, as they are written there."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from pyflare import Pyflare
from tests.emulator.conftest import Runner, write_worker

PAGE = Path(__file__).parents[4] / "docs" / "r2.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)

TEXT = "0123456789"
PAST, FUTURE = "Mon, 01 Jan 2001 00:00:00 GMT", "Tue, 01 Jan 2199 00:00:00 GMT"
STORED = {
    "content-type": "text/plain",
    "content-disposition": "inline",
    "cache-control": "max-age=9",
    "accept-ranges": "bytes",
}

Ask = Callable[..., Awaitable[Any]]


IMPORTS = "from js import Headers\n"


def block(*, having: str) -> str:
    """The one example with these words, without its import, which belongs at the top of a module."""
    [found] = [each for each in BLOCKS if having in each]
    return str(found).removeprefix(IMPORTS)


@pytest.fixture
def served(tmp_path: Path, run: Runner) -> Callable[[str, str, Any], Any]:
    """Runs a program with a worker whose methods are those of an example."""

    def go(methods: str, fetch: str, program: Callable[[Pyflare], Awaitable[Any]]) -> Any:
        source = (
            IMPORTS
            + "from workers import Response, WorkerEntrypoint\n\n"
            + "class Default(WorkerEntrypoint):\n"
            + textwrap.indent(methods, "    ")
            + f"\n    async def fetch(self, request):\n{textwrap.indent(fetch, ' ' * 8)}"
        )
        config = write_worker(
            tmp_path / "w", source, r2_buckets=[{"binding": "BUCKET", "bucket_name": "notes"}]
        )
        return run(program, config)

    return go


def test_an_object_is_served_with_what_was_stored_with_it(served: Any) -> None:
    async def program(flare: Pyflare) -> Any:
        return await flare.fetch("/", body="sent")

    response = served("", block(having="note.writeHttpMetadata"), program)
    assert (response.status_code, response.text) == (200, "hello")
    assert response.headers["content-type"] == "text/plain"
    assert re.fullmatch(r'"[0-9a-f]{32}"', response.headers["etag"])


def test_a_listing_goes_to_its_end(served: Any) -> None:
    async def program(flare: Pyflare) -> Any:
        for number in range(1001):
            await flare.env().BUCKET.put(f"{number}", "")
        return (await flare.fetch("/")).text

    example = block(having="page.truncated").replace("    ...\n", "    keys += page.objects\n")
    fetch = f"keys = []\n{example}return Response(str(len(keys)))\n"
    assert served("", fetch, program) == "1001"


@pytest.fixture
def download(served: Any) -> Callable[[dict[str, str]], Any]:
    """Asks for an object with these headers, where ETAG stands for its own; gives (status, text, headers)."""

    def go(headers: dict[str, str], key: str = "a") -> Any:
        async def program(flare: Pyflare) -> Any:
            metadata = {
                "contentType": "text/plain",
                "contentDisposition": "inline",
                "cacheControl": "max-age=9",
            }
            put = await flare.env().BUCKET.put("a", TEXT, {"httpMetadata": metadata})
            given = {name: value.replace("ETAG", put.httpEtag) for name, value in headers.items()}
            response = await flare.fetch(f"/{key}", headers=given)
            return response.status_code, response.text, response.headers

        fetch = "return await self.download(request, request.url.rpartition('/')[2])\n"
        return served(block(having="async def download"), fetch, program)

    return go


def test_a_download_has_the_stored_headers(download: Any) -> None:
    status, text, headers = download({})

    assert (status, text) == (200, TEXT)
    assert STORED.items() <= dict(headers).items()
    assert "content-range" not in headers


@pytest.mark.parametrize(
    ("header", "text", "shown"),
    [
        ("bytes=2-4", "234", "bytes 2-4/10"),
        ("bytes=7-", "789", "bytes 7-9/10"),
        ("bytes=-1", "9", "bytes 9-9/10"),
        ("bytes=7-99", "789", "bytes 7-9/10"),
    ],
)
def test_one_range_is_a_part_with_the_stored_headers(
    download: Any, header: str, text: str, shown: str
) -> None:
    status, found, headers = download({"range": header})

    assert (status, found, headers["content-range"]) == (206, text, shown)
    assert STORED.items() <= dict(headers).items()


@pytest.mark.parametrize("header", ["bytes=0-1,4-5", "bytes=5-2", "lines=1-2", "bytes=0-"])
def test_a_range_that_leaves_nothing_out_is_the_whole_object(download: Any, header: str) -> None:
    status, found, headers = download({"range": header})

    assert (status, found) == (200, TEXT)
    assert "content-range" not in headers


def test_a_range_behind_the_end_is_refused(download: Any) -> None:
    assert download({"range": "bytes=10-"})[0] == 416


@pytest.mark.parametrize(
    ("conditions", "status"),
    [
        ({"if-none-match": "ETAG"}, 304),
        ({"if-none-match": '"other"'}, 200),
        ({"if-modified-since": FUTURE}, 304),
        ({"if-modified-since": PAST}, 200),
        ({"if-match": '"other"'}, 412),
        ({"if-match": "ETAG"}, 200),
        ({"if-unmodified-since": PAST}, 412),
        ({"if-unmodified-since": FUTURE}, 200),
        ({"if-match": "ETAG", "if-none-match": "ETAG"}, 304),
        ({"if-match": '"other"', "if-none-match": "ETAG"}, 412),
        ({"if-unmodified-since": FUTURE, "if-none-match": "ETAG"}, 304),
        ({"if-unmodified-since": PAST, "if-modified-since": FUTURE}, 412),
    ],
)
def test_each_condition_has_its_status(
    download: Any, conditions: dict[str, str], status: int
) -> None:
    found, text, headers = download(conditions)

    assert (found, text) == (status, TEXT if status == 200 else "")
    assert STORED.items() <= dict(headers).items()


def test_what_is_not_there_is_not_found(download: Any) -> None:
    assert download({"if-match": "*"}, "b")[0] == 404
