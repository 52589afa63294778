"""``env.ASSETS``: the Worker's own assets, asked in code.

Source: https://developers.cloudflare.com/workers/static-assets/binding/
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyflare.assets.contents import FileBody
from pyflare.assets.site import Answer, Asked, Site
from pyflare.js.byte_sources import ContentSource
from pyflare.js.error import TypeError_
from pyflare.js.fetcher import Channel
from pyflare.js.request import Request
from pyflare.js.response import Response

__all__ = ["AssetsChannel", "AssetsFirst"]


class AssetsChannel:
    """The way from a fetcher to the assets: the host of the address does not count, and the Worker is never asked."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def fetch(self, request: Request) -> Response:
        """The answer of the assets: a file, a redirect, or what the configuration says of missing ones."""
        return _response(await self._site.fetch(_asked(request)), request)

    async def call(self, path: tuple[str, ...], arguments: Sequence[Any] | None) -> Any:
        """Refused: the assets have no methods."""
        raise TypeError_(f'The RPC receiver does not implement the method "{path[-1]}".')


class AssetsFirst:
    """The way to a Worker that has assets, from another Worker: requests meet them first, as those of clients do."""

    def __init__(self, site: Callable[[], Site | None], worker: Channel) -> None:
        self._site = site
        self._worker = worker

    async def fetch(self, request: Request) -> Response:
        """The answer of the assets or else of the Worker."""
        site = self._site()
        answer = None if site is None else await site.answer(_asked(request))
        return await self._worker.fetch(request) if answer is None else _response(answer, request)

    async def call(self, path: tuple[str, ...], arguments: Sequence[Any] | None) -> Any:
        """A call goes to the Worker."""
        return await self._worker.call(path, arguments)


def _asked(request: Request) -> Asked:
    from ada_url import URL

    url = URL(request.url)
    headers = [(name.lower(), value) for name, value in request.wire_headers()]
    return Asked.read(
        request.method, request.url, url.pathname, url.search.removeprefix("?"), headers
    )


def _response(answer: Answer, request: Request) -> Response:
    return Response.from_wire(
        answer.status, "", _pairs(answer), _source(answer), url=request.url.partition("#")[0]
    )


def _pairs(answer: Answer) -> list[tuple[bytes, bytes]]:
    pairs = [(name.encode("ascii"), value.encode("utf-8")) for name, value in answer.headers]
    if answer.body is None and answer.length:
        # The answer to HEAD says how long that to GET is.
        pairs.append((b"content-length", b"%d" % answer.length))
    return pairs


def _source(answer: Answer) -> FileBody | ContentSource | None:
    body = answer.body
    return ContentSource(body) if isinstance(body, bytes) else body
