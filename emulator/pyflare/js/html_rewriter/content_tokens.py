"""What handlers receive: elements, end tags, text, comments, the doctype, the end of the document.

A token is good while its handler runs, an asynchronous one until it is finished; used later it raises a TypeError.

Source: https://developers.cloudflare.com/workers/runtime-apis/html-rewriter/ and workerd ``api/html-rewriter.c++``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, Generic, TypeVar

from ..array import JsArray
from ..error import Error, TypeError_
from ..readable import ReadableStream
from ..response import Response
from ..value import JsInstance, JsObject, get_property
from ..webidl import null, text
from .doctype import Doctype as DoctypeParts
from .document_encoding import DocumentEncoding
from .errors import parser_error
from .matcher import OpenElement
from .units import CommentUnit, Edits, EndTagUnit, Piece, Streamed, TextUnit, encode_piece

__all__ = ["Comment", "Doctype", "DocumentEnd", "Element", "EndTag", "Text"]

T = TypeVar("T")

_INVALID: Final = (
    "This content token is no longer valid. Content tokens are only valid during the execution of the relevant content "
    "handler."
)
_STREAM_IN_COMMENT: Final = (
    "Replacing content in HTML comments using a ReadableStream or Response object is not implemented. You must provide "
    "a string."
)
_MODIFIED: Final = (
    "The attributes of this element have been modified during iteration. You must create a new iterator after "
    "modifying attributes."
)


class _Token(JsInstance, Generic[T], js_name="Object"):
    """A view of something in the document; :meth:`end_scope` cuts it off."""

    _subject: T | None

    def __init__(self, subject: T, encoding: DocumentEncoding) -> None:
        self._subject = subject
        self._encoding = encoding

    def _live(self) -> T:
        subject = self._subject
        if subject is None:
            raise TypeError_(_INVALID)
        return subject

    def end_scope(self) -> None:
        """The handler is over."""
        self._subject = None

    def _piece(self, content: Any, options: Any, members: dict[str, Any]) -> Piece | None:
        """The content argument of an edit, None when there is nothing to put in."""
        html = bool(get_property(members if options is None else options, "html"))
        if isinstance(content, Response):
            if not content._has_body():
                return None
            content = content.body
        if isinstance(content, ReadableStream):
            return Streamed(content, html)
        return encode_piece(text(content), html, self._encoding)

    def _string(self, content: Any, options: Any, members: dict[str, Any]) -> bytes:
        """The content argument where only strings are taken."""
        if isinstance(content, ReadableStream | Response):
            raise TypeError_(_STREAM_IN_COMMENT)
        piece = self._piece(content, options, members)
        assert isinstance(piece, bytes)
        return piece


def _put(pieces: list[Piece], piece: Piece | None, *, first: bool = False) -> None:
    if piece is not None:
        pieces.insert(0 if first else len(pieces), piece)


class Element(_Token[OpenElement], js_name="Element"):
    """An element, at its start tag. Methods that change it give the element, so that calls can be chained."""

    _iterators: list[AttributesIterator] | None = None

    @property
    def tagName(self) -> str:
        return self._live().unit.name

    @tagName.setter
    def tagName(self, name: Any) -> None:
        """Raises: TypeError for what is no tag name."""
        element = self._live()
        encoded = element.unit.rename(text(name))
        if element.with_content:
            element.end_name = encoded

    @property
    def namespaceURI(self) -> str:
        return self._live().namespace

    @property
    def removed(self) -> bool:
        return self._live().unit.removed

    @property
    def attributes(self) -> AttributesIterator:
        """An iterator of ``[name, value]``; it fails once an attribute was changed."""
        iterator: AttributesIterator = AttributesIterator._make(self._live().unit.attribute_pairs())
        if self._iterators is None:
            self._iterators = []
        self._iterators.append(iterator)
        return iterator

    def getAttribute(self, name: Any = None) -> Any:
        """The value as the document writes it, character references and all; null when absent."""
        value = self._live().unit.get_attribute(text(name))
        return null() if value is None else value

    def hasAttribute(self, name: Any = None) -> bool:
        return self._live().unit.get_attribute(text(name)) is not None

    def setAttribute(self, name: Any = None, value: Any = None, *_: Any) -> Element:
        """Raises: TypeError for what is no attribute name."""
        self._live().unit.set_attribute(text(name), text(value))
        self._end_iterators(_MODIFIED)
        return self

    def removeAttribute(self, name: Any = None) -> Element:
        self._live().unit.remove_attribute(text(name))
        self._end_iterators(_MODIFIED)
        return self

    def _end_iterators(self, why: str) -> None:
        for iterator in self._iterators or ():
            iterator.stop(why)

    def end_scope(self) -> None:
        self._subject = None
        if self._iterators is not None:
            self._end_iterators(_INVALID)

    def before(self, content: Any = None, options: Any = None, **members: Any) -> Element:
        """Put content before the start tag."""
        edits = self._live().unit.edits
        _put(edits.before, self._piece(content, options, members))
        return self

    def after(self, content: Any = None, options: Any = None, **members: Any) -> Element:
        """Put content after the end tag."""
        element = self._live()
        edits = _end_edits(element) if element.with_content else element.unit.edits
        _put(edits.after, self._piece(content, options, members), first=True)
        return self

    def prepend(self, content: Any = None, options: Any = None, **members: Any) -> Element:
        """Put content after the start tag. Nothing happens to an element that can have no content."""
        element = self._live()
        piece = self._piece(content, options, members)
        if element.with_content and piece is not None:
            element.unit.keeps_slash = False
            _put(element.unit.edits.after, piece, first=True)
        return self

    def append(self, content: Any = None, options: Any = None, **members: Any) -> Element:
        """Put content before the end tag. Nothing happens to an element that can have no content."""
        element = self._live()
        piece = self._piece(content, options, members)
        if element.with_content and piece is not None:
            element.unit.keeps_slash = False
            _put(_end_edits(element).before, piece)
        return self

    def setInnerContent(self, content: Any = None, options: Any = None, **members: Any) -> Element:
        """Replace what is in the element. Nothing happens to an element that can have no content."""
        element = self._live()
        piece = self._piece(content, options, members)
        if element.with_content and piece is not None:
            element.unit.keeps_slash = False
            _remove_content(element)
            _put(element.unit.edits.after, piece, first=True)
        return self

    def replace(self, content: Any = None, options: Any = None, **members: Any) -> Element:
        """Replace the element and what is in it."""
        element = self._live()
        piece = self._piece(content, options, members)
        if piece is not None:
            element.unit.edits.replace(piece)
            _remove_with_content(element)
        return self

    def remove(self) -> Element:
        """Remove the element and what is in it."""
        element = self._live()
        element.unit.edits.removed = True
        _remove_with_content(element)
        return self

    def removeAndKeepContent(self) -> Element:
        """Remove the tags."""
        element = self._live()
        element.unit.edits.removed = True
        if element.with_content:
            _end_edits(element).removed = True
        return self

    def onEndTag(self, callback: Any = None) -> None:
        """Call when the end tag comes; a second callback takes the place of the first.

        An element whose end tag is left out is ended by the tag that closes it.
        Raises: TypeError for an element that can have no content.
        """
        element = self._live()
        if not callable(callback):
            raise TypeError_(
                "Failed to execute 'onEndTag' on 'Element': parameter 1 is not of type 'function'."
            )
        if not element.with_content:
            raise parser_error("No end tag.")
        element.end_handler = callback


def _end_edits(element: OpenElement) -> Edits:
    if element.end_edits is None:
        element.end_edits = Edits()
    return element.end_edits


def _remove_content(element: OpenElement) -> None:
    """Drop what is in an element, also what was put in before."""
    element.unit.edits.after.clear()
    if element.end_edits is not None:
        element.end_edits.before.clear()
    element.removes_content = True


def _remove_with_content(element: OpenElement) -> None:
    if element.with_content:
        _remove_content(element)
        _end_edits(element).removed = True


class AttributesIterator(JsInstance, js_name="AttributesIterator"):
    """``element.attributes``."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self._pairs = iter(pairs)
        self._stopped: str | None = None

    def stop(self, why: str) -> None:
        """From now on iterating raises this text."""
        self._stopped = why

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._stopped is not None:
            raise (TypeError_ if self._stopped is _INVALID else Error)(self._stopped)
        return JsArray.adopt(list(next(self._pairs)))

    def next(self) -> JsObject:
        """The next ``{done, value}``."""
        try:
            return JsObject.adopt({"done": False, "value": self.__next__()})
        except StopIteration:
            return JsObject.adopt({"done": True, "value": None})


