"""The names of the ``js`` module in a Worker: all of them, whoever asked for which before, and Node's by the flag."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyflare.js.globals import names
from tests.emulator.conftest import Runner, request, write_worker


def answer(run: Runner, folder: Path, source: str, **config: Any) -> Any:
    folder.mkdir(exist_ok=True)
    return run(request, write_worker(folder, source, **config)).json


STAR = """
    from workers import WorkerEntrypoint, Response

    space = {}
    exec("from js import *", space)

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            return Response.json(sorted(space.keys() - {"__builtins__"}))
    """


def test_a_star_import_binds_every_name(run: Runner, tmp_path: Path) -> None:
    found = answer(run, tmp_path, STAR)
    assert set(names()) <= set(found)


NODE = """
    import js
    from workers import WorkerEntrypoint, Response

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            found = {name: hasattr(js, name) for name in ("Buffer", "process", "global")}
            found["of globalThis"] = hasattr(js.globalThis, "Buffer")
            found["listed"] = "Buffer" in dir(js)
            if hasattr(js, "Buffer"):
                found["text"] = js.Buffer.from_("aGk", "base64").toString()
                found["node"] = js.process.versions.node.split(".")[0].isdigit()
                found["global"] = js.global_ is js.globalThis if hasattr(js, "global_") else True
            return Response.json(found)
    """
_NAMES = ("Buffer", "process", "global", "of globalThis", "listed")


def test_node_names_are_there_with_the_flag(run: Runner, tmp_path: Path) -> None:
    found = answer(run, tmp_path, NODE, compatibility_flags=["python_workers", "nodejs_compat"])
    assert found == dict.fromkeys((*_NAMES, "node", "global"), True) | {"text": "hi"}


def test_node_names_are_absent_without_the_flag(run: Runner, tmp_path: Path) -> None:
    assert answer(run, tmp_path, NODE) == dict.fromkeys(_NAMES, False)


ONE_SCOPE = """
    import js
    from workers import WorkerEntrypoint, Response

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            js.foo = 5
            js.globalThis.bar = 6
            js.btoa
            js.globalThis.btoa = "replaced"
            flags = js.Cloudflare.compatibilityFlags
            return Response.json([
                js.globalThis.foo, js.bar, js.btoa, js.globalThis.btoa, flags.nodejs_compat,
                flags.python_workers, hasattr(flags, "no_nodejs_compat"), js.ServiceWorkerGlobalScope.name,
            ])
    """


def test_the_module_and_the_global_scope_are_one(run: Runner, tmp_path: Path) -> None:
    found = answer(run, tmp_path, ONE_SCOPE)
    assert found[:4] == [5, 6, "replaced", "replaced"]


def test_the_compatibility_flags_are_told(run: Runner, tmp_path: Path) -> None:
    found = answer(run, tmp_path, ONE_SCOPE, compatibility_date="2026-07-01")
    assert found[4:] == [False, True, False, "ServiceWorkerGlobalScope"]
