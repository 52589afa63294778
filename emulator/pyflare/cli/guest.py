"""A ``pyflare dev`` on a state directory that another process owns: its worker runs over there.

The session hands its listening sockets to the owner, which answers on them, and shows what its worker says. When the
owner ends, the sockets are still here: what clients send meanwhile waits for the next owner.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
from pathlib import Path
from typing import Any, Final

from pyflare.owner.address import connect
from pyflare.owner.frames import Connection, Gone, send_hello
from pyflare.owner.protocol import JSON, OUT, ProtocolError, identity, json_frame, parse_json
from pyflare.server.log import LogSink, wants_colour

__all__ = ["Again", "Guest", "OwnerRefused", "about_session", "reach_owner"]

_HELLO_SECONDS: Final = 10.0
_LEAVE_SECONDS: Final = 6.0


class OwnerRefused(Exception):
    """The owner does not take this session in; ``str()`` says why, in its final form with ``prepared``."""

    def __init__(self, text: str, *, prepared: bool = False) -> None:
        super().__init__(text)
        self.prepared = prepared


class Again(Exception):
    """The owner has to start anew before it can take this session in."""


class Guest:
    """A session that an owner has taken in. Made by :func:`reach_owner`; ``owner`` is that process's id."""

    def __init__(self, connection: Connection, log: LogSink, owner: int) -> None:
        self._connection = connection
        self._log = log
        self.owner = owner
        self._reloaded: asyncio.Future[bool] | None = None
        self._reading: asyncio.Task[None] | None = None

    async def until_ready(self) -> None:
        """Wait until the owner answers on the sockets. Raises OwnerRefused, Again and Gone."""
        while True:
            event = await self._next_event()
            match event["event"]:
                case "ready":
                    self._reading = asyncio.create_task(self._read())
                    return
                case "again":
                    raise Again
                case "refused":
                    raise OwnerRefused(event["text"], prepared=True)

    async def until_lost(self) -> None:
        """Wait for the owner's end."""
        assert self._reading is not None, "it is ready"
        await asyncio.shield(self._reading)

    async def reload(self, path: str | Path) -> bool:
        """Have the worker that a file belongs to loaded again. Gives whether that went well. Raises Gone."""
        self._reloaded = asyncio.get_running_loop().create_future()
        await self._connection.send(json_frame({"reload": str(path)}))
        return await self._reloaded

    async def leave(self) -> None:
        """Have the worker unloaded, after the grace that open responses get."""
        with contextlib.suppress(Gone, TimeoutError):
            async with asyncio.timeout(_LEAVE_SECONDS):
                await self._connection.send(json_frame({"leave": True}))
                await self.until_lost()
        await self.close()

    async def close(self) -> None:
        """Hang up."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait([self._reading])
        await self._connection.close()

    async def _read(self) -> None:
        try:
            while True:
                event = await self._next_event()
                if event["event"] == "reloaded" and self._reloaded is not None:
                    self._reloaded.set_result(event["good"])
                    self._reloaded = None
        except (Gone, ProtocolError):
            if self._reloaded is not None:
                self._reloaded.set_exception(Gone())

    async def _next_event(self) -> dict[str, Any]:
        while True:
            kind, payload = await self._connection.receive()
            if kind == JSON:
                return parse_json(payload)
            if kind == OUT:
                text = payload[1:].decode("utf-8", "replace")
                self._log.printed(text, error=payload[:1] == b"e")


async def reach_owner(
    root: Path, about: dict[str, Any], sockets: list[socket.socket], log: LogSink
) -> Guest | None:
    """Ask the owner of a state directory to run this session; None when there is nobody to ask now.

    Args: ``about`` the session; ``sockets`` that listen. Raises OwnerRefused.
    """
    made = connect(root, _HELLO_SECONDS)
    if made is None:
        return None
    hello = json_frame(
        {
            **identity(),
            "purpose": "session",
            "level": log.level,
            "colour": wants_colour(sys.stdout),
            **about,
        }
    )
    try:
        await asyncio.to_thread(send_hello, made, hello, sockets)
    except OSError:
        made.close()
        return None
    made.setblocking(False)
    connection = Connection(*await asyncio.open_unix_connection(sock=made))
    try:
        async with asyncio.timeout(_HELLO_SECONDS):
            answer = await connection.receive_json()
    except (Gone, TimeoutError, ProtocolError):
        await connection.close()
        return None
    if "refused" in answer:
        await connection.close()
        raise OwnerRefused(answer["refused"])
    return Guest(connection, log, answer["pid"])


def about_session(
    configs: list[Path],
    options: dict[str, Any],
    *,
    ip: str,
    host: str | None,
    protocol: str | None,
    test_scheduled: bool,
) -> dict[str, Any]:
    """What an owner has to know about a session.

    Args: ``configs`` the configuration files; ``options`` as they were given to a Pyflare.
    """
    return {
        "configs": [str(path) for path in configs],
        "options": {
            "cwd": os.getcwd(),
            "env": options["env"],
            "env_files": [str(path) for path in options["env_files"]],
            "vars": dict(options["vars"]),
            "overrides": dict(options["overrides"]),
            "environ": dict(os.environ),
        },
        "ip": ip,
        "host": host,
        "upstream_protocol": protocol,
        "test_scheduled": test_scheduled,
    }
