"""A bare ASGI application: the least that uvicorn can be asked to do for these answers."""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

HELLO = b"Hello, World!"
TEXT = (b"content-type", b"text/plain;charset=UTF-8")
JSON = (b"content-type", b"application/json")


async def app(scope: Message, receive: Receive, send: Send) -> None:
    """Answers `GET /` with a greeting and `POST /echo` with the JSON value it was sent."""
    if scope["type"] != "http":
        return
    if scope["path"] == "/echo":
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body", False):
                break
        content, kind = json.dumps(json.loads(body)).encode(), JSON
    else:
        content, kind = HELLO, TEXT
    length = (b"content-length", str(len(content)).encode())
    await send({"type": "http.response.start", "status": 200, "headers": [length, kind]})
    await send({"type": "http.response.body", "body": content})
