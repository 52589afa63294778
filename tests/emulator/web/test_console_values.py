"""How the console shows dates and the platform's objects."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyflare.js.array import JsArray
from pyflare.js.blob import File
from pyflare.js.buffer import ArrayBuffer
from pyflare.js.callbacks import console_sink
from pyflare.js.console import console
from pyflare.js.data_view import DataView
from pyflare.js.date import Date
from pyflare.js.formdata import FormData
from pyflare.js.headers import Headers
from pyflare.js.inspect_value import inspect
from pyflare.js.request import Request
from pyflare.js.response import Response
from pyflare.js.searchparams import URLSearchParams
from pyflare.js.transform import TransformStream
from pyflare.js.url import URL
from pyflare.js.value import JsBigInt, JsObject

HEADERS = Headers.new(JsObject.adopt({"a": "b"}))
OBJECT = JsObject.adopt


def nested(*names_and_value: Any) -> Any:
    """An object in an object: the names from the outside in, and what the innermost holds."""
    *names, value = names_and_value
    for name in reversed(names):
        value = JsObject.adopt({name: value})
    return value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Date.new(0), "1970-01-01T00:00:00.000Z"),
        (Date.new(float("nan")), "Invalid Date"),
        (JsArray.adopt([Date.new(0)]), "[ 1970-01-01T00:00:00.000Z ]"),
        (OBJECT({"d": Date.new(float("nan"))}), "{ d: Invalid Date }"),
        (nested("a", "b", Date.new(0)), "{ a: { b: 1970-01-01T00:00:00.000Z } }"),
    ],
)
def test_dates_are_shown_in_their_iso_form(value: Any, text: str) -> None:
    lines: list[str] = []
    sink = console_sink.set(lambda _, line: lines.append(line))
    console.log(value)
    console_sink.reset(sink)
    assert lines == [text]


def test_print_shows_a_date_as_its_text() -> None:
    assert str(Date.new(0)) == "Thu Jan 01 1970 00:00:00 GMT+0000 (Coordinated Universal Time)"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Headers.new(), "Headers(0) { [immutable]: false }"),
        (Headers.from_raw([]), "Headers(0) { [immutable]: true }"),
        (OBJECT({"h": HEADERS}), "{ h: Headers(1) { 'a' => 'b', [immutable]: false } }"),
        (URLSearchParams.new(), "URLSearchParams(0) {}"),
        (URLSearchParams.new("a=1&a=2"), "URLSearchParams(2) { 'a' => '1', 'a' => '2' }"),
        (FormData.new(), "FormData(0) {}"),
    ],
)
def test_lists_of_pairs_show_how_many_there_are(value: Any, text: str) -> None:
    assert inspect(value) == text


def test_numbers_in_objects_show_their_sign_and_kind() -> None:
    assert inspect(JsArray.adopt([-0.0, JsBigInt(1), 2**60])) == f"[ -0, 1n, {2**60}n ]"


def test_urls_show_their_parts() -> None:
    assert inspect(URL.new("http://u:p@h:81/p?q=1#f")).split("\n") == [
        "URL {",
        "  origin: 'http://h:81',",
        "  href: 'http://u:p@h:81/p?q=1#f',",
        "  protocol: 'http:',",
        "  username: 'u',",
        "  password: 'p',",
        "  host: 'h:81',",
        "  hostname: 'h',",
        "  port: '81',",
        "  pathname: '/p',",
        "  search: '?q=1',",
        "  hash: '#f',",
        "  searchParams: URLSearchParams(1) { 'q' => '1' }",
        "}",
    ]


def test_requests_show_their_fields_and_their_body() -> None:
    init = {"method": "POST", "body": "abc", "headers": HEADERS}
    assert inspect(Request.new("http://x/y", OBJECT(init))).split("\n") == [
        "Request {",
        "  method: 'POST',",
        "  url: 'http://x/y',",
        "  headers: Headers(2) {",
        "    'a' => 'b',",
        "    'content-type' => 'text/plain;charset=UTF-8',",
        "    [immutable]: false",
        "  },",
        "  redirect: 'follow',",
        "  fetcher: null,",
        "  signal: AbortSignal { aborted: false, reason: undefined, onabort: null },",
        "  cf: undefined,",
        "  integrity: '',",
        "  keepalive: false,",
        "  cache: undefined,",
        "  body: ReadableStream {",
        "    locked: false,",
        "    [state]: 'readable',",
        "    [supportsBYOB]: true,",
        "    [length]: 3n",
        "  },",
        "  bodyUsed: false",
        "}",
    ]


def test_responses_show_their_status_and_an_absent_body() -> None:
    shown = inspect(Response.new(None, status=404, statusText="Gone")).split("\n")
    assert shown[:4] == [
        "Response {",
        "  status: 404,",
        "  statusText: 'Gone',",
        "  headers: Headers(0) { [immutable]: false },",
    ]
    assert shown[-3:] == ["  body: null,", "  bodyUsed: false", "}"]


def test_a_response_that_was_shown_can_still_be_read() -> None:
    async def main() -> tuple[str, str]:
        response = Response.new("abc")
        inspect(response)
        return await response.text(), inspect(response.body)

    assert asyncio.run(main()) == (
        "abc",
        "ReadableStream { locked: true, [state]: 'closed', [supportsBYOB]: true, [length]: 0n }",
    )


def test_streams_of_javascript_know_no_length() -> None:
    assert inspect(TransformStream.new().readable).split("\n")[3:-1] == [
        "  [supportsBYOB]: false,",
        "  [length]: undefined",
    ]


def test_files_in_forms_are_shown() -> None:
    form = FormData.new()
    form.append("f", File.new(JsArray.adopt(["x"]), "n.txt", OBJECT({"lastModified": 5})))
    assert inspect(form) == (
        "FormData(1) {\n  'f' => File { name: 'n.txt', lastModified: 5, size: 1, type: '' }\n}"
    )


def test_a_long_buffer_is_cut() -> None:
    shown = inspect(ArrayBuffer.adopt(bytes(103)))
    assert shown.count("00 ") == 100
    assert "00 ... 3 more bytes>" in shown
    assert shown.endswith("byteLength: 103\n}")


def test_a_data_view_shows_its_buffer() -> None:
    assert inspect(DataView.new(ArrayBuffer.new(2))).split("\n") == [
        "DataView {",
        "  byteLength: 2,",
        "  byteOffset: 0,",
        "  buffer: ArrayBuffer { [Uint8Contents]: <00 00>, byteLength: 2 }",
        "}",
    ]


def test_what_is_too_deep_is_its_class_unless_it_is_empty_or_a_date() -> None:
    held = {"c": Date.new(0), "d": nested("e", OBJECT({})), "f": HEADERS}
    held |= {"g": OBJECT({}), "h": JsArray.adopt([]), "i": JsArray.adopt([1])}
    assert inspect(nested("a", "b", OBJECT(held))).split("\n") == [
        "{",
        "  a: {",
        "    b: {",
        "      c: 1970-01-01T00:00:00.000Z,",
        "      d: [Object],",
        "      f: [Headers],",
        "      g: {},",
        "      h: [],",
        "      i: [Array]",
        "    }",
        "  }",
        "}",
    ]


def test_a_line_is_as_long_as_the_runtimes() -> None:
    short, long = "x" * 53, "x" * 54
    assert inspect(OBJECT({"a": 1, "name": short})).count("\n") == 0
    assert inspect(OBJECT({"a": 1, "name": long})).count("\n") == 3
