"""Bodies between requests, buckets, namespaces and caches of a started Worker."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from pyflare import Pyflare
from tests.emulator.conftest import Runner, request, write_worker

SOURCE = """
import gzip
from js import Response as JsResponse, caches
from pyodide.ffi import to_js
from workers import Response, WorkerEntrypoint

URL = "https://cache.key/"

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        match request.url.rsplit("/", 1)[1]:
            case "twice":
                text = await request.text()
                failures = []
                for binding in (self.env.KV, self.env.BUCKET):
                    await binding.put("k", "old")
                    try:
                        await binding.put("k", request.body)
                    except Exception as error:
                        failures.append(str(error))
                kept = await (await self.env.BUCKET.get("k")).text()
                return Response.json([text, failures, await self.env.KV.get("k"), kept])
            case "put":
                body = to_js(gzip.compress(b"plain text", mtime=0))
                headers = {"Content-Encoding": "gzip", "Cache-Control": "max-age=60"}
                compressed = JsResponse.new(body, headers=headers.items(), encodeBody="manual")
                await caches.default.put(URL, compressed)
                return Response("put")
            case "cached":
                return await caches.default.match(URL)
            case "clone":
                return (await caches.default.match(URL)).clone()
            case "read":
                return Response(await (await caches.default.match(URL)).text())
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_worker(
        tmp_path / "w",
        SOURCE,
        kv_namespaces=[{"binding": "KV", "id": "kv"}],
        r2_buckets=[{"binding": "BUCKET", "bucket_name": "bucket"}],
    )


def test_the_body_of_a_request_that_was_read_is_not_stored_as_nothing(
    run: Runner, config: Path
) -> None:
    async def program(flare: Pyflare) -> Any:
        return (await request(flare, "/twice", method="POST", body=b"new")).json

    locked = "TypeError: The ReadableStream has been locked to a reader."
    assert run(program, config) == ["new", [locked, locked], "old", "old"]


@pytest.mark.parametrize("path", ["cached", "clone"])
def test_what_a_worker_has_compressed_comes_out_of_the_cache_compressed_once(
    run: Runner, config: Path, path: str
) -> None:
    async def program(flare: Pyflare) -> Any:
        await request(flare, "/put")
        return await request(flare, f"/{path}")

    answer = run(program, config)
    assert ("content-encoding", "gzip") in answer.headers
    assert gzip.decompress(answer.body) == b"plain text"
    lengths = [value for name, value in answer.headers if name == "content-length"]
    assert lengths in ([], [str(len(answer.body))])


def test_the_worker_reads_it_as_it_was_before(run: Runner, config: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        await request(flare, "/put")
        return (await request(flare, "/read")).text

    assert run(program, config) == "plain text"
