"""Services of the platform, and what an embedder gives in their place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pyflare import Pyflare
from pyflare.config import ConfigError
from tests.emulator.conftest import Runner, request, write_worker

from .conftest import Bench, Surroundings

ONLY_THERE: dict[str, Any] = {
    "ai": {"binding": "AI"},
    "vectorize": [{"binding": "INDEX", "index_name": "i"}],
    "browser": {"binding": "BROWSER"},
    "images": {"binding": "IMAGES"},
    "stream": {"binding": "STREAM"},
    "mtls_certificates": [{"binding": "CERT", "certificate_id": "c"}],
    "pipelines": [{"binding": "PIPE", "stream": "s"}],
}
NAMES = ("AI", "INDEX", "BROWSER", "IMAGES", "STREAM", "CERT", "PIPE")


@pytest.mark.parametrize("name", NAMES)
def test_the_first_use_says_what_to_do_instead(bench: Bench, name: str) -> None:
    async def program(around: Surroundings) -> Any:
        await getattr(around.env, name).run("x")

    text = bench.error(program, **ONLY_THERE)
    assert text.startswith(f"Error: env.{name}.run() cannot be called: ")
    assert f'Pyflare(..., bindings={{"{name}": ...}})' in text


def test_the_start_names_what_is_not_emulated_and_not_supplied(bench: Bench) -> None:
    async def program(_: Surroundings) -> Any:
        pass

    works = {"dispatch_namespaces": [{"binding": "DISP", "namespace": "n"}]}
    bench(program, bindings={"AI": FakeAi()}, **ONLY_THERE, **works)
    warned = [name for name in (*NAMES, "DISP") if f'binding "{name}" (' in bench.err.text]
    assert warned == [name for name in NAMES if name != "AI"]
    assert '"BROWSER" (Browser Run) is not emulated; using it raises an error.' in bench.err.text


def test_the_kinds_that_configurations_call_emulated_are() -> None:
    from pyflare.config.kinds import BindingKind
    from pyflare.env.not_emulated import NOT_EMULATED

    assert {kind for kind in BindingKind if not kind.is_emulated} == NOT_EMULATED.keys()


def test_a_worker_that_does_not_use_them_runs(bench: Bench) -> None:
    source = """
        from workers import Response, WorkerEntrypoint

        class Default(WorkerEntrypoint):
            async def fetch(self, request):
                return Response(type(self.env.AI).__name__)
    """

    async def program(around: Surroundings) -> Any:
        return (await request(around.flare)).status

    assert bench(program, source=source, **ONLY_THERE) == 200


class FakeAi:
    async def run(self, model: str, options: Any) -> Any:
        return {"model": model, "text": options["prompt"].upper()}


ASK = """
    from workers import Response, WorkerEntrypoint

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            answer = await self.env.AI.run("llama", {"prompt": "hi"})
            return Response.json([answer["model"], answer["text"], self.env.EXTRA])
"""


def test_a_stand_in_takes_the_place_of_a_binding(bench: Bench) -> None:
    async def program(around: Surroundings) -> Any:
        return (await request(around.flare)).json

    bindings = {"AI": FakeAi(), "EXTRA": "beside"}
    answer = bench(program, source=ASK, bindings=bindings, ai={"binding": "AI"})
    assert answer == ["llama", "HI", "beside"]


def test_it_stays_after_a_reload(bench: Bench) -> None:
    async def program(around: Surroundings) -> Any:
        await around.flare.reload(bench.folder / "w" / "src" / "entry.py")
        return (await request(around.flare)).json[1]

    bindings = {"AI": FakeAi(), "EXTRA": 1}
    assert bench(program, source=ASK, bindings=bindings, ai={"binding": "AI"}) == "HI"


def test_one_worker_can_have_its_own(run: Runner, tmp_path: Path) -> None:
    source = """
        from workers import Response, WorkerEntrypoint

        class Default(WorkerEntrypoint):
            async def fetch(self, request):
                return Response(str(self.env.X))
    """

    async def program(flare: Pyflare) -> Any:
        return [(await request(flare, host=f"{name}.localhost")).text for name in ("one", "two")]

    configs = [write_worker(tmp_path / name, source) for name in ("one", "two")]
    bindings = {"X": "all", ("two", "X"): "own"}
    assert run(program, *configs, bindings=bindings) == ["all", "own"]


def test_a_kind_that_would_be_refused_can_be_supplied(tmp_path: Path) -> None:
    class Unknown:
        pass

    from pyflare.config.kinds import BindingKind
    from pyflare.env.bindings import SUPPORTED

    refused = [kind for kind in BindingKind if kind not in SUPPORTED]
    blocks: dict[Any, Any] = {
        BindingKind.WORKFLOW: [{"binding": "B", "name": "n", "class_name": "C"}],
        BindingKind.DISPATCH_NAMESPACE: [{"binding": "B", "namespace": "n"}],
    }
    for kind in refused:
        if kind in blocks:
            config = write_worker(tmp_path, "", **{kind.value: blocks[kind]})
            with pytest.raises(ConfigError, match="is not supported"):
                Pyflare(config, persist_to=None)
            Pyflare(config, persist_to=None, bindings={"B": Unknown()})


def test_a_worker_that_is_not_there_is_named(tmp_path: Path) -> None:
    config = write_worker(tmp_path / "one", "")
    with pytest.raises(ValueError, match="names the worker 'two'; there is only one"):
        Pyflare(config, persist_to=None, bindings={("two", "X"): 1})


@pytest.mark.parametrize("key", [5, ("a",), ("a", "b", "c"), None])
def test_a_key_that_is_none_is_named(tmp_path: Path, key: Any) -> None:
    config = write_worker(tmp_path, "")
    with pytest.raises(TypeError, match="is neither a binding's name nor a pair"):
        Pyflare(config, persist_to=None, bindings={key: 1})


def test_version_metadata_tells_the_time_of_the_start(bench: Bench) -> None:
    async def program(around: Surroundings) -> Any:
        version = around.env.VERSION
        return len(version.id), version.tag, version.timestamp

    answer = bench(program, version_metadata={"binding": "VERSION"})
    assert answer == (36, "", "2026-01-01T00:00:00.000Z")
