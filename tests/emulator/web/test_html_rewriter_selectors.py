"""Which elements selectors mean, and what is said of selectors that are not supported."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyflare.js.error import JsException
from pyflare.js.html_rewriter import HTMLRewriter

from .html_rewriting import rewrite, rewritten

PAGE = """
<html id=html><body id=body class="page dark">
<div id=a class="box  first"><p id=b>x</p><p id=c lang=en-US>y<em id=d>z</em></p></div>
<ul id=e><li id=f><li id=g></li></ul>
<ul id=h><li id=i></li><li id=j></li><b id=k></b><li id=l></li></ul>
<a id=m href="https://Example.com/x.png" data-x="one two" TITLE=""></a>
<input id=n type=TEXT disabled><DIV id=o></DIV>
<svg id=p type=TEXT><g id=q /><g id=r></g></svg>
</body></html>
"""


def found(selector: str, page: str = PAGE) -> str:
    ids: list[str] = []
    rewritten(page, (selector, lambda e: ids.append(e.getAttribute("id"))))
    return " ".join(ids)


@pytest.mark.parametrize(
    ("selector", "ids"),
    [
        ("p", "b c"),
        ("P", "b c"),
        ("DIV", "a o"),
        ("*", "html body a b c d e f g h i j k l m n o p q r"),
        ("p, em", "b c d"),
        ("p,p , p", "b c"),
        ("#c", "c"),
        ("#C", ""),
        (".first", "a"),
        (".First", ""),
        ("div.box.first", "a"),
        (".box.dark", ""),
        ("[href]", "m"),
        ("[HREF]", "m"),
        ("[title]", "m"),
        ("[title='']", "m"),
        ("[id=a]", "a"),
        ('[ href = "https://Example.com/x.png" ]', "m"),
        ("[href='https://example.com/x.png']", ""),
        ("[href='https://example.com/x.png' i]", "m"),
        ("[href^=https]", "m"),
        ("[href^=HTTPS i]", "m"),
        ("[href$='.png']", "m"),
        ("[href*=example]", ""),
        ("[href*=Example]", "m"),
        ("[data-x~=two]", "m"),
        ("[data-x~='one two']", ""),
        ("[class~=first]", "a"),
        ("[lang|=en]", "c"),
        ("[lang|='en-US']", "c"),
        ("[lang|=e]", ""),
        ("[type=text]", "n"),
        ("[type=text s]", ""),
        ("[type=TEXT]", "n p"),
        ("div p", "b c"),
        ("div em", "d"),
        ("div > em", ""),
        ("div > p > em", "d"),
        ("div>p>em", "d"),
        ("body div p em", "d"),
        ("html > body > ul > li", "f i j l"),
        ("body   >   a", "m"),
        ("li li", "g"),
        ("p:first-child", "b"),
        ("p:nth-child(2)", "c"),
        ("ul:nth-child(2)", "e"),
        ("#h :nth-child(odd)", "i k"),
        ("#h > :nth-child(2n)", "j l"),
        ("#h > li:nth-child(n + 2)", "j l"),
        ("#h > *:nth-child(-n+2)", "i j"),
        ("#h > li:nth-of-type(3)", "l"),
        ("#h > :first-of-type", "i k"),
        ("#h > li:nth-of-type(2n+1)", "i l"),
        ("p:not(#b)", "c"),
        ("p:not([lang])", "b"),
        ("li:not(:nth-child(1))", "j l"),
        ("body > *:not(ul):not(div)", "m n p"),
        ("body > :not(ul, div, svg)", "m n"),
        ("p:not(:not(#b))", "b"),
        ("ul:not(*)", ""),
        ("*|p", "b c"),
        ("|p", ""),
        ("\\70", "b c"),
        ("[id=\\61 ]", "a"),
        ("[id='\\62']", "b"),
        ("g", "q r"),
        ("svg > g", "q r"),
        ("[id=a", "a"),
        ("[id='a", "a"),
    ],
)
def test_selectors(selector: str, ids: str) -> None:
    assert found(selector) == ids


def test_a_negation_refuses_each_of_its_parts() -> None:
    # Production negates every part of `:not(a.b)` by itself.
    page = "<a id=1 class=b></a><a id=2></a><i id=3 class=b></i><i id=4></i>"
    assert found(":not(a.b)", page) == "4"


def test_an_attribute_counts_with_its_first_value() -> None:
    assert found("[a='1']", "<p id=x a=1 a=2>") == "x"
    assert found("[a='2']", "<p id=x a=1 a=2>") == ""


def test_attribute_values_are_compared_as_they_are_written() -> None:
    assert found("[href='/?a&amp;b']", "<a id=x href='/?a&amp;b'>") == "x"
    assert found("[href='/?a&b']", "<a id=x href='/?a&amp;b'>") == ""


def test_elements_without_end_tags_do_not_contain_what_follows() -> None:
    assert found("br p, img p", "<br><p id=a></p><img><p id=b></p>") == ""


def test_an_unclosed_element_contains_what_follows_up_to_the_end_tag_around() -> None:
    page = "<div><p><i id=a></i></div><i id=b></i>"
    assert found("p i", page) == "a"


def test_an_end_tag_without_a_start_tag_closes_nothing() -> None:
    assert found("p i", "<p></div></span><i id=a></i>") == "a"


def test_a_descendant_is_found_once_for_several_ancestors() -> None:
    assert found("div i", "<div><div><div><i id=a></i></div></div></div><i id=b>") == "a"


def test_what_is_looked_for_below_an_element_ends_with_it() -> None:
    page = "<a><b><i id=1></i></b><i id=2></i></a><b><i id=3></i></b>"
    assert found("a b i", page) == "1"
    assert found("a > i", page) == "2"


def test_selectors_in_the_documents_own_encoding() -> None:
    seen: list[Any] = []
    rewriter = HTMLRewriter.new().on("[title=é]", {"element": lambda e: seen.append(e.tagName)})
    for charset in ("utf-8", "iso-8859-1"):
        document = "<p title=é>".encode(charset)
        asyncio.run(rewrite(rewriter, [document], f"text/html; charset={charset}"))
    assert seen == ["p", "p"]


def test_an_operand_that_the_encoding_has_not_matches_nothing() -> None:
    rewriter = HTMLRewriter.new().on("[title=☃], ☃", {"element": lambda e: e.remove() and None})
    output = asyncio.run(rewrite(rewriter, [b"<p title=x>"], "text/html; charset=latin1"))
    assert output == b"<p title=x>"


PSEUDO = "Unsupported pseudo-class or pseudo-element in selector."
TOKEN = "Unexpected token in selector."
END = "Unexpected end of selector."
NAMESPACES = "Selectors with explicit namespaces are not supported."
IN_ATTRIBUTE = "Unexpected token in the attribute selector."


@pytest.mark.parametrize(
    ("selector", "reason"),
    [
        ("", "The selector is empty."),
        ("p,", "The selector is empty."),
        ("> p", "The selector is empty."),
        ("1a", "The selector is empty."),
        ("#1", "The selector is empty."),
        ("a(b)", "The selector is empty."),
        ("p >", "Dangling combinator in selector."),
        ("a > > b", "Dangling combinator in selector."),
        ("a $", "Dangling combinator in selector."),
        ("a + b", "Unsupported combinator `+` in selector."),
        ("a ~ b", "Unsupported combinator `~` in selector."),
        ("a$", TOKEN),
        ("a)", TOKEN),
        ("[a=b x]", TOKEN),
        ("[a=b i x]", TOKEN),
        (":nth-child(x)", TOKEN),
        (":nth-child(2 of p)", TOKEN),
        ("a:", END),
        (".", END),
        ("[", END),
        ("[]", END),
        ("[a=]", END),
        ("*|", END),
        ("[|", END),
        (":nth-child()", END),
        (":nth-child(2n+)", END),
        ("[=a]", "Missing attribute name in attribute selector."),
        ("[a=1]", IN_ATTRIBUTE),
        ("[a!b]", IN_ATTRIBUTE),
        ("[|1]", IN_ATTRIBUTE),
        (".{", "Invalid or unescaped class name in selector."),
        ("n|a", NAMESPACES),
        ("[n|a]", NAMESPACES),
        ("[*|a]", NAMESPACES),
        ("a:hover", PSEUDO),
        ("a::before", PSEUDO),
        (":last-child", PSEUDO),
        (":nth-last-child(1)", PSEUDO),
        (":is(a)", PSEUDO),
        (":has(a)", PSEUDO),
        (":root", PSEUDO),
        (":not(a b)", PSEUDO),
        (":not(a:hover)", PSEUDO),
    ],
)
def test_a_selector_that_is_not_supported_is_refused(selector: str, reason: str) -> None:
    with pytest.raises(JsException) as caught:
        HTMLRewriter.new().on(selector, {})
    assert str(caught.value) == f"TypeError: Parser error: {reason}"
