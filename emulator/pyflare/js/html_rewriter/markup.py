"""What a document consists of besides tags. All places are those in the scanner's buffer."""

from __future__ import annotations

__all__ = ["Break", "CommentMarkup", "DoctypeMarkup", "Text"]


class Span:
    __slots__ = ("end", "start")

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end


class Text(Span):
    """A piece of text."""

    __slots__ = ()


class Break(Span):
    """Markup that only ends a text: ``</>``, the brackets of a CDATA section, an unfinished tag."""

    __slots__ = ()


class DoctypeMarkup(Span):
    """A doctype."""

    __slots__ = ()


class CommentMarkup(Span):
    """A comment; ``text_start`` and ``text_end`` are where its text is."""

    __slots__ = ("text_end", "text_start")

    def __init__(self, start: int, end: int, text_start: int, text_end: int) -> None:
        super().__init__(start, end)
        self.text_start = text_start
        self.text_end = text_end
