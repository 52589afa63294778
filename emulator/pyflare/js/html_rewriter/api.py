"""``HTMLRewriter``: the builder that workers use, and the body that it makes.

Source: https://developers.cloudflare.com/workers/runtime-apis/html-rewriter/ and workerd ``api/html-rewriter.c++``.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, Final

from ..body import BODY_USED
from ..callbacks import FAILURES, CallbackScope
from ..error import TypeError_
from ..mime import MediaType
from ..readable import ReadableStream
from ..readers import LOCKED, ByteIterator
from ..response import Response
from ..value import JsInstance, get_property, is_nullish
from ..webidl import text
from .document_encoding import DocumentEncoding
from .rewriter import DocumentHandlers, ElementHandlers, Handler, Rewriter
from .selector_syntax import parse_selectors

__all__ = ["HTMLRewriter"]

#: The most bytes that are rewritten before the event loop has a turn.
_PIECE: Final = 64 * 1024


class HTMLRewriter(JsInstance, js_name="HTMLRewriter"):
    """``HTMLRewriter.new().on(selector, handlers).onDocument(handlers).transform(response)``.

    Handlers are objects (or dicts) with ``element``, ``comments``, ``text``, for documents ``doctype``, ``comments``,
    ``text``, ``end``; functions, sync or async. One rewriter may transform any number of responses.
    """

    def __init__(self) -> None:
        self._elements: list[ElementHandlers] = []
        self._documents: list[DocumentHandlers] = []

    @classmethod
    def _construct(cls, *_: Any) -> Any:
        return cls._make()

    def on(self, selector: Any = None, handlers: Any = None) -> HTMLRewriter:
        """Handle the elements that a selector means. Raises: TypeError for a selector that is not supported."""
        found = _handlers(
            "on", 2, "ElementContentHandlers", handlers, "element", "comments", "text"
        )
        self._elements.append(ElementHandlers(parse_selectors(text(selector)), *found))
        return self

    def onDocument(self, handlers: Any = None) -> HTMLRewriter:
        """Handle the document."""
        found = _handlers(
            "onDocument",
            1,
            "DocumentContentHandlers",
            handlers,
            "doctype",
            "comments",
            "text",
            "end",
        )
        self._documents.append(DocumentHandlers(*found))
        return self

    def transform(self, response: Any = None) -> Response:
        """A response like the given one whose body is the rewritten one. Nothing happens before that is read.

        The given response is used up by it; one without a body is given back. The charset of the content type is the
        document's, else UTF-8.
        Raises: TypeError for an error response, a body that was used before and a charset that is not supported.
        """
        if not isinstance(response, Response):
            raise TypeError_(
                "Failed to execute 'transform' on 'HTMLRewriter': parameter 1 is not of type 'Response'."
            )
        if response.type == "error":
            raise TypeError_("HTMLRewriter cannot transform an error response")
        if not response._has_body():
            return response
        if response.bodyUsed:
            raise TypeError_(BODY_USED)
        content_type = MediaType.parse(response.headers.lookup("content-type") or "")
        charset = content_type.parameters.get("charset") if content_type is not None else None
        encoding = DocumentEncoding.for_label("utf-8" if charset is None else charset)
        if response.body.locked:
            raise TypeError_(LOCKED)
        transformed = Response.new(None, response)
        source = RewrittenBody(
            self._elements, self._documents, encoding, response.body.iterate_bytes()
        )
        transformed._take_body(ReadableStream.from_source(source))
        transformed.headers.delete("content-length")
        return transformed


def _handlers(
    method: str, place: int, kind: str, handlers: Any, *names: str
) -> list[Handler | None]:
    """The functions of a handler object, in this order."""
    if is_nullish(handlers) or isinstance(handlers, bool | int | float | str):
        raise TypeError_(
            f"Failed to execute '{method}' on 'HTMLRewriter': parameter {place} is not of type '{kind}'."
        )
    functions: list[Handler | None] = []
    for name in names:
        function = get_property(handlers, name)
        if function is not None and not callable(function):
            raise TypeError_(
                f"Incorrect type for the '{name}' field on '{kind}': the provided value is not of type 'function'."
            )
        functions.append(function)
    return functions


class RewrittenBody:
    """The rewritten bytes as a source that is read on demand.

    Handlers run in a task with the context of whoever called ``transform``, one piece of the input at a time. While
    one waits, what is finished before it can be read already.
    """

    length: int | None = None

    def __init__(
        self,
        elements: list[ElementHandlers],
        documents: list[DocumentHandlers],
        encoding: DocumentEncoding,
        chunks: ByteIterator,
    ) -> None:
        self._rewriter = Rewriter(
            list(elements), list(documents), encoding, self._wake_reader, self._wait_for_room
        )
        self._chunks = chunks
        self._scope = CallbackScope()
        self._rest: bytes | memoryview = b""
        self._step: asyncio.Task[None] | None = None
        self._reader: asyncio.Future[None] | None = None
        self._drained: asyncio.Future[None] | None = None
        self._finished = False

    async def read(self) -> bytes:
        """The next bytes, ``b""`` at the end. Raises: what a handler or the input raises."""
        output = self._rewriter.output
        while not output:
            step = self._step
            if step is not None and step.done():
                self._step = None
                step.result()
            elif self._finished:
                return b""
            else:
                if step is None:
                    self._step = step = self._scope.spawn(self._advance())
                    step.add_done_callback(self._step_over)
                self._reader = asyncio.get_running_loop().create_future()
                await self._reader
        data = b"".join(output)
        output.clear()
        _settle(self._drained)
        return data

    def _step_over(self, step: asyncio.Task[None]) -> None:
        if not step.cancelled():
            # That marks a failure as seen: whoever reads on gets it.
            step.exception()
        self._wake_reader()

    async def _wait_for_room(self) -> None:
        """Wait until the reader has taken what there is."""
        self._wake_reader()
        if self._rewriter.output:
            self._drained = asyncio.get_running_loop().create_future()
            await self._drained

    def _wake_reader(self) -> None:
        _settle(self._reader)

    async def _advance(self) -> None:
        """Rewrite one piece of the input."""
        try:
            if self._rest:
                piece = self._next_piece()
            else:
                chunk = await anext(self._chunks, None)
                if chunk is None:
                    await self._rewriter.end()
                    self._finished = True
                    return
                self._rest = chunk
                piece = self._next_piece()
            await self._rewriter.write(piece)
        except FAILURES as error:
            self._finished = True
            with contextlib.suppress(Exception):
                await self._chunks.aclose(error)
            raise

    def _next_piece(self) -> bytes:
        rest = self._rest
        if len(rest) <= _PIECE:
            self._rest = b""
            return rest if type(rest) is bytes else bytes(rest)
        view = memoryview(rest)
        self._rest = view[_PIECE:]
        return bytes(view[:_PIECE])

    async def cancel(self, reason: Any) -> None:
        """Nobody wants the rest: the running handler is stopped and the input cancelled."""
        step, self._step = self._step, None
        self._finished = True
        if step is not None and not step.done() and step is not asyncio.current_task():
            step.cancel()
            await asyncio.wait([step])
        await self._chunks.aclose(reason)


def _settle(future: asyncio.Future[None] | None) -> None:
    if future is not None and not future.done():
        future.set_result(None)
