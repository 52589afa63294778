"""Handlers other than fetch: how they are found, what they are given, what comes back."""

from pathlib import Path
from typing import Any

import pytest

from tests.emulator.conftest import Runner, write_worker

OLD = "2025-01-01"


def handle(run: Runner, tmp_path: Path, source: str, *arguments: Any, **config: Any) -> Any:
    async def program(flare: Any) -> Any:
        worker = flare.loaded()
        return await worker.run(worker.handle("scheduled", *arguments))

    return run(program, write_worker(tmp_path, source, **config))


@pytest.mark.parametrize(
    ("signature", "expected"),
    [
        ("def scheduled(self)", ()),
        ("async def scheduled(self, a)", ("tick",)),
        ("async def scheduled(self, a, b, c)", ("tick", None, None)),
        ("def scheduled(self, *a)", ("tick", None, None)),
    ],
)
def test_a_handler_gets_as_many_arguments_as_it_takes(
    run: Runner, tmp_path: Path, signature: str, expected: tuple[Any, ...]
) -> None:
    source = f"""
    from workers import WorkerEntrypoint

    class Default(WorkerEntrypoint):
        {signature}:
            seen = [v for k, v in locals().items() if k != "self"]
            return tuple(seen[0]) if seen and isinstance(seen[0], tuple) else tuple(seen)
    """
    assert handle(run, tmp_path, source, "tick") == expected


def test_a_legacy_handler_gets_environment_and_context(run: Runner, tmp_path: Path) -> None:
    source = """
    async def on_scheduled(controller, env, ctx):
        return controller, env.NAME, hasattr(ctx, "waitUntil")
    """
    answer = handle(
        run, tmp_path, source, "tick", compatibility_date=OLD, vars={"NAME": "somebody"}
    )
    assert answer == ("tick", "somebody", True)


@pytest.mark.parametrize(
    ("source", "config", "text"),
    [
        (
            "from workers import WorkerEntrypoint\nclass Default(WorkerEntrypoint):\n    pass\n",
            {},
            "Method scheduled does not exist",
        ),
        (
            "x = 1\n",
            {"compatibility_date": OLD},
            'does not export a handler named "on_scheduled"',
        ),
        ("def broken(:\n", {}, "invalid syntax"),
    ],
)
def test_a_missing_handler_is_named(
    run: Runner, tmp_path: Path, source: str, config: dict[str, Any], text: str
) -> None:
    with pytest.raises(Exception, match=text):
        handle(run, tmp_path, source, "tick", **config)


@pytest.mark.parametrize(("name", "there"), [("scheduled", True), ("queue", False)])
def test_whether_a_handler_exists_is_known_without_calling_it(
    run: Runner, tmp_path: Path, name: str, there: bool
) -> None:
    source = """
    from workers import WorkerEntrypoint

    class Default(WorkerEntrypoint):
        def scheduled(self, controller):
            raise AssertionError
    """

    async def program(flare: Any) -> Any:
        return flare.loaded().has_handler(name)

    assert run(program, write_worker(tmp_path, source)) is there
