"""What a handler changes: tags, comments and pieces of text, with the content that is put around or in place of them.

Source: https://developers.cloudflare.com/workers/runtime-apis/html-rewriter/#elements and the crate ``lol_html``,
``rewritable_units``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from .attributes import attribute_values, read_attributes
from .document_encoding import DocumentEncoding
from .errors import parser_error
from .scanner import TagMatch
from .tree_context import ElementName

if TYPE_CHECKING:
    from ..readable import ReadableStream

__all__ = [
    "Attribute",
    "CommentUnit",
    "Edits",
    "EndTagUnit",
    "Piece",
    "StartTagUnit",
    "Streamed",
    "TextUnit",
    "Unit",
    "encode_piece",
    "escape_text",
]

_ESCAPES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_TO_ESCAPE: Final = re.compile("[&<>]")
_FORBIDDEN_IN_TAG: Final = re.compile("[ \n\r\t\f/>]")
_FORBIDDEN_IN_ATTRIBUTE: Final = re.compile("[ \n\r\t\f/>=]")


def escape_text(text: str) -> str:
    """Text as markup."""
    return _TO_ESCAPE.sub(lambda found: _ESCAPES[found.group()], text)


@dataclass(slots=True)
class Streamed:
    """Content that is read when its place in the output is reached."""

    stream: ReadableStream
    html: bool


#: Encoded content, or content to be read.
Piece: TypeAlias = bytes | Streamed


class Edits:
    """What stands before a unit, in its place when it is removed, and after it."""

    __slots__ = ("after", "before", "removed", "replacement")

    def __init__(self) -> None:
        self.before: list[Piece] = []
        self.replacement: list[Piece] = []
        self.after: list[Piece] = []
        self.removed = False

    def replace(self, piece: Piece | None) -> None:
        """Put something in the unit's place; None leaves what is there."""
        if piece is not None:
            self.removed = True
            self.replacement = [piece]


class Unit:
    """Something of the document that has edits. Most never get any, so a unit starts out as small as it can."""

    _edits: Edits | None = None

    @property
    def edits(self) -> Edits:
        if self._edits is None:
            self._edits = Edits()
        return self._edits

    @property
    def made_edits(self) -> Edits | None:
        """The edits if there are any."""
        return self._edits

    @property
    def removed(self) -> bool:
        return self._edits is not None and self._edits.removed

    @property
    def modified(self) -> bool:
        """Whether it leaves otherwise than it came."""
        raise NotImplementedError

    def serialise(self) -> bytes:
        """The unit without its edits."""
        raise NotImplementedError

    def adopt(self, edits: Edits) -> None:
        """Take edits that were collected before the unit came, in place of its own."""
        self._edits = edits


@dataclass(slots=True)
class Attribute:
    """``source`` is how it was written, None once its value was set."""

    name: bytes
    lower: bytes
    value: bytes
    source: bytes | None


class StartTagUnit(Unit):
    """A start tag: its name, its attributes."""

    keeps_slash = True
    _name: bytes | None = None
    _modified = False
    _values: dict[bytes, bytes] | None = None
    #: Only made when the tag is changed.
    _attributes: list[Attribute] | None = None

    def __init__(self, tag: TagMatch, name: ElementName, encoding: DocumentEncoding) -> None:
        self.tag = tag
        self.element_name = name
        self._encoding = encoding

    @property
    def name(self) -> str:
        return self._encoding.decode(
            self.element_name.lower if self._name is None else self._name.lower()
        )

    @property
    def modified(self) -> bool:
        """Whether the tag does not leave as it came."""
        return self._modified or self._edits is not None

    def rename(self, name: str) -> bytes:
        """Give the tag another name; gives the name's bytes.

        Raises: TypeError for what is no tag name.
        """
        self._name = encode_tag_name(name, self._encoding)
        self._modified = True
        return self._name

    def _own_attributes(self) -> list[Attribute]:
        attributes = self._attributes
        if attributes is None:
            self._attributes = attributes = [
                Attribute(name, name.lower(), value, source)
                for name, value, source in read_attributes(self.tag[2])
            ]
        return attributes

    def find_attribute(self, lower: bytes) -> bytes | None:
        """The value of an attribute as written, None when it is absent."""
        if self._attributes is not None:
            for attribute in self._attributes:
                if attribute.lower == lower:
                    return attribute.value
            return None
        values = self._values
        if values is None:
            self._values = values = attribute_values(self.tag[2])
        return values.get(lower)

    def get_attribute(self, name: str) -> str | None:
        """The value of an attribute; character references in it are left as they are."""
        encoded = self._attribute_name(name)
        if isinstance(encoded, str):
            return None
        value = self.find_attribute(encoded)
        return None if value is None else self._encoding.decode(value)

    def set_attribute(self, name: str, value: str) -> None:
        """Raises: TypeError for what is no attribute name."""
        encoded = self._attribute_name(name)
        if isinstance(encoded, str):
            raise parser_error(encoded)
        content = self._encoding.encode(value)
        self._modified = True
        for attribute in self._own_attributes():
            if attribute.lower == encoded:
                attribute.value = content
                attribute.source = None
                return
        self._own_attributes().append(Attribute(encoded, encoded, content, None))

    def remove_attribute(self, name: str) -> None:
        encoded = self._attribute_name(name)
        kept = [attribute for attribute in self._own_attributes() if attribute.lower != encoded]
        if len(kept) < len(self._own_attributes()):
            self._attributes = kept
            self._modified = True

    def attribute_pairs(self) -> list[tuple[str, str]]:
        """Names in lower case and values."""
        decode = self._encoding.decode
        return [
            (decode(attribute.lower), decode(attribute.value))
            for attribute in self._own_attributes()
        ]

    def _attribute_name(self, name: str) -> bytes | str:
        """The bytes of an attribute's name, or what is wrong with it."""
        if not name:
            return "Attribute name can't be empty."
        forbidden = _FORBIDDEN_IN_ATTRIBUTE.search(name)
        if forbidden is not None:
            return f"`{forbidden.group()}` character is forbidden in the attribute name"
        encoded = self._encoding.encode_exactly(name)
        if encoded is None:
            return (
                "The attribute name contains a character that can't be represented in the document's character "
                "encoding."
            )
        return encoded.lower()

    def serialise(self) -> bytes:
        """The tag as it was written, or written anew when its name or an attribute was changed."""
        if not self._modified:
            return self.tag.group()
        attributes = self._own_attributes()
        pieces = [b"<", self.tag[1] if self._name is None else self._name]
        for attribute in attributes:
            pieces.append(b" ")
            if attribute.source is not None:
                pieces.append(attribute.source)
            else:
                pieces += (attribute.name, b'="', attribute.value.replace(b'"', b"&quot;"), b'"')
        if not (self.tag[3] and self.keeps_slash):
            pieces.append(b">")
        elif attributes:
            # The slash must not become part of an unquoted value.
            pieces.append(b" />")
        else:
            pieces.append(b"/>")
        return b"".join(pieces)


