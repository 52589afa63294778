"""A bare ASGI application that stores one body: hashed, written and synchronised, then read back."""

import hashlib
import os
import tempfile
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

CHUNK_BYTES = 256 * 1024
STORE = Path(os.environ.get("BENCHMARK_STORE") or tempfile.gettempdir()) / "bare-object"


async def app(scope: Message, receive: Receive, send: Send) -> None:
    """`PUT /object` stores the body and answers its MD5; `GET /object` sends it; anything else is empty."""
    if scope["type"] != "http":
        return
    if scope["path"] != "/object":
        await _answer(send, b"")
    elif scope["method"] == "PUT":
        await _answer(send, await _store(receive))
    else:
        await _send(send)


async def _store(receive: Receive) -> bytes:
    digest = hashlib.md5()
    part = STORE.with_suffix(".part")
    with part.open("wb", buffering=0) as file:
        while True:
            message = await receive()
            chunk = message.get("body", b"")
            digest.update(chunk)
            file.write(chunk)
            if not message.get("more_body", False):
                break
        os.fsync(file.fileno())
    part.rename(STORE)
    return digest.hexdigest().encode()


async def _send(send: Send) -> None:
    with STORE.open("rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        await _start(send, size)
        while chunk := file.read(CHUNK_BYTES):
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _answer(send: Send, content: bytes) -> None:
    await _start(send, len(content))
    await send({"type": "http.response.body", "body": content})


async def _start(send: Send, length: int) -> None:
    headers = [(b"content-length", str(length).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
