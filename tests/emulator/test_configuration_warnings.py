"""What is doubtful in a configuration is said wherever Workers are started, and once."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from pyflare import Pyflare, platform_proxy
from pyflare.testing import RecordingLog
from tests.emulator.conftest import write_worker

EMPTY = "from workers import WorkerEntrypoint\nclass Default(WorkerEntrypoint): pass\n"


async def by_file(path: Path, log: RecordingLog) -> None:
    async with Pyflare(path, persist_to=None, log=log):
        pass


async def by_mapping(path: Path, log: RecordingLog) -> None:
    config = json.loads(await asyncio.to_thread(path.read_text))
    async with Pyflare(config, cwd=path.parent, persist_to=None, log=log):
        pass


async def by_lifespan(path: Path, log: RecordingLog) -> None:
    async with Pyflare(path, persist_to=None, log=log).lifespan():
        pass


async def without_code(path: Path, log: RecordingLog) -> None:
    async with platform_proxy(path, persist_to=None, log=log):
        pass


@pytest.mark.parametrize("start", [by_file, by_mapping, by_lifespan, without_code])
def test_an_unknown_field_is_said_once(tmp_path: Path, start: Any) -> None:
    path = write_worker(tmp_path, EMPTY, kv_namespace=[{"binding": "KV", "id": "kv"}])
    log = RecordingLog()

    asyncio.run(start(path, log))

    [text] = log.warnings
    assert 'Unexpected fields found in top-level field: "kv_namespace"' in text
    assert 'Did you mean "kv_namespaces"' in text


def test_what_an_environment_does_not_inherit_is_said(tmp_path: Path) -> None:
    path = write_worker(tmp_path, EMPTY, vars={"A": "1"}, env={"staging": {}})
    log = RecordingLog()

    async def program() -> None:
        async with Pyflare(path, env="staging", persist_to=None, log=log):
            pass

    asyncio.run(program())

    assert '"vars" exists at the top level, but not on "env.staging"' in "".join(log.warnings)
