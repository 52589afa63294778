"""The chat of the examples: 200 people in 20 rooms that hibernate, and a process that is killed among them."""

import asyncio
import json
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect as connect_sync

from .conftest import Serve
from .dev_server import NEVER_PRINTED, PATIENCE, environment, eventually, free_port
from .projects import EXAMPLES

CHAT = EXAMPLES / "chat-room" / "wrangler.jsonc"
ROOMS, MEMBERS = 20, 10

#: The chat mounted in a server of its own, with a clock by which the ten seconds before a room sleeps are one half.
HOST = """
    import time

    from pyflare import Pyflare
    from pyflare_bindings.clock import SystemClock


    class QuickClock(SystemClock):
        __slots__ = ()

        def monotonic(self):
            return 20 * time.monotonic()

        def call_later(self, seconds, callback):
            return super().call_later(seconds / 20, callback)


    app = Pyflare({config!r}, persist_to={state!r}, clock=QuickClock())
"""


class Host:
    """The server's process."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "host.log"
        (folder / "chat_host.py").write_text(
            textwrap.dedent(HOST).format(config=str(CHAT), state=str(folder / "state"))
        )
        self._folder = folder
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        options = ["--port", str(self.port), "--log-level", "warning"]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "uvicorn", "chat_host:app", *options],
                cwd=self._folder,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment(),
            )
        eventually(self._listens, "a server that listens")

    def _listens(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log.read_text()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """Ends it in peace, if it still runs."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(PATIENCE)
        output = self.log.read_text(errors="replace")
        assert not [text for text in NEVER_PRINTED if text in output], output


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    host = Host(tmp_path)
    host.start()
    try:
        yield host
        host.stop()
    finally:
        host.kill()


class Member:
    """Somebody in a room, who connects again when the connection is lost."""

    def __init__(self, host: Host, room: int, number: int) -> None:
        self.name = f"m{number}"
        self.room = f"room {room}"
        self.seen: dict[int, tuple[str, str]] = {}
        self.connections = 0
        self.gap = False
        self._host = host
        self._socket: ClientConnection | None = None
        self._news = asyncio.Event()

    async def stay(self) -> None:
        """Reads until cancelled."""
        base = f"ws://127.0.0.1:{self._host.port}/room/{self.room.replace(' ', '%20')}/socket"
        while True:
            after = max(self.seen, default=0)
            try:
                async with connect(
                    f"{base}?name={self.name}&after={after}", proxy=None, open_timeout=PATIENCE
                ) as connection:
                    self._socket = connection
                    async for text in connection:
                        self._take(json.loads(text))
            except (OSError, ConnectionClosed):
                pass
            self._socket = None
            self._news.set()
            await asyncio.sleep(0.02)

    def _take(self, what: dict[str, Any]) -> None:
        match what["type"]:
            case "history":
                self.connections += 1
                for message in what["messages"]:
                    self._note(message)
            case "message":
                self._note(what)
        self._news.set()

    def _note(self, message: dict[str, Any]) -> None:
        number = message["id"]
        self.gap = self.gap or number != max(self.seen, default=0) + 1
        self.seen[number] = message["name"], message["text"]

    async def say(self, text: str) -> bool:
        """Whether the room has repeated it to the one who said it."""
        connection = self._socket
        if connection is None:
            return False
        try:
            await connection.send(text)
        except ConnectionClosed:
            return False
        return (
            await self.until(
                lambda: (self.name, text) in self.seen.values() or self._socket is not connection
            )
            and (self.name, text) in self.seen.values()
        )

    async def until(self, true: Any) -> bool:
        async with asyncio.timeout(PATIENCE):
            while not true():
                self._news.clear()
                await self._news.wait()
        return True


@asynccontextmanager
async def crowd(host: Host) -> AsyncIterator[list[Member]]:
    """Everybody, connected."""
    members = [Member(host, room, number) for room in range(ROOMS) for number in range(MEMBERS)]
    async with asyncio.TaskGroup() as group:
        staying = [group.create_task(member.stay()) for member in members]
        await asyncio.gather(*(member.until(lambda m=member: m.connections) for member in members))
        try:
            yield members
        finally:
            for task in staying:
                task.cancel()


async def rooms(host: Host) -> list[dict[str, Any]]:
    async with httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{host.port}", timeout=PATIENCE, trust_env=False
    ) as client:
        answers = await asyncio.gather(*(client.get(f"/room/room {n}") for n in range(ROOMS)))
        return [answer.json() for answer in answers]


async def talk(members: list[Member], text: str) -> list[bool]:
    return list(await asyncio.gather(*(member.say(text) for member in members)))


