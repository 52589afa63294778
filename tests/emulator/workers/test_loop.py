"""The loop that switches modules: sockets, timers and the host's own callbacks."""

from __future__ import annotations

import asyncio
import socket
import sys
import types
from typing import Any

import pytest

from pyflare.workers.loop import context_of, new_event_loop

ENTRY = """
import asyncio

class Echo(asyncio.Protocol):
    def __init__(self):
        self.owners = []

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        import late
        self.transport.write(late.OWNER.encode())

async def serve():
    server = await asyncio.get_running_loop().create_server(Echo, "127.0.0.1", 0)
    return server

def watch(reader, answer):
    def readable():
        import late
        answer.set_result(late.OWNER)
        asyncio.get_running_loop().remove_reader(reader)
    asyncio.get_running_loop().add_reader(reader, readable)
"""


@pytest.fixture
def pair(workers: Any) -> list[Any]:
    return [
        workers.start(
            name, {"entry.py": ENTRY, "late.py": f"OWNER = {name!r}"}, private_packages=()
        )
        for name in ("a", "b")
    ]


def test_the_callbacks_of_a_connection_run_with_their_workers_modules(
    workers: Any, pair: list[Any]
) -> None:
    async def ask(server: asyncio.Server) -> bytes:
        host, port = server.sockets[0].getsockname()
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(b"?")
        answer = await reader.read(10)
        writer.close()
        await writer.wait_closed()
        return answer

    async def main() -> list[bytes]:
        servers = [await workers.event(scope, "serve") for scope in pair]
        answers = await asyncio.gather(*(ask(server) for server in servers))
        for server in servers:
            server.close()
            await server.wait_closed()
        return answers

    assert workers.run(main()) == [b"a", b"b"]


def test_a_readable_socket_is_handled_with_the_modules_of_who_watches_it(
    workers: Any, pair: list[Any]
) -> None:
    async def main() -> list[str]:
        answers = []
        for scope in pair:
            ours, theirs = socket.socketpair()
            answer = asyncio.get_running_loop().create_future()
            await workers.event(scope, "watch", ours, answer)
            workers.isolation.switch(pair[0].space)
            theirs.send(b"!")
            answers.append(await answer)
            ours.close()
            theirs.close()
        return answers

    assert workers.run(main()) == ["a", "b"]


def test_callbacks_of_no_worker_leave_the_modules_as_they_are(
    workers: Any, pair: list[Any]
) -> None:
    async def main() -> bool:
        workers.isolation.switch(pair[0].space)
        await asyncio.sleep(0)
        return workers.isolation.installed is pair[0].space

    assert workers.run(main())


def test_callbacks_of_the_host_find_the_hosts_modules(
    workers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = types.ModuleType("late")
    monkeypatch.setitem(sys.modules, "late", hosts)
    scope = workers.start("a", {"entry.py": "import late", "late.py": ""})

    async def main() -> bool:
        workers.isolation.switch(scope.space)
        await asyncio.sleep(0)
        return sys.modules["late"] is hosts

    assert workers.run(main())


def test_a_generator_of_shared_code_belongs_to_no_worker() -> None:
    async def numbers() -> Any:
        yield 1

    assert context_of(numbers()) is None


def test_the_loop_by_default_serves_the_workers_of_the_process(workers: Any) -> None:
    workers.start("a", {"entry.py": ""})

    loop = new_event_loop()

    assert loop.isolation is workers.isolation
    loop.close()
