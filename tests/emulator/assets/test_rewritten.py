"""Files that are written again: what is answered is one state of a file, under that state's tag."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import pytest

from pyflare.assets.contents import Contents, FileBody
from tests.emulator.assets.conftest import Assets


def test_a_file_with_equal_size_and_time_is_read_again(make: Any) -> None:
    assets: Assets = make({"a.txt": "old"})
    file = assets.root / "a.txt"
    past = time.time_ns() - 3600 * 10**9
    os.utime(file, ns=(past, past))
    # Settled, so that it is kept.
    time.sleep(0.06)
    before = assets.get("/a.txt")
    assert assets.get("/a.txt").body == b"old"

    with file.open("r+b") as opened:
        opened.write(b"new")
    os.utime(file, ns=(past, past))

    after = assets.get("/a.txt")
    assert after.body == b"new"
    assert after.get("etag") != before.get("etag")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("_redirects", "\ufeff/x /y 301\n/z /w 301\n"),
        ("_headers", "\ufeff/a.txt\n  X-A: 1\n"),
        (".assetsignore", "\ufeffhidden.txt\n"),
    ],
)
def test_a_byte_order_mark_is_no_part_of_the_first_rule(make: Any, name: str, text: str) -> None:
    assets: Assets = make({name: text, "a.txt": "a", "hidden.txt": "h"})

    match name:
        case "_redirects":
            assert [assets.get(path).location for path in ("/x", "/z")] == ["/y", "/w"]
        case "_headers":
            assert assets.get("/a.txt").get("x-a") == "1"
        case _:
            assert assets.get("/hidden.txt").status == 404
    assert assets.log.warned == []


async def parts(file: str, change: Any) -> int:
    """Read a large file while it is changed after its first part: how many parts came."""
    content = await Contents().open(file)
    assert content is not None
    assert isinstance(content.body, FileBody)
    count = 0
    try:
        async for _ in content.body:
            count += 1
            if count == 1:
                change()
    finally:
        content.body.close()
    return count


def test_a_file_that_is_overwritten_while_it_is_sent_is_cut(tmp_path: Path) -> None:
    file = tmp_path / "large.bin"
    file.write_bytes(b"a" * 1_000_000)
    past = time.time() - 3600
    os.utime(file, (past, past))

    def overwrite() -> None:
        with file.open("r+b") as opened:
            opened.write(b"b" * 1_000_000)

    with pytest.raises(OSError, match="was changed while it was sent"):
        asyncio.run(parts(os.path.realpath(file), overwrite))


def test_a_file_that_is_replaced_while_it_is_sent_stays_whole(tmp_path: Path) -> None:
    file = tmp_path / "large.bin"
    file.write_bytes(b"a" * 1_000_000)
    (tmp_path / "new.bin").write_bytes(b"b" * 1_000_000)

    path = os.path.realpath(file)
    assert asyncio.run(parts(path, lambda: (tmp_path / "new.bin").rename(file))) == 4


def test_a_link_that_is_replaced_while_it_is_followed_is_no_asset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to("target")

    def replaced(path: Any, **_: Any) -> str:
        raise OSError(22, "Invalid argument", path)

    monkeypatch.setattr(os, "readlink", replaced)

    assert asyncio.run(Contents().open(str(tmp_path / "link"))) is None