class EndTag(_Token[EndTagUnit], js_name="EndTag"):
    """The end tag of an element, for ``onEndTag``."""

    @property
    def name(self) -> str:
        return self._live().name

    @name.setter
    def name(self, name: Any) -> None:
        self._live().set_name(text(name))

    def before(self, content: Any = None, options: Any = None, **members: Any) -> EndTag:
        _put(self._live().edits.before, self._piece(content, options, members))
        return self

    def after(self, content: Any = None, options: Any = None, **members: Any) -> EndTag:
        _put(self._live().edits.after, self._piece(content, options, members), first=True)
        return self

    def remove(self) -> EndTag:
        self._live().edits.removed = True
        return self


class Text(_Token[TextUnit], js_name="Text"):
    """A piece of a text node; the last one of a node has ``lastInTextNode`` and is empty, as a rule."""

    @property
    def text(self) -> str:
        """The text as the document writes it, character references and all."""
        return self._live().text

    @property
    def lastInTextNode(self) -> bool:
        return self._live().last

    @property
    def removed(self) -> bool:
        return self._live().removed

    def before(self, content: Any = None, options: Any = None, **members: Any) -> Text:
        _put(self._live().edits.before, self._piece(content, options, members))
        return self

    def after(self, content: Any = None, options: Any = None, **members: Any) -> Text:
        _put(self._live().edits.after, self._piece(content, options, members), first=True)
        return self

    def replace(self, content: Any = None, options: Any = None, **members: Any) -> Text:
        self._live().edits.replace(self._piece(content, options, members))
        return self

    def remove(self) -> Text:
        self._live().edits.removed = True
        return self


