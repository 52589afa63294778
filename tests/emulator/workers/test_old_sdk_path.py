"""`cloudflare.workers`, the SDK's name on the oldest runtime."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.emulator.conftest import Runner, request, write_worker

OLD = "2025-01-01"
FIRST_WITHOUT = "2025-09-29"
MISSING = "ModuleNotFoundError: No module named 'cloudflare"


def answer_to(
    run: Runner, folder: Path, imports: str, expression: str = '"found"', **config: Any
) -> str:
    """What a module-level `on_fetch` answers whose module begins with `imports`."""
    source = f"""
        import sys
        {imports}
        import workers

        async def on_fetch(request, env, ctx):
            return workers.Response({expression})


        class Default(workers.WorkerEntrypoint):
            async def fetch(self, request):
                return await on_fetch(request, self.env, self.ctx)
            on_fetch = fetch
    """

    async def program(flare: Any) -> str:
        return (await request(flare)).text

    found: str = run(program, write_worker(folder, source, **config))
    return found


@pytest.mark.parametrize(
    "imports",
    [
        "from cloudflare.workers import Response, handler, fetch, WorkerEntrypoint, DurableObject",
        "import cloudflare.workers",
        "from cloudflare import workers",
        "import cloudflare.workers as sdk",
        "from cloudflare.workers import *",
        "from cloudflare.workers.response import Response",
        "import cloudflare.workers.gateway.options",
    ],
)
def test_is_found_at_old_dates(run: Runner, tmp_path: Path, imports: str) -> None:
    assert answer_to(run, tmp_path, imports, compatibility_date=OLD) == "found"


@pytest.mark.parametrize(
    ("imports", "same"),
    [
        ("from cloudflare.workers import Response", "Response is workers.Response"),
        ("from cloudflare.workers import *", "handler is workers.handler"),
        (
            "from cloudflare.workers.response import Response",
            "Response is workers.Response",
        ),
        (
            "import cloudflare.workers.response as other, workers.response",
            "other is workers.response and other.__name__ == 'workers.response' and not hasattr(other, '__path__')",
        ),
        (
            "import cloudflare.workers",
            "'Response' in dir(cloudflare.workers) and not hasattr(cloudflare.workers, 'nothing')",
        ),
    ],
)
def test_is_the_sdk_itself(run: Runner, tmp_path: Path, imports: str, same: str) -> None:
    assert answer_to(run, tmp_path, imports, f"str({same})", compatibility_date=OLD) == "True"


def test_answers_requests_by_its_decorator(run: Runner, tmp_path: Path) -> None:
    source = """
        from cloudflare.workers import Response, handler

        @handler
        async def on_fetch(request, env, ctx):
            return Response.json([type(request).__module__, request.headers["host"]])
    """

    async def program(flare: Any) -> Any:
        return (await request(flare, host="a.test")).json

    path = write_worker(tmp_path, source, compatibility_date=OLD)
    assert run(program, path) == ["workers.request", "a.test"]


@pytest.mark.parametrize(
    "config",
    [
        {"compatibility_date": FIRST_WITHOUT},
        {
            "compatibility_date": OLD,
            "compatibility_flags": ["python_workers", "python_workers_20250116"],
        },
        {
            "compatibility_date": OLD,
            "compatibility_flags": ["python_workers", "enable_python_external_sdk"],
        },
    ],
    ids=["later date", "later runtime", "the project's own SDK"],
)
def test_is_missing_where_production_lacks_it(
    run: Runner, tmp_path: Path, config: dict[str, Any]
) -> None:
    assert MISSING in answer_to(run, tmp_path, "from cloudflare.workers import Response", **config)


def test_is_there_by_flag_at_a_later_date(run: Runner, tmp_path: Path) -> None:
    found = answer_to(
        run,
        tmp_path,
        "from cloudflare.workers import Response",
        compatibility_date=FIRST_WITHOUT,
        compatibility_flags=["python_workers", "no_python_workers_20250116"],
    )

    assert found == "found"


@pytest.mark.parametrize(
    "imports", ["import cloudflare.nothing", "import cloudflare.workers.nothing"]
)
def test_has_no_other_modules(run: Runner, tmp_path: Path, imports: str) -> None:
    found = answer_to(run, tmp_path, imports, compatibility_date=OLD)

    assert f"No module named '{imports.rpartition(' ')[2]}'" in found


def test_is_one_workers_and_not_its_neighbours(run: Runner, tmp_path: Path) -> None:
    source = """
        from workers import Response, WorkerEntrypoint

        class Default(WorkerEntrypoint):
            async def {prefix}fetch(self, request):
                try:
                    from cloudflare.workers import Response as Old
                except ModuleNotFoundError as error:
                    return Response(str(error))
                return Response("found")
    """
    old = write_worker(tmp_path / "old", source.format(prefix="on_"), compatibility_date=OLD)
    new = write_worker(tmp_path / "new", source.format(prefix=""))

    async def ask(flare: Any) -> list[str]:
        return [(await flare.worker(name).fetch("http://a/")).text for name in ("old", "new")]

    assert run(ask, old, new) == ["found", "No module named 'cloudflare.workers'"]


@pytest.mark.parametrize("place", ["src/cloudflare", "installed"])
def test_stands_beside_the_distribution_of_that_name(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    if place == "installed":
        folder = tmp_path / "environment/cloudflare"
        monkeypatch.syspath_prepend(str(folder.parent))
    else:
        folder = tmp_path / "project" / place
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("Cloudflare = 'client'")
    (folder / "types.py").write_text("")

    found = answer_to(
        run,
        tmp_path / "project",
        "import cloudflare.types; from cloudflare.workers import Response; from cloudflare import Cloudflare",
        "Cloudflare if Response is workers.Response else 'other'",
        compatibility_date=OLD,
    )

    assert found == "client"


def test_leaves_nothing_behind(run: Runner, tmp_path: Path) -> None:
    before = {name for name in sys.modules if name.startswith("cloudflare")}
    finders = list(sys.meta_path)

    answer_to(run, tmp_path, "import cloudflare.workers.response", compatibility_date=OLD)

    assert {name for name in sys.modules if name.startswith("cloudflare")} == before
    assert sys.meta_path == finders
