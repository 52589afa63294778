"""Which file holds which resource.

    <root>/v1/<kind>/manifest.jsonl
    <root>/v1/<kind>/<readable part>-<hash of the id>.sqlite

An id is a user's text and never a path: the name comes from its SHA-256, with the harmless
characters of the id in front for people. The manifest says which file belongs to which id.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .errors import file_error
from .sqlite import Durability, make_private_directory

_LAYOUT_VERSION = "v1"
_READABLE_LENGTH = 40
_HASH_LENGTH = 32


class StoredResource(NamedTuple):
    """One entry of a manifest."""

    kind: str
    id: str
    path: Path


def file_name(id: str, suffix: str) -> str:
    """The name of the file for an id: the same id always, and no two ids, give the same name."""
    readable = re.sub(r"[^a-z0-9]+", "-", id.lower())[:_READABLE_LENGTH].strip("-")
    digest = hashlib.sha256(id.encode(errors="surrogatepass")).hexdigest()[:_HASH_LENGTH]
    return f"{readable}-{digest}{suffix}" if readable else f"{digest}{suffix}"


class StateLayout:
    """The files below one state directory.

    At durability `machine` an entry of a manifest is on the disk before its file is created.
    """

    __slots__ = ("_durability", "root")

    def __init__(self, root: Path, durability: Durability = "process") -> None:
        self.root = root
        self._durability = durability

    def directory(self, kind: str) -> Path:
        """Where the files of one kind of resource are."""
        return self.root / _LAYOUT_VERSION / kind

    def database(self, kind: str, id: str) -> Path:
        """The SQLite file of a resource; nothing is created."""
        return self.directory(kind) / file_name(id, ".sqlite")

    def record(self, kind: str, id: str, path: Path) -> None:
        """Enter a resource into the manifest before its file is created. Raises StateError."""
        if path.exists():
            return
        directory = self.directory(kind)
        make_private_directory(directory)
        manifest = directory / "manifest.jsonl"
        # The line break comes first, so that a line cut off by a crash spoils no other.
        line = "\n" + json.dumps({"id": id, "file": path.name}) + "\n"
        try:
            descriptor = os.open(manifest, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(descriptor, line.encode())
                if self._durability == "machine":
                    os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise file_error(
                manifest,
                "the manifest cannot be written",
                error,
                "Make the state directory writable, or choose another one",
            ) from error

    def stored(self, kind: str) -> Iterator[StoredResource]:
        """The resources of a kind whose files exist, in the order in which they were created."""
        directory = self.directory(kind)
        try:
            text = (directory / "manifest.jsonl").read_text("utf-8", errors="replace")
        except FileNotFoundError:
            return
        seen = set()
        for line in text.splitlines():
            try:
                entry = json.loads(line)
                id, path = entry["id"], directory / entry["file"]
            except (ValueError, TypeError, KeyError):
                continue
            if id not in seen and path.name == entry["file"] and path.exists():
                seen.add(id)
                yield StoredResource(kind, id, path)
