"""The type of a blob that a body becomes: the content type, read and written anew as workerd does."""

from __future__ import annotations

import asyncio

import pytest

from pyflare.js.blob import Blob
from pyflare.js.buffer import Uint8Array
from pyflare.js.formdata import FormData
from pyflare.js.request import Request
from pyflare.js.response import Response

# As workerd gives them.
TYPES = [
    ("application/json", "application/json"),
    ("text/plain; charset=utf-8", "text/plain;charset=utf-8"),
    ("text/plain;charset=UTF-8", "text/plain;charset=UTF-8"),
    ('text/plain; charset="utf-8"', "text/plain;charset=utf-8"),
    ("IMAGE/PNG", "image/png"),
    (" a/b ", "a/b"),
    ("a/b; q=1; r=2", "a/b;q=1;r=2"),
    ("a/b; Q=Ab", "a/b;q=Ab"),
    ("a/b;", "a/b"),
    ("a/b; x", "a/b"),
    ("a/b; q=", "a/b"),
    ('a/b; q=""', 'a/b;q=""'),
    ("a/b; q= 1", 'a/b;q=" 1"'),
    ("a/b;q=1 ", "a/b;q=1"),
    ("a/b;q =1", "a/b"),
    ("a/b; =1", "a/b"),
    ("a/b;q=1;q=2", "a/b;q=1"),
    ("a/b;q=x y", 'a/b;q="x y"'),
    ('text/html; charset="x y"', 'text/html;charset="x y"'),
    ('a/b; q="x\\"y"', 'a/b;q="x\\"y"'),
    ('a/b;q="x\\y"', "a/b;q=xy"),
    ('a/b;q="a;b";r=1', 'a/b;q="a;b";r=1'),
    ('a/b;q="x"y;r=1', "a/b;q=x;r=1"),
    ('a/b;q="abc', "a/b;q=abc"),
    ("a/b;q=ü", 'a/b;q="ü"'),
    ("multipart/form-data;boundary=AbC;x=1", "multipart/form-data; boundary=AbC;x=1"),
    ('Multipart/Mixed; boundary="a b"', 'multipart/mixed; boundary="a b"'),
    ("", ""),
    ("garbage", ""),
    ("*/*", ""),
    ("a/", ""),
    ("/b", ""),
    ("a/b/c", ""),
    ("a b/c", ""),
    ("a/b c", ""),
    (",", ""),
    ("a/b, c/d", "c/d"),
    ("a/b, garbage", "a/b"),
    ("garbage, a/b", "a/b"),
    ("a/b, */*", "a/b"),
    ("a/b,", "a/b"),
    ("a/b;q=x,y", "a/b;q=x"),
    ('a/b;q="x,y"', 'a/b;q="x,y"'),
    ('a/b;q="x,y", c/d', "c/d"),
    ("a/b;q=1, a/b", "a/b"),
    ("text/html;charset=x, text/html", "text/html;charset=x"),
    ("text/html;charset=x, text/html;charset=y", "text/html;charset=y"),
    ("text/html;q=1;charset=x, text/html;r=2", "text/html;r=2;charset=x"),
    ("text/html;charset=x, a/b, text/html", "text/html"),
]


def type_of(body: Request | Response) -> str:
    async def main() -> str:
        return (await body.blob()).type  # type: ignore[no-any-return]

    return asyncio.run(main())


@pytest.mark.parametrize(("given", "expected"), TYPES)
def test_the_type_is_the_content_type_as_workerd_writes_it(given: str, expected: str) -> None:
    headers = [("Content-Type", given)]
    assert type_of(Response.new("x", headers=headers)) == expected
    assert type_of(Request.new("http://a/", method="PUT", body="x", headers=headers)) == expected


def test_lines_of_one_header_count_together() -> None:
    headers = [("Content-Type", "a/b"), ("Content-Type", "c/d")]
    assert type_of(Response.new("x", headers=headers)) == "c/d"


def test_the_type_follows_the_body_where_no_header_is_given() -> None:
    assert type_of(Response.new("x")) == "text/plain;charset=UTF-8"
    assert type_of(Response.new(Uint8Array.from_bytes(b"x"))) == ""
    assert type_of(Response.new(Blob.of(b"x", "text/plain; charset=a"))) == "text/plain;charset=a"
    assert type_of(Response.new(Blob.of(b"x", "garbage"))) == ""
    form = Response.new(FormData.new())
    assert type_of(form).startswith("multipart/form-data; boundary=")
