"""What travels over an owner's private socket: frames of one kind, one length and that many bytes.

A connection begins with the client's hello, which names the version of this protocol and who is asking, and the owner's
answer. Then requests follow one after the other: a JSON object, a body in pieces, its end; and the same back. A peer
that closes the connection in between has ended.
"""

from __future__ import annotations

import json
import os
import platform
import struct
import sys
from pathlib import Path
from typing import Any, Final

__all__ = [
    "BODY",
    "END",
    "ERROR",
    "HEAD",
    "JSON",
    "LONGEST",
    "OUT",
    "VERSION",
    "ProtocolError",
    "error_frame",
    "frame",
    "identity",
    "json_frame",
    "parse_head",
    "parse_json",
    "same_interpreter",
]

#: Raised with every change that an older process would misunderstand.
VERSION: Final = 1

HEAD: Final = struct.Struct(">cI")
#: A request or an answer, an event of a session.
JSON: Final = b"j"
#: A piece of a body, and its end.
BODY: Final = b"b"
END: Final = b"e"
#: The request failed: why, for a person.
ERROR: Final = b"x"
#: A line for a joined session's terminal: one byte for the stream, then the text.
OUT: Final = b"o"

#: Bytes that one frame may have. The longest are results of SQL and bulk writes.
LONGEST: Final = 512 * 1024 * 1024


class ProtocolError(Exception):
    """The peer does not speak this protocol."""


def frame(kind: bytes, payload: bytes | memoryview = b"") -> bytes:
    """A whole frame. Raises :class:`ProtocolError` for a payload that is too long."""
    if len(payload) > LONGEST:
        raise ProtocolError(
            f"{len(payload)} bytes at once are more than the {LONGEST} that can be passed on. Ask for less at a time."
        )
    return HEAD.pack(kind, len(payload)) + payload


def json_frame(value: Any) -> bytes:
    """A frame with a JSON value; texts of any kind survive, lone surrogates too."""
    return frame(JSON, json.dumps(value, separators=(",", ":")).encode())


def error_frame(text: str, statement: int | None = None) -> bytes:
    """A frame that says why a request failed, and at which SQL statement of it, counted from 0."""
    return frame(ERROR, json.dumps({"text": text, "statement": statement}).encode())


def parse_head(head: bytes) -> tuple[bytes, int]:
    """Kind and length. Raises :class:`ProtocolError`."""
    kind, length = HEAD.unpack(head)
    if kind not in (JSON, BODY, END, ERROR, OUT) or length > LONGEST:
        raise ProtocolError("what was received is no frame of this protocol")
    return kind, length


def parse_json(payload: bytes) -> dict[str, Any]:
    """A JSON object. Raises :class:`ProtocolError`."""
    try:
        value = json.loads(payload)
    except ValueError as error:
        raise ProtocolError(f"what was received is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise ProtocolError("what was received is no JSON object")
    return value


def identity() -> dict[str, Any]:
    """What a process tells about itself: protocol, process id, interpreter, environment and installation."""
    return {
        "protocol": VERSION,
        "pid": os.getpid(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "environment": sys.prefix,
        "installation": str(Path(__file__).parent.parent),
    }


def same_interpreter(owner: dict[str, Any], other: dict[str, Any]) -> str | None:
    """Why code of the one cannot run in the other, or None when it can."""
    for key, word in (
        ("python", "interpreter"),
        ("environment", "environment"),
        ("installation", "pyflare"),
    ):
        if owner[key] != other.get(key):
            return f"it runs with another {word} ({owner[key]}; here {other.get(key)})"
    return None
