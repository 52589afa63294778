"""Text, comments, doctypes and the document's end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from pyflare.js.error import JsException
from pyflare.js.html_rewriter import HTMLRewriter
from pyflare.js.readable import ReadableStream
from pyflare.js.response import Response
from pyflare.js.value import jsnull

from .html_rewriting import rewrite, rewritten


def texts_of(document: str, selector: str = "p") -> list[tuple[str, bool]]:
    seen: list[tuple[str, bool]] = []
    rewritten(document, (selector, {"text": lambda t: seen.append((t.text, t.lastInTextNode))}))
    return seen


def test_a_text_node_ends_with_an_empty_piece() -> None:
    assert texts_of("<p>one<b>two</b></p>no") == [
        ("one", False),
        ("", True),
        ("two", False),
        ("", True),
    ]


def test_text_is_as_the_document_writes_it() -> None:
    assert texts_of("<p>a &amp; b\r\n&lt;")[0] == ("a &amp; b\r\n&lt;", False)


def test_a_less_than_sign_that_begins_no_tag_is_text() -> None:
    assert "".join(text for text, _ in texts_of("<p>1 < 2 <3 <</p>")) == "1 < 2 <3 <"


def test_text_at_the_end_of_the_document_ends_too() -> None:
    assert texts_of("<p>x") == [("x", False), ("", True)]


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (lambda t: t.replace("<y>"), "<p>&lt;y&gt;</p>"),
        (lambda t: t.replace("<y>", html=True), "<p><y></p>"),
        (lambda t: t.before("1").after("3").after("2"), "<p>1x23</p>"),
        (lambda t: t.remove(), "<p></p>"),
        (lambda t: t.replace(Response.new("from afar")), "<p>from afar</p>"),
    ],
)
def test_text_edits(edit: Callable[[Any], Any], expected: str) -> None:
    def text(t: Any) -> None:
        assert not t.removed
        if t.text:
            edit(t)

    assert rewritten("<p>x</p>", ("p", {"text": text})) == expected


def test_each_piece_of_text_counts_by_itself() -> None:
    # The empty last piece is a piece too: replacing without looking puts the content in twice, as in production.
    assert rewritten("<p>x</p>", ("p", {"text": lambda t: t.replace("y") and None})) == "<p>yy</p>"


def test_text_of_documents_and_elements_reaches_both_handlers() -> None:
    order: list[str] = []
    rewritten(
        "<p>x</p>y",
        ("p", {"text": lambda t: order.append(f"element {t.text}")}),
        of_document={"text": lambda t: order.append(f"document {t.text}")},
    )
    assert order == ["element x", "document x", "element ", "document ", "document y", "document "]


def test_a_character_cut_between_chunks_is_whole_in_the_text() -> None:
    seen: list[str] = []
    rewriter = HTMLRewriter.new().on("p", {"text": lambda t: seen.append(t.text)})
    document = "<p>aé☃😀b</p>".encode()
    output = asyncio.run(rewrite(rewriter, [bytes([byte]) for byte in document]))
    assert output == document
    assert "".join(seen) == "aé☃😀b"
    assert "\ufffd" not in "".join(seen)


def test_bytes_that_are_no_text_are_replaced_where_text_is_asked_for() -> None:
    rewriter = HTMLRewriter.new().on("p", {"text": lambda _: None})
    output = asyncio.run(rewrite(rewriter, [b"<p>\xff</p>\xff"]))
    assert output == b"<p>\xef\xbf\xbd</p>\xff"


@pytest.mark.parametrize("name", ["script", "style", "title", "textarea", "noscript", "iframe"])
def test_elements_whose_content_is_text(name: str) -> None:
    document = f"<{name}><p>&amp;<!--x--></{name.upper()} ><p>"
    tags: list[str] = []
    comments: list[str] = []
    rewritten(
        document,
        ("*", lambda e: tags.append(e.tagName)),
        of_document={"comments": lambda c: comments.append(c.text)},
    )
    assert tags == [name, "p"]
    assert comments == []
    assert "".join(text for text, _ in texts_of(document, name)) == "<p>&amp;<!--x-->"


@pytest.mark.parametrize(
    ("script", "content"),
    [
        ("<script>a</scripty>b</script>", "a</scripty>b"),
        ("<script><!-- <script> </script> --></script>", "<!-- <script> </script> -->"),
        ("<script><!--></script>", "<!-->"),
        ("<script><!-- </script>", "<!-- "),
        ("<script><!--<script></script></script>", "<!--<script></script>"),
    ],
)
def test_where_a_script_ends(script: str, content: str) -> None:
    assert "".join(text for text, _ in texts_of(f"{script}<p>", "script")) == content


def test_plaintext_never_ends() -> None:
    assert texts_of("<plaintext><p></plaintext>", "plaintext")[0][0] == "<p></plaintext>"


def test_cdata_sections_are_text_in_foreign_content_only() -> None:
    document = "<{0}><![CDATA[<p>]]]></{0}>"
    assert texts_of(document.format("svg"), "svg") == [("<p>]", False), ("", True)]
    assert texts_of(document.format("div"), "div") == [("]]]>", False), ("", True)]


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ("<!--a-->", "a"),
        ("<!-->b-->", ""),
        ("<!--->b-->", ""),
        ("<!---->", ""),
        ("<!--a--!>", "a"),
        ("<!--a--b-->", "a--b"),
        ("<!--a<!-->", "a<!"),
        ("<!--a", "a"),
        ("<!--a--", "a"),
        ("<!a>", "a"),
        ("<?xml a?>", "?xml a?"),
        ("</ a>", " a"),
        ("<!>", ""),
    ],
)
def test_comments(document: str, text: str) -> None:
    seen: list[str] = []
    assert rewritten(document, of_document={"comments": lambda c: seen.append(c.text)}) == document
    assert seen[:1] == [text]


def test_comments_of_an_element_are_those_inside() -> None:
    seen: list[str] = []
    rewritten(
        "<!--a--><p><!--b--><i><!--c--></i></p><!--d-->",
        ("p", {"comments": lambda c: seen.append(c.text)}),
    )
    assert seen == ["b", "c"]


def change_text(comment: Any) -> None:
    comment.text = "new"


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (change_text, "<!--new-->"),
        (lambda c: c.before("<1>").after("2"), "&lt;1&gt;<!--x-->2"),
        (lambda c: c.replace("<b>", html=True), "<b>"),
        (lambda c: c.remove(), ""),
    ],
)
def test_comment_edits(edit: Callable[[Any], Any], expected: str) -> None:
    def comments(comment: Any) -> None:
        assert not comment.removed
        edit(comment)

    assert rewritten("<!--x-->", of_document={"comments": comments}) == expected


@pytest.mark.parametrize("text", ["a-->b", "a--!>", ">", "->x"])
def test_text_that_would_end_a_comment_is_refused(text: str) -> None:
    def comments(comment: Any) -> None:
        comment.text = text

    with pytest.raises(JsException) as caught:
        rewritten("<!--x-->", of_document={"comments": comments})
    assert str(caught.value) == (
        "TypeError: Parser error: Comment text shouldn't contain a comment-closing sequence."
    )


@pytest.mark.parametrize("content", [ReadableStream.from_bytes(b"x"), Response.new("x")])
def test_comments_and_the_documents_end_take_strings_only(content: Any) -> None:
    for handlers in (
        {"comments": lambda c: c.replace(content)},
        {"end": lambda e: e.append(content)},
    ):
        with pytest.raises(
            JsException, match=r"^TypeError: Replacing content in HTML comments using"
        ):
            rewritten("<!--x-->", of_document=handlers)


@pytest.mark.parametrize(
    ("document", "parts"),
    [
        ("<!doctype HTML>", ("html", jsnull, jsnull)),
        ("<!DOCTYPE html PUBLIC \"-//W3C\" 'sys'>", ("html", "-//W3C", "sys")),
        ("<!DOCTYPE html SYSTEM 'about:legacy'>", ("html", jsnull, "about:legacy")),
        ('<!doctype html public "">', ("html", "", jsnull)),
        ("<!doctype>", (jsnull, jsnull, jsnull)),
        ("<!doctype html", ("html", jsnull, jsnull)),
    ],
)
def test_doctypes(document: str, parts: tuple[Any, ...]) -> None:
    seen: list[Any] = []
    handlers = {"doctype": lambda d: seen.append((d.name, d.publicId, d.systemId))}
    assert rewritten(document, of_document=handlers) == document
    assert seen == [parts]


def test_the_documents_end_takes_more() -> None:
    def end(document_end: Any) -> None:
        assert document_end.append("<1>").append("<2>", html=True) is document_end

    assert rewritten("<p>x", of_document={"end": end}) == "<p>x&lt;1&gt;<2>"


def test_end_handlers_run_from_the_last_to_the_first() -> None:
    rewriter = HTMLRewriter.new()
    for mark in "123":
        rewriter.onDocument({"end": lambda e, mark=mark: e.append(mark) and None})
    assert asyncio.run(rewrite(rewriter, [b""])) == b"321"


@pytest.mark.parametrize("kind", ["text", "comments", "doctype", "end"])
def test_these_tokens_are_no_longer_valid_after_their_handler(kind: str) -> None:
    kept: list[Any] = []
    rewritten("<!doctype html><!--x-->y", of_document={kind: kept.append})
    use = {
        "text": lambda t: t.text,
        "comments": lambda c: c.remove(),
        "doctype": lambda d: d.name,
        "end": lambda e: e.append("x"),
    }[kind]
    with pytest.raises(JsException, match=r"^TypeError: This content token is no longer valid"):
        use(kept[0])


@pytest.mark.parametrize(
    ("document", "name"),
    [
        ("<select><title>", "title"),
        ("<select><style>", "style"),
        ("<select><template><script>", "script"),
        ("<frameset></frameset><title>", "title"),
    ],
)
def test_markup_that_cannot_be_told_without_a_tree_fails_the_document(
    document: str, name: str
) -> None:
    with pytest.raises(JsException) as caught:
        rewritten(document, ("p", lambda _: None))
    assert str(caught.value).startswith(
        f"TypeError: Parser error: The parser has encountered a text content tag (`<{name}>`) in the context where "
    )


@pytest.mark.parametrize(
    "document",
    [
        "<select><script></script></select><title></title>",
        "<select><textarea></textarea><title></title>",
        "<select><template></template></select><style></style>",
        "<frameset><noframes></noframes>",
    ],
)
def test_markup_that_can_be_told_is_let_through(document: str) -> None:
    assert rewritten(document, ("p", lambda _: None)) == document


@pytest.mark.parametrize(
    ("document", "tags"),
    [
        ("<svg><title><p></title></svg>", ["svg", "title", "p"]),
        ("<svg><style><p></style>", ["svg", "style", "p"]),
        ("<svg><div><style><i></style>", ["svg", "div", "style"]),
        ("<svg></p><style><i></style>", ["svg", "style"]),
        (
            "<math><mi><style><i></style></mi><style><i></style>",
            ["math", "mi", "style", "style", "i"],
        ),
        ("<svg><font color=x><style><i></style>", ["svg", "font", "style"]),
        ("<svg><font><style><i></style>", ["svg", "font", "style", "i"]),
        (
            "<math><annotation-xml encoding=TEXT/HTML><style><i></style></annotation-xml><style><i>",
            ["math", "annotation-xml", "style", "style", "i"],
        ),
    ],
)
def test_text_content_in_and_around_foreign_content(document: str, tags: list[str]) -> None:
    seen: list[str] = []
    rewritten(document, ("*", lambda e: seen.append(e.tagName)))
    assert seen == tags
