"""Splits HTML into tags, text, comments and doctypes as its bytes come, wherever they are cut.

It reads bytes, not characters: in every encoding that is taken, markup is written in the bytes of ASCII. So what nobody
asks for is never decoded. Two expressions do the work on tags: one for a whole tag, one for an attribute; both use
possessive quantifiers, so that no input makes them try anything twice.

Source: https://html.spec.whatwg.org/multipage/parsing.html#tokenization
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto
from functools import lru_cache
from typing import Any, Final, Protocol, TypeAlias

from .errors import parser_error
from .markup import Break, CommentMarkup, DoctypeMarkup, Text
from .tree_context import HTML, ElementName, TreeContext

__all__ = [
    "MEMORY_LIMIT",
    "MEMORY_LIMIT_EXCEEDED",
    "Scanner",
    "TagMatch",
    "TagTracker",
]

#: The most bytes of unfinished markup (a tag, a comment) that are kept, as in the runtime.
MEMORY_LIMIT: Final = 3 * 1024 * 1024
MEMORY_LIMIT_EXCEEDED: Final = "The memory limit has been exceeded."

_MOST_NAMES: Final = 65536

TagMatch: TypeAlias = re.Match[bytes]

_S: Final = rb"\t\n\f\r "
#: Groups: the name with the slash of an end tag, the attributes, the slash of a self-closing tag.
_TAG: Final = re.compile(
    rb"<(/?[A-Za-z][^" + _S + rb"/>]*+)"
    rb"((?:[" + _S + rb"]++|/(?!>)|[^" + _S + rb"/>][^" + _S + rb"/>=]*+"
    rb"(?:["
    + _S
    + rb"]*+=["
    + _S
    + rb"]*+(?:\"[^\"]*+\"|'[^']*+'|[^"
    + _S
    + rb">\"'][^"
    + _S
    + rb">]*+|(?=>))"
    rb"|(?![" + _S + rb"]*+=)))*+)(/?)>"
)
_COMMENT_END: Final = re.compile(rb"--!?>")
_OPEN_COMMENT_TAIL: Final = re.compile(rb"--?!?\Z|-\Z")
_SCRIPT_EVENT: Final = re.compile(rb"<!--|-->|<(/?)script(?=[" + _S + rb"/>])", re.IGNORECASE)
#: What may turn out to be the beginning of one of those at the end of the bytes at hand.
_SCRIPT_TAIL: Final = re.compile(rb"(?:<[!/]?[A-Za-z-]{0,6}|--?)\Z")
_LONGEST_EVENT: Final = 8


@lru_cache(maxsize=16)
def _end_of_text(name: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"</" + re.escape(name) + rb"(?=[" + _S + rb"/>])", re.IGNORECASE)


class TagTracker(Protocol):
    """Who is told of every tag at once. What it answers is given out in the tag's place, unless it is None."""

    def start(self, tag: TagMatch, name: ElementName, namespace: str) -> Any: ...

    def end(self, tag: TagMatch, name: ElementName) -> Any: ...


class _Mode(Enum):
    DATA = auto()
    RAW_TEXT = auto()
    SCRIPT = auto()
    PLAINTEXT = auto()
    CDATA = auto()


class _Script(Enum):
    """Within a script: outside ``<!-- -->``, inside, and inside a ``<script>`` that is inside."""

    PLAIN = auto()
    ESCAPED = auto()
    DOUBLE_ESCAPED = auto()


_MORE: Final = -1
_SLASH: Final = ord("/")


