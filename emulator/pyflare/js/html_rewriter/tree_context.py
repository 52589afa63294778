"""Where in a document markup is not markup: in scripts, styles and titles, and how foreign content changes that.

A rewriter that builds no tree follows, from the tags alone, what a tree builder would tell the tokenizer: the namespace
(HTML, SVG, MathML) and whether an element's content is text. Where that cannot be known without a tree it stops with an
error: going on could let markup through unseen.

Source: https://html.spec.whatwg.org/multipage/parsing.html#tree-construction and the crate ``lol_html``,
``tree_builder_simulator``.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final

from .attributes import attribute_values
from .errors import parser_error

if TYPE_CHECKING:
    from .scanner import TagMatch

__all__ = ["HTML", "MATHML", "SVG", "ElementName", "TreeContext"]

HTML: Final = "http://www.w3.org/1999/xhtml"
SVG: Final = "http://www.w3.org/2000/svg"
MATHML: Final = "http://www.w3.org/1998/Math/MathML"

#: Elements whose content is text. Scripting is taken to be on, so `noscript` is one.
_TEXT_CONTENT: Final = frozenset(
    b"textarea title plaintext script style iframe xmp noembed noframes noscript".split()
)
_VOID: Final = frozenset(
    b"area base basefont bgsound br col embed hr img input keygen link meta param source track wbr".split()
)
#: Start tags that end foreign content.
_LEAVES_FOREIGN: Final = frozenset(
    b"b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta "
    b"nobr ol p pre ruby s small span strong strike sub sup table tt u ul var".split()
)
_MATHML_TEXT: Final = frozenset(b"mi mo mn ms mtext".split())
_SVG_HTML: Final = frozenset(b"desc title foreignobject".split())
_SPECIAL: Final = _TEXT_CONTENT | {b"svg", b"math", b"select", b"frameset"}
_ENDS_SELECT: Final = frozenset(b"select textarea input keygen".split())
_FONT: Final = frozenset(b"color size face".split())
_HTML_ANNOTATION: Final = frozenset([b"text/html", b"application/xhtml+xml"])


class ElementName:
    """The name of elements in one document. ``special`` names change the context of ordinary HTML.

    ``open`` is how many such elements are open, ``steps`` what the matcher looks for in them, None before it was asked.
    """

    __slots__ = ("is_text", "lower", "open", "special", "steps", "void")

    def __init__(self, lower: bytes) -> None:
        self.lower = lower
        self.void = lower in _VOID
        self.special = lower in _SPECIAL
        self.is_text = lower in _TEXT_CONTENT
        self.open = 0
        self.steps: list[Any] | None = None


class _Place(Enum):
    ORDINARY = auto()
    IN_SELECT = auto()
    IN_TEMPLATE_IN_SELECT = auto()
    IN_OR_AFTER_FRAMESET = auto()


class TreeContext:
    """Follows the tags of one document.

    ``plain`` holds while only special names matter, which is nearly always.
    """

    __slots__ = ("_namespaces", "_place", "_templates", "namespace", "plain")

    def __init__(self) -> None:
        self.namespace = HTML
        self.plain = True
        self._namespaces = [HTML]
        self._place = _Place.ORDINARY
        self._templates = 0

    def start(self, name: ElementName, tag: TagMatch) -> bool:
        """A start tag. True when text follows up to its end tag.

        Raises: TypeError where that cannot be told.
        """
        self._track_start(name)
        lower = name.lower
        is_text = False
        if lower == b"svg":
            self._enter(SVG)
        elif lower == b"math":
            self._enter(MATHML)
        elif self.namespace is not HTML:
            self._start_in_foreign_content(lower, tag)
        else:
            is_text = name.is_text
        self._update()
        return is_text

    def end(self, name: ElementName) -> None:
        """An end tag."""
        self._track_end(name.lower)
        lower = name.lower
        if self.namespace is HTML:
            if len(self._namespaces) > 1 and self._ends_integration_point(lower):
                self._leave()
        elif lower in (b"p", b"br") or lower == (b"svg" if self.namespace is SVG else b"math"):
            self._leave()
        self._update()

    def _update(self) -> None:
        self.plain = len(self._namespaces) == 1 and self._place is _Place.ORDINARY

    def _enter(self, namespace: str) -> None:
        self._namespaces.append(namespace)
        self.namespace = namespace

    def _leave(self) -> None:
        self._namespaces.pop()
        self.namespace = self._namespaces[-1]

    def _ends_integration_point(self, lower: bytes) -> bool:
        around = self._namespaces[-2]
        if around is MATHML:
            return lower in _MATHML_TEXT or lower == b"annotation-xml"
        return around is SVG and lower in _SVG_HTML

    def _start_in_foreign_content(self, lower: bytes, tag: TagMatch) -> None:
        if lower in _LEAVES_FOREIGN or (
            lower == b"font" and not _FONT.isdisjoint(attribute_values(tag[2]))
        ):
            self._leave()
        elif tag[3]:
            return
        elif self.namespace is SVG:
            if lower in _SVG_HTML:
                self._enter(HTML)
        elif lower in _MATHML_TEXT or (
            lower == b"annotation-xml"
            and attribute_values(tag[2]).get(b"encoding", b"").lower() in _HTML_ANNOTATION
        ):
            self._enter(HTML)

    def _track_start(self, name: ElementName) -> None:
        lower = name.lower
        match self._place:
            case _Place.ORDINARY:
                if lower == b"select":
                    self._place = _Place.IN_SELECT
                elif lower == b"frameset":
                    self._place = _Place.IN_OR_AFTER_FRAMESET
            case _Place.IN_SELECT:
                if lower in _ENDS_SELECT:
                    self._place = _Place.ORDINARY
                elif lower == b"template":
                    self._place = _Place.IN_TEMPLATE_IN_SELECT
                    self._templates = 1
                elif lower != b"script":
                    _refuse_text(name)
            case _Place.IN_TEMPLATE_IN_SELECT:
                if lower == b"template":
                    self._templates += 1
                else:
                    _refuse_text(name)
            case _Place.IN_OR_AFTER_FRAMESET:
                if lower != b"noframes":
                    _refuse_text(name)

    def _track_end(self, lower: bytes) -> None:
        if self._place is _Place.IN_SELECT and lower == b"select":
            self._place = _Place.ORDINARY
        elif self._place is _Place.IN_TEMPLATE_IN_SELECT and lower == b"template":
            self._templates -= 1
            if self._templates == 0:
                self._place = _Place.IN_SELECT


def _refuse_text(name: ElementName) -> None:
    if not name.is_text:
        return
    raise parser_error(
        f"The parser has encountered a text content tag (`<{name.lower.decode()}>`) in the context where it is "
        "ambiguous whether this tag should be ignored or not. And, thus, it is unclear whether consequent content "
        "should be parsed as raw text or HTML markup.\n\nThis error occurs due to the limited capabilities of the "
        "streaming parsing. However, almost all of the cases of this error are caused by a non-conforming markup (e.g. "
        "a `<script>` element in `<select>` element)."
    )
