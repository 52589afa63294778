"""Rewrites one document: calls handlers as the scanner meets what they ask for, and puts the output together.

Source: https://developers.cloudflare.com/workers/runtime-apis/html-rewriter/ and the crate ``lol_html``, ``rewriter``.
"""

from __future__ import annotations

import codecs
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..callbacks import call
from ..readable_controller import chunk_bytes
from .content_tokens import Comment, Doctype, DocumentEnd, Element, EndTag, Text
from .doctype import parse_doctype
from .document_encoding import DocumentEncoding
from .errors import parser_error
from .markup import CommentMarkup, DoctypeMarkup
from .markup import Text as TextMarkup
from .matcher import Closed, Matcher, OpenElement
from .scanner import Scanner, TagMatch
from .selector_syntax import ComplexSelector
from .units import CommentUnit, EndTagUnit, Streamed, TextUnit, Unit, encode_piece

__all__ = ["DocumentHandlers", "ElementHandlers", "Handler", "Rewriter"]

Handler: TypeAlias = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class ElementHandlers:
    """The handlers for the elements that a list of selectors means."""

    selectors: tuple[ComplexSelector, ...]
    element: Handler | None
    comments: Handler | None
    text: Handler | None


@dataclass(frozen=True, slots=True)
class DocumentHandlers:
    """The handlers for a whole document."""

    doctype: Handler | None
    comments: Handler | None
    text: Handler | None
    end: Handler | None


class _ContentHandlers:
    """Handlers for what is inside of elements: each is active while at least one of its elements is open.

    ``active`` are those to call, in the order in which they were registered; ``concerned`` the groups that have one.
    """

    __slots__ = ("_all", "_always", "_users", "active", "concerned")

    def __init__(
        self, of_groups: Iterable[Handler | None], of_document: Iterable[Handler | None]
    ) -> None:
        self._all = list(of_groups)
        self._users = [0] * len(self._all)
        self._always = tuple(handler for handler in of_document if handler is not None)
        self.active: tuple[Handler, ...] = self._always
        self.concerned = {group for group, handler in enumerate(self._all) if handler is not None}

    def count(self, groups: list[int], change: int) -> None:
        """An element that matched these groups was opened (1) or closed (-1)."""
        users = self._users
        for group in groups:
            users[group] += change
        self.active = (
            *(handler for handler, used in zip(self._all, users, strict=True) if used and handler),
            *self._always,
        )


