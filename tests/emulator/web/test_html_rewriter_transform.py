"""``transform``: which responses, charsets and handlers it takes; a Worker that uses it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pyflare.js.error import JsException
from pyflare.js.html_rewriter import HTMLRewriter
from pyflare.js.readable import ReadableStream
from pyflare.js.response import Response

from .html_rewriting import rewrite


def shout() -> HTMLRewriter:
    return HTMLRewriter.new().on("p", {"element": lambda e: e.append("!") and None})


def stream(*chunks: bytes) -> ReadableStream:
    async def generate() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    return ReadableStream.from_async_iterator(generate())


def test_the_response_keeps_its_status_and_headers_but_not_its_length() -> None:
    async def main() -> None:
        given = Response.new(
            "<p>x</p>",
            status=404,
            statusText="Nope",
            headers={"content-type": "text/html", "content-length": "8", "x-a": "b"}.items(),
        )
        made = shout().transform(given)
        assert made is not given
        assert (made.status, made.statusText) == (404, "Nope")
        assert list(made.headers.keys()) == ["content-type", "x-a"]
        assert given.bodyUsed
        assert await made.text() == "<p>x!</p>"

    asyncio.run(main())


def test_any_content_type_is_rewritten() -> None:
    async def main() -> None:
        made = shout().transform(
            Response.new("<p></p>", headers={"content-type": "image/png"}.items())
        )
        assert await made.text() == "<p>!</p>"

    asyncio.run(main())


def test_a_response_without_a_body_comes_back() -> None:
    given = Response.new(None, status=204)
    assert shout().transform(given) is given


def test_an_error_response_cannot_be_transformed() -> None:
    with pytest.raises(JsException) as caught:
        shout().transform(Response.error())
    assert str(caught.value) == "TypeError: HTMLRewriter cannot transform an error response"


@pytest.mark.parametrize("given", [None, "<p>", {}, b"<p>"])
def test_only_responses_can_be_transformed(given: Any) -> None:
    with pytest.raises(JsException) as caught:
        shout().transform(given)
    assert str(caught.value) == (
        "TypeError: Failed to execute 'transform' on 'HTMLRewriter': parameter 1 is not of type 'Response'."
    )


def test_a_used_response_cannot_be_transformed() -> None:
    async def main() -> None:
        given = Response.new("<p>")
        await given.text()
        with pytest.raises(JsException, match="Body has already been used"):
            shout().transform(given)

    asyncio.run(main())


def test_a_response_that_is_being_read_cannot_be_transformed() -> None:
    async def main() -> None:
        given = Response.new(stream(b"<p>"))
        given.body.getReader()
        with pytest.raises(JsException, match="locked to a reader"):
            shout().transform(given)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("method", "handlers", "reason"),
    [
        (
            "on",
            None,
            "Failed to execute 'on' on 'HTMLRewriter': parameter 2 is not of type 'ElementContentHandlers'.",
        ),
        (
            "on",
            {"text": "x"},
            "Incorrect type for the 'text' field on 'ElementContentHandlers': the provided value is not of type "
            "'function'.",
        ),
        (
            "onDocument",
            "x",
            "Failed to execute 'onDocument' on 'HTMLRewriter': parameter 1 is not of type "
            "'DocumentContentHandlers'.",
        ),
        (
            "onDocument",
            {"end": 1},
            "Incorrect type for the 'end' field on 'DocumentContentHandlers': the provided value is not of type "
            "'function'.",
        ),
    ],
)
def test_handlers_have_to_be_functions_of_an_object(
    method: str, handlers: Any, reason: str
) -> None:
    rewriter = HTMLRewriter.new()
    with pytest.raises(JsException) as caught:
        rewriter.on("p", handlers) if method == "on" else rewriter.onDocument(handlers)
    assert str(caught.value) == f"TypeError: {reason}"


def test_one_rewriter_transforms_several_responses_side_by_side() -> None:
    async def main() -> None:
        rewriter = shout()
        responses = [rewriter.transform(Response.new(f"<p>{n}</p>")) for n in range(3)]
        texts = await asyncio.gather(*(response.text() for response in responses))
        assert texts == ["<p>0!</p>", "<p>1!</p>", "<p>2!</p>"]

    asyncio.run(main())


def test_handlers_registered_after_a_transform_count_for_the_next() -> None:
    async def main() -> None:
        rewriter = HTMLRewriter.new()
        first = rewriter.transform(Response.new("<p></p>"))
        rewriter.on("p", {"element": lambda e: e.remove() and None})
        assert await first.text() == "<p></p>"
        assert await rewriter.transform(Response.new("<p></p>")).text() == ""

    asyncio.run(main())


@pytest.mark.parametrize(
    ("charset", "codec"),
    [
        ("iso-8859-1", "cp1252"),
        ('"Windows-1251"', "cp1251"),
        ("shift_jis", "cp932"),
        ("gbk", "gbk"),
        ("euc-kr", "cp949"),
    ],
)
def test_the_charset_is_that_of_the_content_type(charset: str, codec: str) -> None:
    words = {"cp1252": "é", "cp1251": "жук", "cp932": "表示", "gbk": "中文", "cp949": "한국"}
    word = words[codec]
    seen: list[str] = []

    def element(e: Any) -> None:
        seen.append(e.getAttribute("title"))
        e.setAttribute("title", word * 2)
        e.append(word)

    rewriter = HTMLRewriter.new().on(
        "p", {"element": element, "text": lambda t: seen.append(t.text)}
    )
    document = f"<p title={word}>{word}</p>".encode(codec)
    output = asyncio.run(
        rewrite(rewriter, [bytes([b]) for b in document], f"text/html; charset={charset}")
    )
    assert output.decode(codec) == f'<p title="{word * 2}">{word}{word}</p>'
    assert "".join(seen) == word * 2


def test_what_an_encoding_has_not_becomes_a_character_reference() -> None:
    rewriter = HTMLRewriter.new().on("p", {"element": lambda e: e.append("☃") and None})
    output = asyncio.run(rewrite(rewriter, [b"<p></p>"], "text/html; charset=latin1"))
    assert output == b"<p>&#9731;</p>"


@pytest.mark.parametrize("edit", ["tag", "attribute", "comment"])
def test_a_name_that_the_encoding_has_not_is_refused(edit: str) -> None:
    def element(e: Any) -> None:
        if edit == "tag":
            e.tagName = "p☃"
        else:
            e.setAttribute("☃", "x")

    def comments(comment: Any) -> None:
        comment.text = "☃"

    rewriter = HTMLRewriter.new()
    rewriter.onDocument({"comments": comments}) if edit == "comment" else rewriter.on(
        "p", {"element": element}
    )
    with pytest.raises(JsException, match=r"can't be represented in the document's character enc"):
        asyncio.run(rewrite(rewriter, [b"<p><!--x-->"], "text/html; charset=latin1"))


@pytest.mark.parametrize(
    ("charset", "reason"),
    [
        ("utf-16", "Expected ASCII-compatible encoding."),
        ("iso-2022-jp", "Expected ASCII-compatible encoding."),
        ("nonsense", "Unknown character encoding has been provided."),
        ("hz-gb-2312", "Unknown character encoding has been provided."),
    ],
)
def test_a_charset_that_cannot_be_rewritten_is_refused_at_once(charset: str, reason: str) -> None:
    given = Response.new("<p>", headers={"content-type": f"text/html; charset={charset}"}.items())
    with pytest.raises(JsException) as caught:
        shout().transform(given)
    assert str(caught.value) == f"TypeError: Parser error: {reason}"
    assert not given.bodyUsed


WORKER = """
from js import HTMLRewriter
from pyodide.ffi import create_proxy, run_sync
from workers import Response, WorkerEntrypoint
import asyncio

PAGE = "<!DOCTYPE html><html><head><title>Old</title></head><body><p>hi</p></body></html>"

class Head:
    def __init__(self, title):
        self.title = title

    async def fetch_title(self):
        await asyncio.sleep(0)
        return self.title

    def element(self, head):
        title = run_sync(self.fetch_title())
        head.prepend(f'<meta property="og:title" content="{title}">', html=True)

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        page = Response(PAGE, headers={"content-type": "text/html", "content-length": str(len(PAGE))})
        rewriter = HTMLRewriter.new()
        rewriter.on("head", create_proxy(Head("Tea & cake")))
        return rewriter.transform(page.js_object)
"""


def test_a_worker_injects_tags_into_a_page(tmp_path: Any, run: Any) -> None:
    from ..conftest import request, write_worker

    async def program(flare: Any) -> Any:
        return await request(flare)

    answer = run(program, write_worker(tmp_path / "site", WORKER))
    assert answer.status == 200
    assert "content-length" not in dict(answer.headers)
    assert answer.text == (
        '<!DOCTYPE html><html><head><meta property="og:title" content="Tea & cake"><title>Old</title></head>'
        "<body><p>hi</p></body></html>"
    )
