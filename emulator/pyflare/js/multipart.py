"""Reading and writing ``multipart/form-data``.

Source: https://www.rfc-editor.org/rfc/rfc7578, https://html.spec.whatwg.org/#multipart-form-data and workerd
``api/form-data.c++``, whose error texts these are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from .error import TypeError_

__all__ = ["Part", "encode_multipart", "parse_multipart"]

_HEADER_END: Final = re.compile(rb"\r?\n\r?\n")
_PARAMETER: Final = re.compile(
    r'\s*;\s*(?P<name>[A-Za-z0-9_\-]+)\s*=\s*"(?P<quoted>(?:[^"\\\n]|\\[^\n])+)"\s*', re.ASCII
)
_LINE_END: Final = re.compile("\r?\n")
_BACKSLASH: Final = re.compile(r"\\(.)")
_DISPOSITION: Final = re.compile(r"\s*(?P<kind>[A-Za-z0-9_\-]+)\s*")


@dataclass(frozen=True, slots=True)
class Part:
    """One field. ``filename`` is None for a plain value; ``content_type`` is empty when the part names none."""

    name: str
    data: bytes | memoryview
    filename: str | None = None
    content_type: str = ""


def encode_multipart(parts: Iterable[Part], boundary: str) -> bytes:
    """The body for these fields. Raises: TypeError for a name that ends with a backslash."""
    pieces: list[bytes | memoryview] = []
    for part in parts:
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{_quoted(part.name)}"'
        if part.filename is not None:
            kind = part.content_type or "application/octet-stream"
            head += f'; filename="{_quoted(part.filename)}"\r\nContent-Type: {kind}'
        pieces += (head.encode(), b"\r\n\r\n", part.data, b"\r\n")
    pieces.append(f"--{boundary}--".encode())
    return b"".join(pieces)


def _quoted(name: str) -> str:
    if name.endswith("\\"):
        raise TypeError_("Name or filename can't end with backslash")
    return name.replace("\\", "\\\\").replace('"', "%22").replace("\n", "%0A")


def parse_multipart(body: bytes | memoryview, boundary: str) -> Iterator[Part]:
    """The fields of a body, in order. Raises: TypeError that says what is broken."""
    data = body if isinstance(body, bytes) else bytes(body)
    mark = b"--" + boundary.encode()
    position = data.find(mark)
    if position < 0:
        raise TypeError_("No initial boundary string (or you have a truncated message).")
    position += len(mark)
    if position == len(data):
        raise TypeError_("No initial boundary string (or you have a truncated message).")
    delimiter = b"\n" + mark
    while True:
        if data.startswith(b"\r\n", position):
            position += 2
        elif data.startswith(b"\n", position):
            position += 1
        elif data.startswith(b"--", position):
            return
        else:
            raise TypeError_("Boundary string was not succeeded by CRLF, LF, or '--'.")
        found = _HEADER_END.search(data, position)
        if found is None:
            raise TypeError_("No multipart message header termination found.")
        name, filename, content_type = _read_headers(data[position : found.start()])
        start = found.end()
        end = data.find(delimiter, start)
        if end < 0 or end + len(delimiter) == len(data):
            raise TypeError_("No subsequent boundary string after multipart message.")
        position = end + len(delimiter)
        if end > start and data[end - 1] == 0x0D:
            end -= 1
        yield Part(name, data[start:end], filename, content_type)


def _read_headers(block: bytes) -> tuple[str, str | None, str]:
    fields: dict[str, str] = {}
    for line in _LINE_END.split(block.decode("utf-8", "replace")):
        name, colon, value = line.partition(":")
        if not colon or not name.strip(" \t"):
            raise TypeError_("FormData part had invalid headers.")
        fields[name.strip(" \t").lower()] = value.strip(" \t")
    disposition = fields.get("content-disposition")
    if disposition is None:
        raise TypeError_("No valid Content-Disposition header found in FormData part.")
    name, filename = _read_disposition(disposition)
    return name, filename, fields.get("content-type", "")


def _read_disposition(value: str) -> tuple[str, str | None]:
    kind = _DISPOSITION.match(value)
    if kind is None:
        raise TypeError_("Invalid Content-Disposition header found in FormData part.")
    if kind["kind"] != "form-data":
        raise TypeError_(
            'Content-Disposition header for FormData part must have the value "form-data", possibly followed by '
            f'parameters. Got: "{kind["kind"]}"'
        )
    parameters: dict[str, str] = {}
    position = kind.end()
    # As in the runtime, the first parameter that is empty, malformed or not quoted ends the list: a file input
    # without a file (`filename=""`) is a plain empty value.
    while (found := _PARAMETER.match(value, position)) is not None:
        parameters[found["name"]] = _BACKSLASH.sub(r"\1", found["quoted"])
        position = found.end()
    if "name" not in parameters:
        raise TypeError_("Content-Disposition header in FormData part is missing a name.")
    return parameters["name"], parameters.get("filename")
