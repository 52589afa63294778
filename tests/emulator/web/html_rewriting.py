"""Rewriting a document in one call, for the tests of HTMLRewriter."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any

from pyflare.js.html_rewriter import HTMLRewriter
from pyflare.js.readable import ReadableStream
from pyflare.js.response import Response


async def rewrite(
    rewriter: HTMLRewriter, chunks: Iterable[bytes], content_type: str = "text/html"
) -> bytes:
    """The rewritten document, whose bytes come in these chunks."""

    async def generate() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    response = Response.new(
        ReadableStream.from_async_iterator(generate()),
        headers={"content-type": content_type}.items(),
    )
    return (await rewriter.transform(response).bytes()).to_bytes()  # type: ignore[no-any-return]


def rewritten(document: str, *rules: tuple[str, Any], of_document: Any = None) -> str:
    """The document after the handlers of these ``(selector, handlers)``."""
    rewriter = HTMLRewriter.new()
    for selector, handlers in rules:
        rewriter.on(selector, handlers if not callable(handlers) else {"element": handlers})
    if of_document is not None:
        rewriter.onDocument(of_document)
    return asyncio.run(rewrite(rewriter, [document.encode()])).decode()