class Rewriter:
    """Feed it with :meth:`write`, finish with :meth:`end`; ``output`` collects the bytes to send on.

    Args: ``waiting`` is called whenever a handler makes the rewriter wait, so that what is there can go; ``room`` waits
    until what is there has gone, while a stream is put in.
    Both methods raise what a handler raises, and TypeError for markup that cannot be rewritten.
    """

    def __init__(
        self,
        elements: list[ElementHandlers],
        documents: list[DocumentHandlers],
        encoding: DocumentEncoding,
        waiting: Callable[[], None],
        room: Callable[[], Awaitable[None]],
    ) -> None:
        self.output: list[bytes] = []
        self._encoding = encoding
        self._waiting = waiting
        self._room = room
        self._scanner = Scanner(
            Matcher([h.selectors for h in elements], encoding) if elements else None
        )
        self._elements = [h.element for h in elements]
        self._comments = _ContentHandlers(
            (h.comments for h in elements), (h.comments for h in documents)
        )
        self._texts = _ContentHandlers((h.text for h in elements), (h.text for h in documents))
        self._doctypes = [h.doctype for h in documents if h.doctype is not None]
        self._ends = [h.end for h in documents if h.end is not None]
        self._handles_content = bool(self._texts.concerned or self._comments.concerned)
        self._scanner.wants_text = bool(self._texts.active)
        self._copied = 0
        self._emitting = True
        self._removing = 0
        self._decoder: codecs.IncrementalDecoder | None = None
        self._in_text = False
        self._text_end = 0

    async def write(self, data: bytes) -> None:
        """Rewrite the next bytes of the document."""
        self._scanner.feed(data)
        await self._process(False)

    async def end(self) -> None:
        """The document is over."""
        self._scanner.feed(b"")
        await self._process(True)
        await self._finish_text()
        for handler in reversed(self._ends):
            # Production calls them from the last to the first.
            await self._call(handler, DocumentEnd._make(self.output.append, self._encoding), 0)

    async def _process(self, final: bool) -> None:
        scanner = self._scanner
        # Text is given out as far as it is known, so it ends where the buffer now begins.
        self._copied = self._text_end = 0
        for markup in scanner.scan(final):
            if isinstance(markup, TextMarkup):
                await self._text(markup.start, markup.end)
                continue
            if self._in_text:
                await self._finish_text()
            if isinstance(markup, OpenElement):
                if markup.groups:
                    await self._open(markup)
            elif isinstance(markup, Closed):
                await self._close(markup.tag, markup.elements)
            elif isinstance(markup, CommentMarkup):
                if self._comments.active:
                    await self._comment(markup)
            elif isinstance(markup, DoctypeMarkup) and self._doctypes:
                await self._doctype(markup)
        self._copy_up_to(len(scanner.buffer) if final else scanner.position)

    def _copy_up_to(self, place: int) -> None:
        """Send on what nobody touched."""
        if self._emitting and place > self._copied:
            self.output.append(self._scanner.buffer[self._copied : place])
        self._copied = place

    def _count_content(self, element: OpenElement, change: int) -> bool:
        """Whether handlers for content start or stop to be active with this element."""
        groups = element.groups
        texts, comments = self._texts, self._comments
        concerned = False
        if texts.concerned and not texts.concerned.isdisjoint(groups):
            texts.count(groups, change)
            self._scanner.wants_text = bool(texts.active)
            concerned = True
        if comments.concerned and not comments.concerned.isdisjoint(groups):
            comments.count(groups, change)
            concerned = True
        return concerned

    async def _open(self, element: OpenElement) -> None:
        if self._handles_content and element.with_content and self._count_content(element, 1):
            element.awaits_end = True
        handlers = self._elements
        unit = element.unit
        start = unit.tag.start()
        if self._removing:
            unit.edits.removed = True
        for group in element.groups:
            handler = handlers[group]
            if handler is not None:
                token = Element._make(element, self._encoding)
                try:
                    result = handler(token)
                    if result is not None:
                        await self._wait_for(result, start)
                finally:
                    token.end_scope()
        if unit.modified:
            await self._emit(unit, start, unit.tag.end())
            if element.removes_content and element.with_content:
                self._removing += 1
                self._emitting = False
        if element.end_edits or element.end_name or element.end_handler or element.removes_content:
            element.awaits_end = True

    async def _close(self, tag: TagMatch, closed: list[OpenElement]) -> None:
        start = tag.start()
        for element in closed:
            if element.awaits_end:
                self._count_content(element, -1)
                if element.removes_content:
                    self._removing -= 1
        if not self._emitting and not self._removing:
            self._emitting = True
            self._copied = start
        unit: EndTagUnit | None = None
        for element in closed:
            if (
                element.end_edits is None
                and element.end_name is None
                and element.end_handler is None
            ):
                continue
            if unit is None:
                unit = EndTagUnit(tag, self._encoding)
            if element.end_name is not None:
                unit.set_encoded_name(element.end_name)
            if element.end_edits is not None:
                # Where one end tag closes several elements, production keeps the edits of the outermost.
                unit.adopt(element.end_edits)
            if element.end_handler is not None:
                await self._call(element.end_handler, EndTag._make(unit, self._encoding), start)
        if unit is not None and unit.modified:
            await self._emit(unit, start, tag.end())

    async def _comment(self, markup: CommentMarkup) -> None:
        buffer = self._scanner.buffer
        unit = CommentUnit(
            buffer[markup.start : markup.end],
            buffer[markup.text_start : markup.text_end],
            self._encoding,
        )
        for handler in self._comments.active:
            await self._call(handler, Comment._make(unit, self._encoding), markup.start)
        if unit.modified:
            await self._emit(unit, markup.start, markup.end)

    async def _doctype(self, markup: DoctypeMarkup) -> None:
        parts = parse_doctype(self._scanner.buffer[markup.start : markup.end], self._encoding)
        for handler in self._doctypes:
            await self._call(handler, Doctype._make(parts, self._encoding), markup.start)

    async def _text(self, start: int, end: int) -> None:
        raw = self._scanner.buffer[start:end]
        self._in_text = True
        decoder = self._decoder
        text = _decode_whole(raw, self._encoding) if decoder is None else None
        if text is not None:
            await self._give_text(TextUnit(text, False, raw, self._encoding), start, end)
            return
        if decoder is None:
            self._decoder = decoder = self._encoding.decoder()
        # From here on the bytes are those of the decoded text, so that a character cut in two goes out in one piece.
        self._copy_up_to(start)
        self._copied = self._text_end = end
        text = decoder.decode(raw)
        if text:
            await self._give_text(TextUnit(text, False, None, self._encoding), end, end)

    async def _finish_text(self) -> None:
        """The text node is over: its handlers learn that by a last piece, which is empty as a rule."""
        if not self._in_text:
            return
        self._in_text = False
        decoder, self._decoder = self._decoder, None
        if decoder is None:
            unit = TextUnit("", True, b"", self._encoding)
        else:
            unit = TextUnit(decoder.decode(b"", True), True, None, self._encoding)
        await self._give_text(unit, self._text_end, self._text_end)

    async def _give_text(self, unit: TextUnit, start: int, end: int) -> None:
        self._text_end = end
        for handler in self._texts.active:
            await self._call(handler, Text._make(unit, self._encoding), start)
        if unit.modified:
            await self._emit(unit, start, end)

    async def _call(self, handler: Handler, token: Any, start: int) -> None:
        try:
            result = handler(token)
            if result is not None:
                await self._wait_for(result, start)
        finally:
            token.end_scope()

    async def _wait_for(self, result: Any, start: int) -> None:
        """Wait for a handler; what stands before this place in the buffer can go out in the meantime."""
        if hasattr(result, "__await__"):
            self._copy_up_to(start)
            self._waiting()
            await call(lambda: result)

    async def _emit(self, unit: Unit, start: int, end: int) -> None:
        """Put what a unit has become in the place of what stands in the buffer."""
        self._copy_up_to(start)
        self._copied = end
        if not self._emitting:
            return
        edits = unit.made_edits
        if edits is None:
            self.output.append(unit.serialise())
            return
        own = edits.replacement if edits.removed else [unit.serialise()]
        for piece in (*edits.before, *own, *edits.after):
            if isinstance(piece, Streamed):
                await self._emit_stream(piece)
            elif piece:
                self.output.append(piece)

    async def _emit_stream(self, streamed: Streamed) -> None:
        """Read a stream of UTF-8 into the output. Raises: TypeError for other bytes, what the stream fails with."""
        decoder = codecs.getincrementaldecoder("utf-8")("strict")
        self._waiting()
        async for chunk in streamed.stream.iterate_bytes():
            try:
                text = decoder.decode(bytes(chunk_bytes(chunk)))
            except UnicodeDecodeError:
                raise parser_error("Invalid UTF-8") from None
            if text:
                self.output.append(encode_piece(text, streamed.html, self._encoding))
                await self._room()
        if decoder.getstate()[0]:
            self.output.append(self._encoding.encode("\ufffd"))


def _decode_whole(raw: bytes, encoding: DocumentEncoding) -> str | None:
    """The text of bytes that say the same when encoded again, None when they may not or end within a character."""
    if raw.isascii():
        return raw.decode("ascii")
    if encoding.name != "utf-8":
        return None
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None