class Comment(_Token[CommentUnit], js_name="Comment"):
    """A comment. Its edits take strings only."""

    @property
    def text(self) -> str:
        return self._live().text

    @text.setter
    def text(self, value: Any) -> None:
        """Raises: TypeError for text that would end the comment."""
        self._live().set_text(text(value))

    @property
    def removed(self) -> bool:
        return self._live().removed

    def before(self, content: Any = None, options: Any = None, **members: Any) -> Comment:
        edits = self._live().edits
        edits.before.append(self._string(content, options, members))
        return self

    def after(self, content: Any = None, options: Any = None, **members: Any) -> Comment:
        edits = self._live().edits
        edits.after.insert(0, self._string(content, options, members))
        return self

    def replace(self, content: Any = None, options: Any = None, **members: Any) -> Comment:
        edits = self._live().edits
        edits.replace(self._string(content, options, members))
        return self

    def remove(self) -> Comment:
        self._live().edits.removed = True
        return self


class Doctype(_Token[DoctypeParts], js_name="Doctype"):
    """The doctype: ``name``, ``publicId``, ``systemId``, null where it has none."""

    @property
    def name(self) -> Any:
        return _or_null(self._live().name)

    @property
    def publicId(self) -> Any:
        return _or_null(self._live().public_id)

    @property
    def systemId(self) -> Any:
        return _or_null(self._live().system_id)


def _or_null(value: str | None) -> Any:
    return null() if value is None else value


class DocumentEnd(_Token[Callable[[bytes], None]], js_name="DocumentEnd"):
    """The end of the document; its subject takes what is appended."""

    def append(self, content: Any = None, options: Any = None, **members: Any) -> DocumentEnd:
        """Put content at the end. Takes strings only."""
        self._live()(self._string(content, options, members))
        return self
