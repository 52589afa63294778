"""Static assets over HTTP: in front of the Worker, or in its place."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Final

from pyflare.assets.contents import FileBody
from pyflare.assets.site import Answer, Asked, Site

from .contracts import HeaderPairs, Scope, Send
from .inbound import Inbound, Upstream
from .outbound import REASONS, ResponseAborted, mapped_outward, send_body

__all__ = ["answered_by_assets"]

#: (method, path, status, reason, milliseconds) of an answered request.
_Log = Callable[[str, str, int, str, float], None]

_NO_LENGTH: Final = frozenset((204, 304))


async def answered_by_assets(
    site: Site, scope: Scope, send: Send, inbound: Inbound, upstream: Upstream | None, log: _Log
) -> bool:
    """Send the answer of a worker's assets; false, with nothing sent, when the Worker is to answer.

    Raises :class:`ResponseAborted` when a file cannot be read to its end.
    """
    began = perf_counter()
    method: str = scope["method"]
    query = inbound.url.partition("?")[2]
    asked = Asked.read(method, inbound.url, inbound.path, query, scope["headers"])
    root_path = scope.get("root_path")
    if root_path:
        from .mounted import mount_path

        asked.mount = mount_path(root_path).decode("ascii")
    answer = await site.answer(asked)
    if answer is None:
        return False
    headers = _pairs(answer)
    if upstream is not None:
        headers = mapped_outward(headers, upstream, inbound.host)
    if root_path:
        from .mounted import prefixed

        headers = prefixed(headers, root_path, inbound.host)
    body = answer.body
    try:
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        reason, milliseconds = REASONS.get(answer.status, ""), (perf_counter() - began) * 1000
        log(method, inbound.path, answer.status, reason, milliseconds)
        if isinstance(body, FileBody):
            try:
                await send_body(send, body)
            except OSError as error:
                raise ResponseAborted(f"{inbound.path}: {error}") from error
        else:
            await send({"type": "http.response.body", "body": body or b"", "more_body": False})
    finally:
        if isinstance(body, FileBody):
            body.close()
    return True


def _pairs(answer: Answer) -> HeaderPairs:
    pairs = [(name.encode("ascii"), value.encode("utf-8")) for name, value in answer.headers]
    if answer.status not in _NO_LENGTH:
        pairs.append((b"content-length", b"%d" % answer.length))
    return pairs
