"""A bare ASGI application that sends back what it receives, chunk by chunk."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


async def app(scope: Message, receive: Receive, send: Send) -> None:
    """Echoes the body; a request without one gets an empty answer."""
    if scope["type"] != "http":
        return
    lengths = [pair for pair in scope["headers"] if pair[0] == b"content-length"]
    headers = lengths or [(b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    more = True
    while more:
        message = await receive()
        more = message.get("more_body", False)
        body = message.get("body", b"")
        await send({"type": "http.response.body", "body": body, "more_body": more})
