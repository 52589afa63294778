"""Generated inputs give what Node gives. Skipped where there is no Node."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from typing import Any

import pytest

from pyflare.js.buffer import Uint8Array
from pyflare.js.encoding import TextDecoder, atob
from pyflare.js.error import JsException
from pyflare.js.headers import Headers
from pyflare.js.searchparams import URLSearchParams
from pyflare.js.url import parse

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="node is not on PATH")

PARTS = [
    "href",
    "origin",
    "protocol",
    "username",
    "password",
    "host",
    "hostname",
    "port",
    "pathname",
    "search",
    "hash",
]


def node(expression: str, inputs: list[Any]) -> list[Any]:
    """The values of a JavaScript expression for each ``x``; null where it throws."""
    program = (
        "const inputs = JSON.parse(require('fs').readFileSync(0, 'utf8'));"
        f"const f = (x) => {{ try {{ return {expression} }} catch (e) {{ return null }} }};"
        "process.stdout.write(JSON.stringify(inputs.map(f)))"
    )
    assert NODE is not None
    result = subprocess.run(
        [NODE, "-e", program], input=json.dumps(inputs), capture_output=True, text=True, check=True
    )
    return json.loads(result.stdout)  # type: ignore[no-any-return]


def generated(
    pieces: list[str], count: int, longest: int, prefix: tuple[str, ...] = ("",)
) -> list[str]:
    choose = random.Random(20240811)
    return [
        choose.choice(prefix) + "".join(choose.choices(pieces, k=choose.randint(0, longest)))
        for _ in range(count)
    ]


def test_urls() -> None:
    pieces = [
        "a",
        "B",
        "é",
        "☃",
        "/",
        "//",
        "\\",
        "?",
        "#",
        ":",
        "@",
        ".",
        "..",
        "%2e",
        "%zz",
        "[",
        "]",
        "&",
        "=",
        "+",
    ]
    pieces += [
        " ",
        "\t",
        "'",
        '"',
        "<",
        "{",
        "1",
        "0x7f",
        "443",
        "80",
        "localhost",
        "-",
        "_",
        "~",
        "*",
        "!",
    ]
    schemes = (
        "http://",
        "https://",
        "http:",
        "HTTP://h/",
        "ws://",
        "mailto:",
        "file:///",
        "foo://",
        "",
    )
    inputs = generated(pieces, 3000, 8, schemes)
    expected = node(f"(u => {json.dumps(PARTS)}.map(p => u[p]))(new URL(x))", inputs)
    for text, parts in zip(inputs, expected, strict=True):
        record = parse(text)
        assert (None if record is None else [getattr(record, part) for part in PARTS]) == parts, (
            text
        )


def test_relative_urls() -> None:
    inputs = generated(["a", "/", "..", ".", "?", "#", "//h", ":", "b c"], 500, 5)
    expected = node("new URL(x, 'https://base.example/p/q?r#s').href", inputs)
    for text, href in zip(inputs, expected, strict=True):
        record = parse(text, "https://base.example/p/q?r#s")
        assert (None if record is None else record.href) == href, text


def test_search_parameters() -> None:
    # Node itself garbles letters beyond ASCII beside a percent sign that escapes nothing, so there are none.
    inputs = generated(
        ["a", "=", "&", "+", "%20", "%", "%C3%A9", "%E9", "?", "#", " ", "~", "*", "'"], 1000, 10
    )
    expected = node("(p => [[...p], p.toString()])(new URLSearchParams(x))", inputs)
    for text, (pairs, encoded) in zip(inputs, expected, strict=True):
        params = URLSearchParams.new(text)
        assert [list(pair) for pair in params.entries()] == pairs, text
        assert params.toString() == encoded, text


def test_headers() -> None:
    choose = random.Random(7)
    names = ["a", "A", "x-b", "Set-Cookie", "set-cookie", "Accept", "bad name", ""]
    values = ["1", " 2 ", "a\nb", "\tx", "", "a, b", "\0"]
    inputs = [
        [[choose.choice(names), choose.choice(values)] for _ in range(choose.randint(0, 5))]
        for _ in range(600)
    ]
    expected = node("[...new Headers(x)]", inputs)
    for pairs, result in zip(inputs, expected, strict=True):
        try:
            headers = [list(pair) for pair in Headers.new(pairs)]
        except JsException:
            headers = None  # type: ignore[assignment]
        assert headers == result, pairs


def test_base64() -> None:
    inputs = generated(["A", "b", "9", "+", "/", "=", " ", "\n", "-", "é"], 1500, 8)
    for text, result in zip(inputs, node("atob(x)", inputs), strict=True):
        try:
            decoded = atob(text)
        except JsException:
            decoded = None  # type: ignore[assignment]
        assert decoded == result, text


@pytest.mark.parametrize(
    "label", ["utf-8", "utf-16le", "windows-1251", "iso-8859-7", "koi8-u", "shift_jis", "gbk"]
)
def test_decoding(label: str) -> None:
    choose = random.Random(label)
    ranges = (
        [(0, 255)] if label in ("utf-8", "utf-16le", "windows-1251", "koi8-u") else [(0x20, 0x7E)]
    )
    inputs = [
        [choose.randint(*choose.choice(ranges)) for _ in range(choose.randint(0, 12))]
        for _ in range(400)
    ]
    expected = node(f"new TextDecoder({label!r}).decode(new Uint8Array(x))", inputs)
    for data, text in zip(inputs, expected, strict=True):
        assert TextDecoder.new(label).decode(Uint8Array.from_bytes(bytes(data))) == text, data
