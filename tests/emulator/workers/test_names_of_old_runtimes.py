"""What ``pyodide.ffi`` does not have yet under the oldest runtime, for a worker's own modules."""

from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tests.emulator.conftest import Runner, request, write_worker

SOURCE = """
from js import Response
{head}

async def on_fetch(request, env):
    return Response.new(repr({value}))
"""
LATER = ["run_sync", "can_run_sync", "jsnull", "JsNull"]
OLDEST = "2025-09-28"


def answer(run: Runner, folder: Path, head: str, value: str, date: str, *flags: str) -> Any:
    path = write_worker(
        folder,
        SOURCE.replace("{head}", head).replace("{value}", value),
        compatibility_date=date,
        compatibility_flags=["python_workers", "disable_python_no_global_handlers", *flags],
    )

    async def program(flare: Any) -> Any:
        return await request(flare, "/")

    return run(program, path)


@pytest.mark.parametrize("name", LATER)
def test_the_import_of_a_later_name_fails(run: Runner, tmp_path: Path, name: str) -> None:
    response = answer(run, tmp_path, f"from pyodide.ffi import {name}", "1", OLDEST)
    assert response.status == 500
    assert f"cannot import name '{name}'" in unescape(response.text)


@pytest.mark.parametrize("name", LATER)
def test_the_module_has_no_such_attribute(run: Runner, tmp_path: Path, name: str) -> None:
    head = "from pyodide import ffi"
    assert answer(run, tmp_path, head, f"hasattr(ffi, '{name}')", OLDEST).text == "False"


@pytest.mark.parametrize("name", LATER)
def test_the_module_does_not_list_them(run: Runner, tmp_path: Path, name: str) -> None:
    head = "from pyodide import ffi\nfrom pyodide.ffi import *"
    value = f"'{name}' in dir(ffi) or '{name}' in ffi.__all__ or '{name}' in globals()"
    assert answer(run, tmp_path, head, value, OLDEST).text == "False"


@pytest.mark.parametrize(
    ("date", "flags"), [("2025-09-29", []), (OLDEST, ["python_workers_20250116"])]
)
@pytest.mark.parametrize("name", LATER)
def test_later_runtimes_have_them(
    run: Runner, tmp_path: Path, name: str, date: str, flags: list[str]
) -> None:
    head = (
        f"from pyodide import ffi\nfrom pyodide.ffi import *\nfrom pyodide.ffi import {name} as one"
    )
    value = f"one is ffi.{name} is {name} and '{name}' in dir(ffi)"
    assert answer(run, tmp_path, head, value, date, *flags).text == "True"


def test_the_sdk_keeps_what_it_needs(run: Runner, tmp_path: Path) -> None:
    head = "from workers.utils import jsnull"
    assert answer(run, tmp_path, head, "jsnull", OLDEST).text == "jsnull"
