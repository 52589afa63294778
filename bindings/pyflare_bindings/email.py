"""The owner of everything that workers send by email: nothing leaves the machine."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import apsw

from .clock import Clock
from .storage.errors import StateError
from .storage.row_file import Execute, RowFile
from .storage.sqlite import Durability, make_private_directory

__all__ = ["EmailKind", "EmailOutbox", "StoredEmail"]

#: `sent` through a `send_email` binding; `forwarded` and `replied` by an `email` handler.
EmailKind = Literal["sent", "forwarded", "replied"]

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS messages (
    id INTEGER PRIMARY KEY,
    file TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    worker TEXT NOT NULL,
    message_id TEXT NOT NULL,
    sender TEXT NOT NULL,
    recipients TEXT NOT NULL,
    time REAL NOT NULL
);
"""
_INSERT: Final = (
    "INSERT INTO messages (file, kind, worker, message_id, sender, recipients, time)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_SELECT: Final = (
    "SELECT file, kind, worker, message_id, sender, recipients, time FROM messages ORDER BY id"
)
_CLEAR: Final = "DELETE FROM messages RETURNING file"


@dataclass(slots=True, frozen=True)
class StoredEmail:
    """A message and its envelope.

    `path` is the .eml file; `worker` the name of the worker it came from; `recipients` those of the
    envelope; `time` in seconds since the epoch.
    """

    path: Path
    kind: EmailKind
    worker: str
    message_id: str
    sender: str
    recipients: tuple[str, ...]
    time: float

    async def raw(self) -> bytes:
        """The message, headers and all. Raises StateError when the file is gone."""
        try:
            return await asyncio.to_thread(self.path.read_bytes)
        except OSError as error:
            raise _failure(self.path, "read", error) from error


class EmailOutbox:
    """Messages as .eml files under random names, with their envelopes in a table beside them.

    A file is whole, and synchronised at durability `machine`, before its envelope is stored. Every
    method raises StateError when the files cannot be used and ClosedError after `close`.
    """

    __slots__ = ("_clock", "_durability", "_rows", "directory", "path")

    def __init__(
        self,
        path: Path,
        clock: Clock,
        durability: Durability = "process",
        prepare_file: Callable[[], None] = lambda: None,
    ) -> None:
        self.path = path
        self.directory = path.with_suffix(".messages")
        self._clock = clock
        self._durability = durability
        self._rows = RowFile(path, durability, _SCHEMA, prepare_file, self._remove_unlisted)

    async def store(
        self,
        kind: EmailKind,
        raw: bytes,
        *,
        sender: str,
        recipients: Sequence[str],
        message_id: str,
        worker: str = "",
    ) -> StoredEmail:
        """Keep a message. A caller that is cancelled leaves all of it or nothing."""
        await self._rows.open()
        email = StoredEmail(
            self.directory / f"{secrets.token_hex(16)}.eml",
            kind,
            worker,
            message_id,
            sender,
            tuple(recipients),
            self._clock.now(),
        )
        stored = False

        def committed(_: object) -> None:
            nonlocal stored
            stored = True

        writing = asyncio.ensure_future(asyncio.to_thread(self._write, email.path, raw))
        try:
            await asyncio.shield(writing)
            await self._rows.write(lambda execute: _insert(execute, email), committed)
        finally:
            if not stored:
                await asyncio.wait([writing])
                if writing.exception() is None:
                    await asyncio.to_thread(_remove, email.path)
        return email

    async def messages(self) -> list[StoredEmail]:
        """Every message, oldest first."""
        await self._rows.open()
        try:
            rows: list[Any] = self._rows.read(_SELECT).fetchall()
        except apsw.Error as error:
            raise self._rows.failure(error) from error
        return [
            StoredEmail(
                self.directory / file, kind, worker, message_id, sender, (*json.loads(to),), time
            )
            for file, kind, worker, message_id, sender, to, time in rows
        ]

    async def clear(self) -> None:
        """Remove every message."""
        await self._rows.open()
        removed = await self._rows.write(_clear)
        for file in removed:
            await asyncio.to_thread(_remove, self.directory / file)

    def check_file(self) -> None:
        """See :meth:`pyflare_bindings.storage.row_file.RowFile.check_file`."""
        self._rows.check_file()

    async def close(self) -> None:
        """Close the files. Idempotent."""
        await self._rows.close()

    # On a thread

    def _write(self, path: Path, raw: bytes) -> None:
        make_private_directory(self.directory)
        part = path.with_suffix(".part")
        try:
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(raw)
                if self._durability == "machine":
                    file.flush()
                    os.fsync(descriptor)
            part.rename(path)
            if self._durability == "machine":
                _synchronise(self.directory)
        except OSError as error:
            _remove(part)
            raise _failure(path, "written", error) from error

    def _remove_unlisted(self, execute: Execute) -> None:
        """What a crash left between the file and its row."""
        if not self.directory.is_dir():
            return
        listed = {file for (file,) in execute("SELECT file FROM messages")}
        for path in self.directory.iterdir():
            if path.name not in listed and path.suffix in (".eml", ".part"):
                _remove(path)


def _insert(execute: Execute, email: StoredEmail) -> None:
    execute(
        _INSERT,
        (
            email.path.name,
            email.kind,
            email.worker,
            email.message_id,
            email.sender,
            json.dumps(email.recipients),
            email.time,
        ),
    ).fetchall()


def _clear(execute: Execute) -> list[Any]:
    return [file for (file,) in execute(_CLEAR).fetchall()]


def _synchronise(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(path: Path) -> None:
    # What cannot be removed now is without an entry, and goes at the next start.
    with contextlib.suppress(OSError):
        path.unlink()


def _failure(path: Path, done: str, error: OSError) -> StateError:
    return StateError(
        path,
        f"this message cannot be {done} ({os.strerror(error.errno or 0)})",
        "Check the disk and the permissions of the state directory",
    )
