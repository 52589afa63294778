"""A file that is deleted under its owner takes nothing more, and says so."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from pyflare_bindings.registry import BindingRegistry
from pyflare_bindings.storage.errors import FileGoneError, StateError
from pyflare_bindings.storage.row_file import RowFile
from pyflare_bindings.storage.sqlite import Durability


def add(execute: Any) -> None:
    execute("INSERT INTO t VALUES (1)")


@pytest.mark.parametrize("durability", ["process", "machine"])
def test_a_write_is_refused(tmp_path: Path, durability: Durability) -> None:
    async def run() -> None:
        rows = RowFile(tmp_path / "s" / "f.sqlite", durability, "CREATE TABLE IF NOT EXISTS t (v)")
        await rows.open()
        await rows.write(add)
        shutil.rmtree(tmp_path / "s")
        with pytest.raises(FileGoneError, match=r"nothing of this request was kept.*Restart"):
            await rows.write(add)
        with pytest.raises(FileGoneError):
            rows.read("SELECT * FROM t")
        await rows.close()

    asyncio.run(run())


def test_a_read_is_refused_once_the_loss_was_noticed(tmp_path: Path) -> None:
    async def run() -> None:
        rows = RowFile(tmp_path / "s" / "f.sqlite", "process", "CREATE TABLE IF NOT EXISTS t (v)")
        await rows.open()
        rows.check_file()
        assert rows.read("SELECT count(*) FROM t").get == 0
        shutil.rmtree(tmp_path / "s")
        rows.check_file()
        with pytest.raises(FileGoneError):
            rows.read("SELECT count(*) FROM t")
        await rows.close()

    asyncio.run(run())


def test_the_registry_lets_every_owner_look(tmp_path: Path) -> None:
    async def run() -> None:
        registry = BindingRegistry(tmp_path / "s")
        namespace, bucket = registry.kv("a"), registry.r2("bbb")
        await namespace.put("k", b"v")
        await bucket.put("k", b"v")
        shutil.rmtree(tmp_path / "s")
        registry.check_files()
        with pytest.raises(StateError):
            await namespace.get("k")
        with pytest.raises(StateError):
            await bucket.get("k")
        await registry.close()

    asyncio.run(run())
