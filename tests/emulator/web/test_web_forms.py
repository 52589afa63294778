"""Blob, File, FormData and the two form encodings."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyflare.js.array import JsArray
from pyflare.js.blob import Blob, File
from pyflare.js.buffer import Uint8Array
from pyflare.js.error import JsException
from pyflare.js.formdata import FormData
from pyflare.js.mime import MediaType
from pyflare.js.multipart import Part, encode_multipart, parse_multipart
from pyflare.js.readable import ReadableStream
from pyflare.js.request import Request
from pyflare.js.response import Response
from pyflare.js.value import jsnull


class Cut:
    """A body in two chunks."""

    length = None

    def __init__(self, data: bytes, at: int) -> None:
        self.chunks = [chunk for chunk in (data[:at], data[at:]) if chunk]

    async def read(self) -> bytes:
        return self.chunks.pop(0) if self.chunks else b""


def content(form: FormData) -> list[Any]:
    return [
        (name, value if isinstance(value, str) else (value.name, value.type, bytes(value._data)))
        for name, value in form._entries
    ]


def refusal(function: Any, *args: Any) -> str:
    with pytest.raises(JsException) as caught:
        function(*args)
    return str(caught.value)


def test_a_blob_joins_its_parts() -> None:
    async def main() -> None:
        inner = Blob.new(["in"], type="x/y")
        blob = Blob.new(["a", Uint8Array.from_bytes(b"b"), inner, "c", 5], {"type": "Text/Plain"})
        assert (blob.size, blob.type, await blob.text()) == (6, "text/plain", "abinc5")
        assert (await blob.arrayBuffer()).to_bytes() == b"abinc5"
        assert (await blob.bytes()).to_bytes() == b"abinc5"
        assert [chunk.to_bytes() async for chunk in blob.stream()] == [b"abinc5"]

    asyncio.run(main())


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ((), "abcdef"),
        ((2,), "cdef"),
        ((1, 3), "bc"),
        ((-2,), "ef"),
        ((-4, -2), "cd"),
        ((4, 2), ""),
        ((0, 100), "abcdef"),
        ((None, 2), "ab"),
    ],
)
def test_slices(args: tuple[Any, ...], expected: str) -> None:
    async def main() -> None:
        part = Blob.new(["abcdef"], type="a/b").slice(*args)
        assert (await part.text(), part.type) == (expected, "")

    asyncio.run(main())


def test_a_slice_has_the_type_it_is_given() -> None:
    assert Blob.new(["ab"]).slice(0, 1, "X/Y").type == "x/y"


@pytest.mark.parametrize("options", [{}, {"type": None}, {"type": "é"}, {"type": "a\nb"}])
def test_a_type_that_cannot_be_is_empty(options: dict[str, Any]) -> None:
    assert Blob.new(JsArray.adopt(["a"]), options).type == ""


@pytest.mark.parametrize("parts", ["text", Uint8Array.from_bytes(b"x"), 5])
def test_parts_must_be_a_sequence(parts: Any) -> None:
    assert (
        refusal(Blob.new, parts)
        == "TypeError: The first argument of a Blob must be a sequence of its parts."
    )


def test_a_file_has_a_name_and_a_time() -> None:
    file = File.new(["x"], "a.txt", type="text/plain", lastModified=5)
    assert (file.name, file.lastModified, file.type, file.size) == ("a.txt", 5, "text/plain", 1)
    assert file.constructor.name == "File"
    assert File.new(["x"], "a.txt", lastModified=None).lastModified > 1_600_000_000_000
    assert refusal(File.new, ["x"]) == "TypeError: A File needs its parts and a name."


def test_form_entries() -> None:
    form = FormData.new()
    form.append("a", 1)
    form.append("a", "2")
    form.append("b", Blob.new(["x"], type="t/u"))
    form.append("c", File.new(["y"], "f.txt"), "renamed.txt")
    form.append("d", "plain", None)
    assert content(form) == [
        ("a", "1"),
        ("a", "2"),
        ("b", ("b", "t/u", b"x")),
        ("c", ("renamed.txt", "", b"y")),
        ("d", "plain"),
    ]
    assert (form.get("a"), form.get("x"), list(form.getAll("a"))) == ("1", jsnull, ["1", "2"])
    assert "a" in form
    form.set("a", "3")
    form.delete("b")
    assert list(form.keys()) == ["a", "c", "d"]
    assert [pair[0] for pair in form] == ["a", "c", "d"]
    form["e"] = "5"
    assert form["e"] == "5"
    form.delete("e")
    assert form["e"] is jsnull


def test_the_multipart_form_on_the_wire() -> None:
    parts = [Part('a"b', b"1"), Part("f", b"\x00\r\n", "x\ny.bin"), Part("g", b"", "z", "t/u")]
    assert encode_multipart(parts, "BOUND") == (
        b'--BOUND\r\nContent-Disposition: form-data; name="a%22b"\r\n\r\n1\r\n'
        b'--BOUND\r\nContent-Disposition: form-data; name="f"; filename="x%0Ay.bin"\r\n'
        b"Content-Type: application/octet-stream\r\n\r\n\x00\r\n\r\n"
        b'--BOUND\r\nContent-Disposition: form-data; name="g"; filename="z"\r\nContent-Type: t/u\r\n\r\n\r\n'
        b"--BOUND--"
    )


def test_a_carriage_return_in_a_name_goes_out_as_it_is() -> None:
    assert b'; name="a%22\r%0Ab"\r\n' in encode_multipart([Part('a"\r\nb', b"")], "BOUND")


def test_a_name_that_ends_with_a_backslash_is_refused() -> None:
    assert refusal(encode_multipart, [Part("a\\", b"")], "b") == (
        "TypeError: Name or filename can't end with backslash"
    )


WIRE = (
    b'preamble\r\n--b\r\nContent-Disposition: form-data; name="text"\r\n\r\nh\xc3\xa9llo\r\n--b\r\n'
    b'content-disposition: form-data; name="file"; filename="a \\"q\\".txt"\r\nContent-Type: text/x\r\n\r\n'
    b'line\r\n--not the boundary\n\r\n--b\r\nContent-Disposition: form-data; name="empty"\r\n\r\n\r\n--b--\r\n'
)
FIELDS = [
    ("text", "héllo"),
    ("file", ('a "q".txt', "text/x", b"line\r\n--not the boundary\n")),
    ("empty", ""),
]


def test_a_multipart_body_gives_the_same_form_wherever_its_chunks_are_cut() -> None:
    async def main() -> None:
        for at in range(len(WIRE) + 1):
            headers = [(b"content-type", b"multipart/form-data; boundary=b")]
            request = Request.from_http("POST", "http://h/", headers, Cut(WIRE, at))
            assert content(await request.formData()) == FIELDS

    asyncio.run(main())


def test_a_streamed_body_gives_the_same_content_wherever_it_is_cut() -> None:
    async def main() -> None:
        data = '{"a": "é☃😀"}'.encode()
        for at in range(len(data) + 1):
            assert (
                await Request.from_http("POST", "http://h/", [], Cut(data, at)).json()
            ).a == "é☃😀"
            chunks = [Uint8Array.from_bytes(data[:at]), Uint8Array.from_bytes(data[at:])]
            assert await Response.new(ReadableStream.from_(chunks)).text() == data.decode()

    asyncio.run(main())


def test_bare_line_feeds_are_accepted() -> None:
    body = b'--b\nContent-Disposition: form-data; name="a"\n\n1\n--b--'
    assert [(part.name, part.data) for part in parse_multipart(body, "b")] == [("a", b"1")]


def test_a_file_name_without_quotes_is_not_read() -> None:
    body = b'--b\r\nContent-Disposition: form-data; name="a"; filename=f.txt\r\n\r\nx\r\n--b--'
    assert content(FormData.parse(body, "multipart/form-data; boundary=b")) == [("a", "x")]


def test_a_file_input_without_a_file_is_an_empty_value() -> None:
    body = b'--b\r\nContent-Disposition: form-data; name="a"; filename=""\r\n\r\n\r\n--b--'
    assert content(FormData.parse(body, "multipart/form-data; boundary=b")) == [("a", "")]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", "No initial boundary string (or you have a truncated message)."),
        (b"--b", "No initial boundary string (or you have a truncated message)."),
        (b"--bX", "Boundary string was not succeeded by CRLF, LF, or '--'."),
        (b"--b\r\nA: b", "No multipart message header termination found."),
        (b"--b\r\nnonsense\r\n\r\nx\r\n--b--", "FormData part had invalid headers."),
        (
            b"--b\r\nA: b\r\n\r\nx\r\n--b--",
            "No valid Content-Disposition header found in FormData part.",
        ),
        (
            b"--b\r\nContent-Disposition: ;\r\n\r\nx\r\n--b--",
            "Invalid Content-Disposition header found in FormData part.",
        ),
        (
            b"--b\r\nContent-Disposition: attachment\r\n\r\nx\r\n--b--",
            'Content-Disposition header for FormData part must have the value "form-data", possibly followed by '
            'parameters. Got: "attachment"',
        ),
        (
            b"--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--",
            "Content-Disposition header in FormData part is missing a name.",
        ),
        (
            b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nx',
            "No subsequent boundary string after multipart message.",
        ),
    ],
)
def test_broken_multipart_bodies_are_refused(body: bytes, text: str) -> None:
    assert refusal(lambda: list(parse_multipart(body, "b"))) == f"TypeError: {text}"


@pytest.mark.parametrize(
    "parameters",
    [
        "name=a",
        "name=a; filename=f.txt",
        "name='a'",
        'Name="a"',
        'filename=f.txt; name="a"',
        'name=""',
    ],
)
def test_a_name_is_in_quotes_and_in_small_letters(parameters: str) -> None:
    body = f"--b\r\nContent-Disposition: form-data; {parameters}\r\n\r\nx\r\n--b--".encode()
    assert refusal(lambda: list(parse_multipart(body, "b"))) == (
        "TypeError: Content-Disposition header in FormData part is missing a name."
    )


NAMES = st.text(
    st.characters(exclude_characters='\\"\n\r%\0', exclude_categories=["Cs"]),
    min_size=1,
    max_size=8,
)


@given(st.lists(st.tuples(NAMES, st.binary(max_size=40), st.none() | NAMES), max_size=4))
def test_what_is_encoded_is_parsed_again(fields: list[tuple[str, bytes, str | None]]) -> None:
    parts = [
        Part(name, data, filename, "a/b" if filename else "") for name, data, filename in fields
    ]
    body = encode_multipart(parts, "boundary0123456789")
    assert list(parse_multipart(body, "boundary0123456789")) == parts


def test_a_form_survives_a_request() -> None:
    async def main() -> None:
        form = FormData.new()
        form.append("a", "1")
        form.append("f", File.new([Uint8Array.from_bytes(b"\x00\xff")], "n.bin", type="a/b"))
        request = Request.new("http://h/", method="POST", body=form)
        assert content(await request.formData()) == [
            ("a", "1"),
            ("f", ("n.bin", "a/b", b"\x00\xff")),
        ]

    asyncio.run(main())


def test_urlencoded_forms() -> None:
    async def main() -> None:
        response = Response.new(
            "a=1&b=%C3%A9+x", headers={"content-type": "application/x-www-form-urlencoded"}.items()
        )
        assert content(await response.formData()) == [("a", "1"), ("b", "é x")]

    asyncio.run(main())


@pytest.mark.parametrize(
    ("content_type", "text"),
    [
        (None, "Parsing a Body as FormData requires a Content-Type header."),
        (
            "text/plain",
            "Unrecognized Content-Type header value. FormData can only parse the following MIME types:",
        ),
        ("multipart/form-data", "No boundary string in Content-Type header."),
        (
            "application/x-www-form-urlencoded; charset=latin1",
            "Non-utf-8 application/x-www-form-urlencoded body.",
        ),
    ],
)
def test_bodies_that_are_no_forms_are_refused(content_type: str | None, text: str) -> None:
    async def main() -> None:
        headers = {} if content_type is None else {"content-type": content_type}
        with pytest.raises(JsException) as caught:
            await Response.new(Uint8Array.from_bytes(b"a=1"), headers=headers.items()).formData()
        assert str(caught.value).startswith(f"TypeError: {text}")

    asyncio.run(main())


@pytest.mark.parametrize(
    ("text", "essence", "parameters"),
    [
        ("text/html", "text/html", {}),
        (" Text/HTML ; Charset=UTF-8", "text/html", {"charset": "UTF-8"}),
        ('a/b; x="q;\\"r"; y=2; x=3', "a/b", {"x": 'q;"r', "y": "2"}),
        ("a/b;;z", "a/b", {}),
    ],
)
def test_media_types(text: str, essence: str, parameters: dict[str, str]) -> None:
    parsed = MediaType.parse(text)
    assert parsed == MediaType(essence, parameters)


def test_what_is_no_media_type() -> None:
    assert MediaType.parse("nonsense") is None
