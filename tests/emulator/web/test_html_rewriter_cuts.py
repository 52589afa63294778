"""Wherever a document is cut into chunks, the output and what handlers see are the same."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyflare.js.error import JsException
from pyflare.js.html_rewriter import HTMLRewriter

from .html_rewriting import rewrite

DOCUMENTS = [
    "<!DOCTYPE html PUBLIC \"a\" 'b'><html><head><title>a</title ></head><body class='x y'>é☃😀 &amp; text",
    "<script>var a = '<p>'; <!-- <script> </script> --> b</script><p>x</p>",
    "<p a=\"1>2\" b='3>4' c = 5/ d><br/><!--> <!---> <!-- a-b --!> <!-- c --- --> <?pi?> </> </ x>",
    "<svg><title><p>t</p></title><![CDATA[ <p>]] ]]>x<style><i></style></svg><textarea></text</textarea>",
    "a < b <3 << <p>c</p>\r\n</p></div><style>p>q</sty</style><plaintext><p>",
    "<div><p>one<p class=x>two</div><ul><li>1<li>2<li>3</ul><p unfinished='",
    "<!-- never ended --",
    "<select><script>s</script></select><textarea>t</textarea x>&lt;</",
]

PIECES = [
    *"<>/!-?='\"ax ",
    "<p>",
    "</p>",
    "<p class=x>",
    "<!--",
    "-->",
    "--!>",
    "<script>",
    "</script>",
    "<style>",
    "</style>",
    "<svg>",
    "</svg>",
    "<title>",
    "</title>",
    "<![CDATA[",
    "]]>",
    "<br/>",
    "<!doctype html>",
    "é",
    "😀",
    "&amp;",
    "<select>",
    "</select>",
]


async def observe(chunks: list[bytes]) -> tuple[bytes, list[Any]]:
    """The output, and what handlers saw; texts are joined, because only their pieces depend on the cuts."""
    seen: list[Any] = []
    texts: list[str] = []

    def element(e: Any) -> None:
        seen.append(("element", e.tagName, [tuple(pair) for pair in e.attributes], e.removed))
        e.setAttribute("n", str(len(seen)))
        if e.getAttribute("class") is not None:
            e.setInnerContent("<new>").after("after")
        if e.tagName not in ("br", "i"):
            try:
                e.onEndTag(lambda tag: seen.append(("end", tag.name)))
            except Exception as error:
                seen.append(str(error))

    def text(t: Any) -> None:
        texts.append(t.text)
        if t.lastInTextNode:
            seen.append(("text", "".join(texts)))
            texts.clear()
            t.after("|")

    def comments(c: Any) -> None:
        seen.append(("comment", c.text))
        c.before("#")

    rewriter = HTMLRewriter.new().on("*", {"element": element})
    rewriter.onDocument(
        {
            "text": text,
            "comments": comments,
            "doctype": lambda d: seen.append((d.name, d.publicId, d.systemId)),
            "end": lambda e: e.append("<end>") and None,
        }
    )
    try:
        output = await rewrite(rewriter, chunks)
    except Exception as error:
        # Where the failure comes is decided by the document; what was read before it is not.
        return str(error).encode(), []
    return output, seen


def cut(document: bytes, places: list[int]) -> list[bytes]:
    bounds = [0, *sorted(place % (len(document) + 1) for place in places), len(document)]
    return [document[a:b] for a, b in pairwise(bounds) if a < b]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_cut_gives_the_same(document: str) -> None:
    data = document.encode()

    async def main() -> None:
        whole = await observe([data])
        for place in range(1, len(data)):
            assert await observe([data[:place], data[place:]]) == whole, data[:place]
        assert await observe([bytes([byte]) for byte in data]) == whole

    asyncio.run(main())


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES), max_size=14).map("".join),
    st.lists(st.integers(0, 200), max_size=6),
)
def test_any_cuts_of_any_document_give_the_same(document: str, places: list[int]) -> None:
    data = document.encode()

    async def main() -> None:
        assert await observe(cut(data, places)) == await observe([data])

    asyncio.run(main())


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join), st.lists(st.integers(0, 200)))
def test_a_document_that_nobody_touches_leaves_unchanged(document: str, places: list[int]) -> None:
    data = document.encode()
    calls: list[str] = []
    rewriter = HTMLRewriter.new().on("*", {"element": lambda e: calls.append(e.tagName)})
    rewriter.onDocument({"text": lambda t: calls.append(t.text), "comments": lambda _: None})

    async def main() -> None:
        try:
            output = await rewrite(rewriter, cut(data, places))
        except JsException as error:
            # Markup that is ambiguous without a tree is refused, and nothing else is.
            output = data if "ambiguous" in error.message else error.message.encode()
        assert output == data

    asyncio.run(main())