class Scanner:
    """``feed`` bytes, then go through ``scan``; everything before ``position`` has been given out.

    ``wants_text`` may change while scanning: text is only reported while it is set.
    """

    def __init__(self, tracker: TagTracker | None) -> None:
        self._tracker = tracker
        self.buffer = b""
        self.position = 0
        self.wants_text = False
        self._context = TreeContext()
        self._names: dict[bytes, ElementName] = {}
        self._mode = _Mode.DATA
        self._text_name = b""
        self._script = _Script.PLAIN
        self._waits_for_close = 0

    def feed(self, data: bytes) -> None:
        """Put bytes behind those that are left. Raises: TypeError when too many are left."""
        rest = self.buffer[self.position :]
        if rest and len(rest) + len(data) > MEMORY_LIMIT:
            raise parser_error(MEMORY_LIMIT_EXCEEDED)
        self.buffer = rest + data if rest else data
        self.position = 0

    def scan(self, final: bool) -> Iterator[Any]:
        """The markup that is complete by now, or with ``final`` all of it, and what the tracker makes of tags.

        Raises: TypeError for markup that is ambiguous without a tree.
        """
        waits = self._waits_for_close and not final
        # An unfinished tag or comment is only looked at again when it may have an end.
        if waits and self.buffer.find(b">", self._waits_for_close) < 0:
            self._waits_for_close = len(self.buffer)
            return
        self._waits_for_close = 0
        while True:
            mode = self._mode
            match mode:
                case _Mode.DATA:
                    yield from self._scan_data(final)
                case _Mode.RAW_TEXT:
                    yield from self._scan_raw_text(final)
                case _Mode.SCRIPT:
                    yield from self._scan_script(final)
                case _Mode.CDATA:
                    yield from self._scan_cdata(final)
                case _Mode.PLAINTEXT:
                    yield from self._give_text(len(self.buffer))
            if self._mode is mode:
                return

    def _give_text(self, end: int) -> Iterator[Text]:
        start, self.position = self.position, end
        if end > start and self.wants_text:
            yield Text(start, end)

    def _name(self, written: bytes) -> ElementName:
        """The name of an element, one object however it is written."""
        names = self._names
        lower = written.removeprefix(b"/").lower()
        name = names.get(lower)
        if name is None:
            if len(names) >= _MOST_NAMES:
                raise parser_error(MEMORY_LIMIT_EXCEEDED)
            names[lower] = name = ElementName(lower)
        names[written] = name
        return name

    def _scan_data(self, final: bool) -> Iterator[Any]:
        buffer = self.buffer
        find, tag_at = buffer.find, _TAG.match
        names = self._names
        context = self._context
        tracker = self._tracker
        text = position = self.position
        while (at := find(b"<", position)) >= 0:
            found = tag_at(buffer, at)
            if found is None:
                other = self._other_markup(at, final)
                if other is None:
                    position = at + 1
                    continue
                if other is _MORE:
                    break
                self.position = text
                yield from self._give_text(at)
                assert not isinstance(other, int)
                text = position = self.position = other.end
                yield other
                if self._mode is not _Mode.DATA:
                    return
                continue
            written = found[1]
            name = names.get(written) or self._name(written)
            closing = written[0] == _SLASH
            is_text = False
            if name.special or not context.plain:
                if closing:
                    context.end(name)
                else:
                    is_text = context.start(name, found)
            wants_text = self.wants_text
            if wants_text and text < at:
                yield Text(text, at)
            text = position = found.end()
            if tracker is None:
                happened = None
            elif closing:
                happened = tracker.end(found, name)
            else:
                happened = tracker.start(found, name, context.namespace)
            if happened is not None:
                yield happened
            elif wants_text:
                yield Break(at, text)
            if is_text:
                self.position = text
                self._enter_text(name.lower)
                return
        else:
            at = len(buffer)
        self.position = text
        yield from self._give_text(at)

    def _enter_text(self, name: bytes) -> None:
        self._text_name = name
        if name == b"plaintext":
            self._mode = _Mode.PLAINTEXT
        elif name == b"script":
            self._mode = _Mode.SCRIPT
            self._script = _Script.PLAIN
        else:
            self._mode = _Mode.RAW_TEXT

    def _other_markup(
        self, at: int, final: bool
    ) -> Break | CommentMarkup | DoctypeMarkup | int | None:
        """What starts at a ``<`` that begins no complete tag: markup, _MORE for "not known yet", None for text."""
        buffer = self.buffer
        head = buffer[at + 1 : at + 9]
        if not head or head == b"/":
            return None if final else _MORE
        first = head[:1]
        if first.isalpha() or (first == b"/" and head[1:2].isalpha()):
            return Break(at, len(buffer)) if final else self._wait()
        if first == b"/":
            return (
                Break(at, at + 3) if head[1:2] == b">" else self._bogus_comment(at, at + 2, final)
            )
        if first == b"?":
            return self._bogus_comment(at, at + 1, final)
        if first != b"!":
            return None
        return self._declaration(at, head, final)

    def _wait(self) -> int:
        self._waits_for_close = 1
        return _MORE

    def _declaration(
        self, at: int, head: bytes, final: bool
    ) -> Break | CommentMarkup | DoctypeMarkup | int:
        buffer = self.buffer
        if head.startswith(b"!--"):
            return self._comment(at, final)
        if head.upper() == b"!DOCTYPE":
            close = buffer.find(b">", at + 9)
            if close >= 0:
                return DoctypeMarkup(at, close + 1)
            return DoctypeMarkup(at, len(buffer)) if final else self._wait()
        if head == b"![CDATA[" and self._context.namespace is not HTML:
            self._mode = _Mode.CDATA
            return Break(at, at + 9)
        if not final and len(head) < 8:
            declaration = head.upper()
            if b"!--".startswith(head) or b"!DOCTYPE".startswith(declaration):
                return _MORE
            if b"![CDATA[".startswith(head) and self._context.namespace is not HTML:
                return _MORE
        return self._bogus_comment(at, at + 2, final)

    def _comment(self, at: int, final: bool) -> CommentMarkup | int:
        buffer = self.buffer
        text = at + 4
        for empty in (b">", b"->"):
            if buffer.startswith(empty, text):
                return CommentMarkup(at, text + len(empty), text, text)
        found = _COMMENT_END.search(buffer, text)
        if found is not None:
            return CommentMarkup(at, found.end(), text, found.start())
        if not final:
            return self._wait()
        tail = _OPEN_COMMENT_TAIL.search(buffer, text)
        return CommentMarkup(at, len(buffer), text, tail.start() if tail else len(buffer))

    def _bogus_comment(self, at: int, text: int, final: bool) -> CommentMarkup | int:
        close = self.buffer.find(b">", text)
        if close >= 0:
            return CommentMarkup(at, close + 1, text, close)
        return (
            CommentMarkup(at, len(self.buffer), text, len(self.buffer)) if final else self._wait()
        )

    def _scan_raw_text(self, final: bool) -> Iterator[Any]:
        buffer = self.buffer
        found = _end_of_text(self._text_name).search(buffer, self.position)
        if found is not None:
            yield from self._end_text(found.start(), final)
            return
        end = len(buffer)
        if not final:
            start = buffer.rfind(b"<", max(self.position, end - len(self._text_name) - 2))
            if start >= 0 and (b"</" + self._text_name).startswith(buffer[start:].lower()):
                end = start
        yield from self._give_text(end)

    def _end_text(self, at: int, final: bool) -> Iterator[Any]:
        """The end tag that stands at this place, once it is complete."""
        yield from self._give_text(at)
        found = _TAG.match(self.buffer, at)
        if found is None:
            if final:
                self.position = len(self.buffer)
                yield Break(at, self.position)
            else:
                self._wait()
            return
        name = self._names.get(found[1]) or self._name(found[1])
        self._context.end(name)
        self.position = found.end()
        self._mode = _Mode.DATA
        happened = None if self._tracker is None else self._tracker.end(found, name)
        yield Break(at, self.position) if happened is None else happened

    def _scan_script(self, final: bool) -> Iterator[Any]:
        buffer = self.buffer
        position = self.position
        while (found := _SCRIPT_EVENT.search(buffer, position)) is not None:
            event = found.group()
            position = found.end()
            if event == b"<!--":
                # Its dashes may be those of the end: `<!-->`.
                position -= 2
                if self._script is _Script.PLAIN:
                    self._script = _Script.ESCAPED
            elif event == b"-->":
                self._script = _Script.PLAIN
            elif not found[1]:
                if self._script is _Script.ESCAPED:
                    self._script = _Script.DOUBLE_ESCAPED
            elif self._script is _Script.DOUBLE_ESCAPED:
                self._script = _Script.ESCAPED
            else:
                yield from self._end_text(found.start(), final)
                return
        end = len(buffer)
        if not final:
            tail = _SCRIPT_TAIL.search(buffer, max(position, end - _LONGEST_EVENT))
            end = tail.start() if tail is not None else end
        yield from self._give_text(end)

    def _scan_cdata(self, final: bool) -> Iterator[Any]:
        buffer = self.buffer
        close = buffer.find(b"]]>", self.position)
        if close < 0:
            end = len(buffer)
            while (
                not final
                and end > max(self.position, len(buffer) - 2)
                and buffer[end - 1 : end] == b"]"
            ):
                end -= 1
            yield from self._give_text(end)
            return
        yield from self._give_text(close)
        self.position = close + 3
        self._mode = _Mode.DATA
        yield Break(close, close + 3)