async def all_alike(members: list[Member]) -> None:
    """Everybody in a room has seen the same, without a gap."""
    for start in range(0, len(members), MEMBERS):
        room = members[start : start + MEMBERS]
        newest = max(max(member.seen, default=0) for member in room)
        for member in room:
            await member.until(lambda m=member, n=newest: n == 0 or n in m.seen)
        assert [member.seen for member in room] == [room[0].seen] * MEMBERS
        assert not any(member.gap for member in room)


class TestTwoHundredInTwentyRooms:
    def test_rooms_sleep_between_the_messages_and_nobody_misses_one(self, host: Host) -> None:
        async def run() -> None:
            async with crowd(host) as members:
                for round_number in range(3):
                    assert all(await talk(members, f"round {round_number}"))
                    await all_alike(members)
                    # Ten seconds of the server's clock, and a little more.
                    await asyncio.sleep(0.8)
                states = await rooms(host)
                assert [state["messages"] for state in states] == [3 * MEMBERS] * ROOMS
                assert [state["sockets"] for state in states] == [MEMBERS] * ROOMS
                # The first visitor, one round or two, and this question have woken it.
                assert all(state["woken"] >= 3 for state in states), states
                assert all(member.connections == 1 for member in members)

        asyncio.run(run())

    def test_kill_9_among_them_loses_nothing_that_anybody_has_seen(self, host: Host) -> None:
        async def run() -> None:
            async with crowd(host) as members:
                assert all(await talk(members, "before"))
                await asyncio.sleep(0.8)
                talking = asyncio.create_task(chatter(members))
                await asyncio.sleep(0.3)
                host.kill()
                said = await talking
                assert 0 < said < 50 * len(members), "the kill has to come in the middle"
                await asyncio.to_thread(host.start)
                await asyncio.gather(
                    *(member.until(lambda m=member: m.connections == 2) for member in members)
                )
                assert all(await talk(members, "after"))
                await all_alike(members)
                states = await rooms(host)
                assert [state["sockets"] for state in states] == [MEMBERS] * ROOMS
                assert [state["messages"] for state in states] == [
                    len(members[room * MEMBERS].seen) for room in range(ROOMS)
                ]

        async def chatter(members: list[Member]) -> int:
            async def one(member: Member) -> int:
                for number in range(50):
                    if not await member.say(f"message {number}"):
                        return number
                return 50

            return sum(await asyncio.gather(*map(one, members)))

        asyncio.run(run())


def test_the_readme_s_first_steps(serve: Serve) -> None:
    server = serve(CHAT)
    assert "<title>Chat</title>" in server.get("/").text
    url = f"ws://127.0.0.1:{server.port}/room/lobby/socket"

    with connect_sync(f"{url}?name=Ada", proxy=None) as ada:
        assert json.loads(ada.recv(PATIENCE)) == {"type": "history", "messages": []}
        assert json.loads(ada.recv(PATIENCE)) == {
            "type": "joined",
            "name": "Ada",
            "members": ["Ada"],
        }
        with connect_sync(f"{url}?name=Ben", proxy=None) as ben:
            assert json.loads(ada.recv(PATIENCE))["members"] == ["Ada", "Ben"]
            ben.recv(PATIENCE)
            ben.recv(PATIENCE)
            ada.send("hello")
            said = {"type": "message", "id": 1, "name": "Ada", "text": "hello"}
            assert json.loads(ada.recv(PATIENCE)) == json.loads(ben.recv(PATIENCE)) == said
            ben.send("ping")
            assert ben.recv(PATIENCE) == "pong"
            ben.send(b"bytes")
            assert json.loads(ben.recv(PATIENCE))["type"] == "problem"
            assert server.get("/room/lobby").json() == {
                "members": ["Ada", "Ben"],
                "sockets": 2,
                "messages": 1,
                "woken": 1,
            }
        assert json.loads(ada.recv(PATIENCE)) == {
            "type": "left",
            "name": "Ben",
            "members": ["Ada"],
        }
        assert server.get("/room/lobby").json()["sockets"] == 1


def test_requests_that_are_no_visit_are_refused(serve: Serve) -> None:
    server = serve(CHAT)
    upgrade = {
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
        "sec-websocket-version": "13",
    }
    assert server.get("/room/lobby/socket").status_code == 426
    assert server.get("/room/lobby/socket", headers=upgrade).status_code == 400
    assert server.get("/room/lobby/socket?name=A&after=x", headers=upgrade).status_code == 400
    assert server.get("/room/").status_code == 404