class EndTagUnit(Unit):
    """An end tag."""

    _name: bytes | None = None

    def __init__(self, tag: TagMatch, encoding: DocumentEncoding) -> None:
        self.tag = tag
        self._encoding = encoding

    @property
    def name(self) -> str:
        written = self.tag[1][1:] if self._name is None else self._name
        return self._encoding.decode(written.lower())

    @property
    def modified(self) -> bool:
        return self._name is not None or self._edits is not None

    def set_name(self, name: str) -> None:
        self._name = self._encoding.encode(name)

    def set_encoded_name(self, name: bytes) -> None:
        self._name = name

    def serialise(self) -> bytes:
        return self.tag.group() if self._name is None else b"</" + self._name + b">"


class CommentUnit(Unit):
    """A comment; ``source`` is how it was written."""

    def __init__(self, source: bytes, text: bytes, encoding: DocumentEncoding) -> None:
        self._source: bytes | None = source
        self._text = text
        self._encoding = encoding

    @property
    def text(self) -> str:
        return self._encoding.decode(self._text)

    @property
    def modified(self) -> bool:
        return self._source is None or self._edits is not None

    def set_text(self, text: str) -> None:
        """Raises: TypeError for text that would end the comment or that the encoding cannot write."""
        if "-->" in text or "--!>" in text or text.startswith((">", "->")):
            raise parser_error("Comment text shouldn't contain a comment-closing sequence.")
        encoded = self._encoding.encode_exactly(text)
        if encoded is None:
            raise parser_error(
                "Comment text contains a character that can't be represented in the document's character encoding."
            )
        self._text = encoded
        self._source = None

    def serialise(self) -> bytes:
        return b"<!--" + self._text + b"-->" if self._source is None else self._source


class TextUnit(Unit):
    """A piece of a text node. ``source`` are its bytes; None asks for encoding the text again."""

    def __init__(
        self, text: str, last: bool, source: bytes | None, encoding: DocumentEncoding
    ) -> None:
        self.text = text
        self.last = last
        self._source = source
        self._encoding = encoding

    @property
    def modified(self) -> bool:
        return self._source is None or self._edits is not None

    def serialise(self) -> bytes:
        return self._encoding.encode(self.text) if self._source is None else self._source


def encode_tag_name(name: str, encoding: DocumentEncoding) -> bytes:
    """The bytes of a tag's name. Raises: TypeError for what is no tag name."""
    if not name:
        raise parser_error("Tag name can't be empty.")
    if not (name[0].isascii() and name[0].isalpha()):
        raise parser_error(
            "The first character of the tag name should be an ASCII alphabetical character."
        )
    forbidden = _FORBIDDEN_IN_TAG.search(name)
    if forbidden is not None:
        raise parser_error(f"`{forbidden.group()}` character is forbidden in the tag name")
    encoded = encoding.encode_exactly(name)
    if encoded is None:
        raise parser_error(
            "The tag name contains a character that can't be represented in the document's character encoding."
        )
    return encoded


def encode_piece(content: Any, html: bool, encoding: DocumentEncoding) -> bytes:
    """Text or HTML as it goes into the document."""
    return encoding.encode(content if html else escape_text(content))
