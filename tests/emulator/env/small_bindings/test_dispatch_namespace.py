"""`env.DISPATCHER`: calling user Workers by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pyflare import Pyflare
from tests.emulator.conftest import Runner, request, write_worker

DISPATCHER = """
    from urllib.parse import urlsplit
    from workers import Response, WorkerEntrypoint, fetch

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            name = urlsplit(request.url).path[1:]
            try:
                user = self.env.DISPATCHER.get(name, {}, {"outbound": self.parameters()})
                return await fetch(request, fetcher=user.fetch)
            except Exception as error:
                return Response(str(error), status=404)

        def parameters(self):
            return PARAMETERS

        async def sum(self, name):
            return await self.env.DISPATCHER.get(name).add(1, 2)
"""

USER = """
    from workers import Response, WorkerEntrypoint, fetch

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            if request.method == "POST":
                answer = await fetch("https://example.test/out")
                return Response(f"user got: {await answer.text()}")
            return Response(f"{NAME} {request.url}")

        async def add(self, a, b):
            return a + b
"""

OUTBOUND = """
    from workers import Response, WorkerEntrypoint

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            customer = getattr(self.env, "customer", None)
            return Response(f"outbound {request.url} for {customer} of {self.env.OWN}")
"""


def projects(folder: Path, parameters: str = "None", outbound: Any = None) -> list[Path]:
    entry = {"binding": "DISPATCHER", "namespace": "users"}
    if outbound is not None:
        entry["outbound"] = outbound
    return [
        write_worker(
            folder / "dispatcher",
            DISPATCHER.replace("PARAMETERS", parameters),
            dispatch_namespaces=[entry],
        ),
        *[write_worker(folder / name, USER.replace("NAME", repr(name))) for name in ("ada", "bob")],
        write_worker(folder / "gate", OUTBOUND, vars={"OWN": "gate"}),
    ]


def answers(run: Runner, configs: list[Path], *requests: tuple[str, str]) -> Any:
    async def program(flare: Pyflare) -> Any:
        return [
            (answer.status, answer.text)
            for method, path in requests
            for answer in [await request(flare, path, method=method, host="dispatcher.localhost")]
        ]

    return run(program, *configs)


def test_user_workers_are_called_by_name(run: Runner, tmp_path: Path) -> None:
    found = answers(run, projects(tmp_path), ("GET", "/ada"), ("GET", "/bob"))
    assert [text.split()[0] for _, text in found] == ["ada", "bob"]


def test_one_that_is_not_there_is_an_error_of_the_call(run: Runner, tmp_path: Path) -> None:
    ((status, text),) = answers(run, projects(tmp_path), ("GET", "/nobody"))
    assert status == 404
    assert "Worker not found." in text


def test_methods_can_be_called(run: Runner, tmp_path: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        worker = flare.loaded("dispatcher")

        async def event() -> Any:
            user = flare.env("dispatcher").DISPATCHER.get("ada")
            missing = flare.env("dispatcher").DISPATCHER.get("nobody")
            with pytest.raises(Exception, match="Worker not found"):
                await missing.add(1, 2)
            return await user.add(1, 2)

        return await worker.run(event())

    assert run(program, *projects(tmp_path)) == 3


def test_requests_of_user_workers_go_through_the_outbound_worker(
    run: Runner, tmp_path: Path
) -> None:
    configs = projects(
        tmp_path, '{"customer": "c1"}', {"service": "gate", "parameters": ["customer"]}
    )
    found = answers(run, configs, ("POST", "/ada"), ("GET", "/bob"))
    assert found[0] == (200, "user got: outbound https://example.test/out for c1 of gate")
    assert found[1][1].startswith("bob ")


def test_parameters_are_those_of_one_call(run: Runner, tmp_path: Path) -> None:
    configs = projects(tmp_path, "None", {"service": "gate", "parameters": ["customer"]})
    ((_, text),) = answers(run, configs, ("POST", "/ada"))
    assert text == "user got: outbound https://example.test/out for None of gate"


def test_a_parameter_that_was_not_declared_is_named(run: Runner, tmp_path: Path) -> None:
    configs = projects(tmp_path, '{"customer": "c1"}', {"service": "gate", "parameters": ["x"]})
    ((status, text),) = answers(run, configs, ("GET", "/ada"))
    assert status == 404
    assert 'The outbound parameter "customer" is not in "outbound.parameters"' in text
