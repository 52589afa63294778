"""Under which names the platform looks for the handlers of a class.

With the prefix `on_` as long as module-level handlers count, without it from then on.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.emulator.actors.conftest import write_objects
from tests.emulator.conftest import DATE, Answer, Runner, request, write_worker

OLD = "2025-08-13"
CONFIGS: dict[str, tuple[str, dict[str, Any]]] = {
    "old date": ("on_", {"compatibility_date": OLD}),
    "old by flag": (
        "on_",
        {"compatibility_flags": ["python_workers", "disable_python_no_global_handlers"]},
    ),
    "new date": ("", {"compatibility_date": "2025-08-14"}),
    "new by flag": (
        "",
        {
            "compatibility_date": OLD,
            "compatibility_flags": ["python_workers", "python_no_global_handlers"],
        },
    ),
}
BOTH = {name: CONFIGS[name] for name in ("old date", "new date")}

SOURCE = """
    from workers import DurableObject, Response, WorkerEntrypoint


    class Named(WorkerEntrypoint):
        async def {Named}fetch(self, request):
            return Response("Named")


    class Thing(DurableObject):
        async def {Thing}fetch(self, request):
            return Response("Thing")


    class Default(WorkerEntrypoint):
        async def {Default}fetch(self, request):
            match request.url.rpartition("/")[2]:
                case "Named":
                    return await self.env.NAMED.fetch(request)
                case "Thing":
                    return await self.env.THING.getByName("a").fetch(request)
            return Response("Default")
"""


def ask(run: Runner, folder: Path, name: str, prefixes: dict[str, str], **config: Any) -> Answer:
    path = write_objects(
        folder,
        SOURCE.format(**prefixes),
        services=[{"binding": "NAMED", "service": "w", "entrypoint": "Named"}],
        name="w",
        **config,
    )

    async def program(flare: Any) -> Any:
        answer = await request(flare, f"/{name}")
        flare.log.flush()
        return answer

    answer: Answer = run(program, path)
    return answer


@pytest.mark.parametrize("name", ["Default", "Named", "Thing"])
@pytest.mark.parametrize(("prefix", "config"), CONFIGS.values(), ids=CONFIGS)
def test_a_request_is_answered_by_fetch_or_by_on_fetch(
    run: Runner, tmp_path: Path, name: str, prefix: str, config: dict[str, Any]
) -> None:
    prefixes = dict.fromkeys(("Default", "Named", "Thing"), prefix)

    assert ask(run, tmp_path, name, prefixes, **config).text == name


@pytest.mark.parametrize("name", ["Default", "Named", "Thing"])
@pytest.mark.parametrize(("prefix", "config"), BOTH.values(), ids=BOTH)
def test_a_fetch_that_is_named_for_other_dates_is_not_found(
    run: Runner, tmp_path: Path, name: str, prefix: str, config: dict[str, Any]
) -> None:
    other = "on_" if prefix == "" else ""
    prefixes = {**dict.fromkeys(("Default", "Named", "Thing"), prefix), name: other}

    answer = ask(run, tmp_path, name, prefixes, **config)

    assert answer.status == 500
    assert f"Error: Method {prefix}fetch does not exist" in run.err.text


@pytest.mark.parametrize(("prefix", "config"), BOTH.values(), ids=BOTH)
def test_the_log_tells_what_to_rename(
    run: Runner, tmp_path: Path, prefix: str, config: dict[str, Any]
) -> None:
    other = "on_" if prefix == "" else ""

    ask(run, tmp_path, "Default", dict.fromkeys(("Default", "Named", "Thing"), other), **config)

    assert f"TypeError: Method {prefix}fetch does not exist" in run.err.text
    assert f"Rename Default.{other}fetch to {prefix}fetch: the prefix on_ counts" in run.err.text


@pytest.mark.parametrize(("prefix", "config"), BOTH.values(), ids=BOTH)
def test_a_fetch_that_is_nowhere_is_missed_by_the_name_of_the_date(
    run: Runner, tmp_path: Path, prefix: str, config: dict[str, Any]
) -> None:
    prefixes = {"Default": "un", "Named": "", "Thing": ""}

    ask(run, tmp_path, "Default", prefixes, **config)

    assert f"TypeError: Method {prefix}fetch does not exist" in run.err.text
    assert "Rename" not in run.err.text


def test_what_is_no_function_is_no_handler(run: Runner, tmp_path: Path) -> None:
    source = """
        from workers import WorkerEntrypoint

        class Default(WorkerEntrypoint):
            fetch = "text"
    """

    async def program(flare: Any) -> Any:
        return await request(flare)

    answer = run(program, write_worker(tmp_path, source))

    assert "Method fetch does not exist" in answer.text


@pytest.mark.parametrize("signature", ["self", "self, request", "self, request, env, ctx", "*all"])
@pytest.mark.parametrize(("prefix", "config"), BOTH.values(), ids=BOTH)
def test_a_handler_gets_as_many_arguments_as_it_takes_under_either_name(
    run: Runner, tmp_path: Path, prefix: str, config: dict[str, Any], signature: str
) -> None:
    source = f"""
        from workers import Response, WorkerEntrypoint

        class Default(WorkerEntrypoint):
            async def {prefix}fetch({signature}):
                return Response("answer")
    """

    async def program(flare: Any) -> Any:
        return await request(flare)

    assert run(program, write_worker(tmp_path, source, **config)).text == "answer"


def test_a_method_of_its_own_called_fetch_is_left_alone(run: Runner, tmp_path: Path) -> None:
    source = """
        from workers import Response, WorkerEntrypoint

        class Default(WorkerEntrypoint):
            async def fetch(self, what):
                return f"fetched {what}"

            async def on_fetch(self, request):
                return Response(await self.fetch("it"))
    """

    async def program(flare: Any) -> Any:
        return await request(flare)

    path = write_worker(tmp_path, source, compatibility_date=OLD)

    assert run(program, path).text == "fetched it"


@pytest.mark.parametrize("date", [OLD, DATE])
def test_events_other_than_requests_have_no_prefix_in_a_class(
    run: Runner, tmp_path: Path, date: str
) -> None:
    source = """
        from workers import WorkerEntrypoint

        class Default(WorkerEntrypoint):
            async def on_scheduled(self, controller, env, ctx):
                pass
    """

    async def program(flare: Any) -> Any:
        worker = flare.loaded()
        return await worker.run(worker.handle("scheduled", None))

    with pytest.raises(Exception, match="Method scheduled does not exist") as caught:
        run(program, write_worker(tmp_path, source, compatibility_date=date))

    assert caught.value.__notes__ == [
        "Rename Default.on_scheduled to scheduled: only functions of the module have the prefix on_."
    ]


@pytest.mark.parametrize(("prefix", "config"), BOTH.values(), ids=BOTH)
def test_a_response_of_the_wrong_type_is_told_with_the_name_of_the_handler(
    run: Runner, tmp_path: Path, prefix: str, config: dict[str, Any]
) -> None:
    source = f"""
        from workers import WorkerEntrypoint

        class Default(WorkerEntrypoint):
            async def {prefix}fetch(self, request):
                return 5
    """

    async def program(flare: Any) -> Any:
        await request(flare)
        flare.log.flush()

    run(program, write_worker(tmp_path, source, **config))

    assert f"Default.{prefix}fetch in entry.py returned a value of type int" in run.err.text
