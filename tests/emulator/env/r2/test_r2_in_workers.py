"""R2 in started Workers: who shares a bucket, and what the compatibility date changes."""

from pathlib import Path
from typing import Any

import pytest

from pyflare import Pyflare
from tests.emulator.conftest import Runner, request, write_worker

LISTS = """
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def on_fetch(self, request):
        await self.env.BUCKET.put("k", "x", customMetadata={"a": "b"})
        (found,) = (await self.env.BUCKET.list()).objects
        return Response(str(found.customMetadata is not None))
"""
WRITES = """
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        await self.env.FILES.put("k", "written by the first")
        return Response("")
"""
READS = """
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response((await self.env.UPLOADS.get("k")).body)
"""


@pytest.mark.parametrize(("date", "shown"), [("2022-08-03", "True"), ("2022-08-04", "False")])
def test_a_listing_carries_all_metadata_before_the_flag_that_honours_include(
    run: Runner, tmp_path: Path, date: str, shown: str
) -> None:
    buckets = [{"binding": "BUCKET", "bucket_name": "shared"}]
    config = write_worker(tmp_path / "w", LISTS, r2_buckets=buckets, compatibility_date=date)

    async def program(flare: Pyflare) -> str:
        return (await request(flare)).text

    assert run(program, config) == shown


PAGES = """
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        for key in "abc":
            await self.env.BUCKET.put(key, b"\\xef\\xbb\\xbftext")
        keys, options = [], {}
        while True:
            page = await self.env.BUCKET.list(limit=2, **options)
            keys += [found.key for found in page.objects]
            if not getattr(page, "cursor", "no field"):
                break
            if "cursor" not in page:
                keys.append("no field")
                break
            options = {"cursor": page.cursor}
        text = await (await self.env.BUCKET.get("a")).text()
        return Response.json([keys, text])
"""


@pytest.mark.parametrize(
    ("date", "shown"),
    [
        ("2025-12-02", [["a", "b", "c", "no field"], "\ufefftext"]),
        ("2025-12-03", [["a", "b", "c"], "\ufefftext"]),
        ("2026-01-12", [["a", "b", "c"], "\ufefftext"]),
        ("2026-01-13", [["a", "b", "c"], "text"]),
    ],
)
def test_the_date_decides_on_unset_fields_and_on_byte_order_marks(
    run: Runner, tmp_path: Path, date: str, shown: list[Any]
) -> None:
    buckets = [{"binding": "BUCKET", "bucket_name": "shared"}]
    config = write_worker(tmp_path / "w", PAGES, r2_buckets=buckets, compatibility_date=date)

    async def program(flare: Pyflare) -> Any:
        return (await request(flare)).json

    assert run(program, config) == shown


def test_two_workers_that_name_one_bucket_have_one_owner(run: Runner, tmp_path: Path) -> None:
    configs = [
        write_worker(
            tmp_path / name,
            source,
            name=name,
            r2_buckets=[{"binding": binding, "bucket_name": "shared"}],
        )
        for name, source, binding in (("first", WRITES, "FILES"), ("second", READS, "UPLOADS"))
    ]

    async def program(flare: Pyflare) -> str:
        await request(flare, host="first.localhost")
        return (await request(flare, host="second.localhost")).text

    assert run(program, *configs) == "written by the first"
