"""console: levels, formats, state."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from pyflare.js.array import JsArray
from pyflare.js.buffer import ArrayBuffer, Uint8Array
from pyflare.js.callbacks import console_sink
from pyflare.js.collections import JsMap, JsSet
from pyflare.js.console import ConsoleState, console, console_state
from pyflare.js.error import TypeError_
from pyflare.js.headers import Headers
from pyflare.js.inspect_value import inspect
from pyflare.js.response import Response
from pyflare.js.value import JsObject, jsnull


@pytest.fixture
def lines() -> Iterator[list[tuple[str, str]]]:
    collected: list[tuple[str, str]] = []
    sink = console_sink.set(lambda level, text: collected.append((level, text)))
    state = console_state.set(ConsoleState())
    yield collected
    console_sink.reset(sink)
    console_state.reset(state)


@pytest.mark.parametrize("level", ["log", "info", "debug", "warn", "error"])
def test_levels(lines: list[tuple[str, str]], level: str) -> None:
    getattr(console, level)("a", 1)
    assert lines == [(level, "a 1")]


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ((), ""),
        (("%s is %d and %i", "x", 1.5, 1.5), "x is 1.5 and 1"),
        (("%s %s", "a"), "a %s"),
        (("100%", "x"), "100% x"),
        (("%%", "x"), "% x"),
        (("%j %o", JsObject.adopt({"a": 1}), JsObject.adopt({"a": 1})), '{"a":1} { a: 1 }'),
        (("%cstyled", "color: red"), "styled"),
        (("a", "b", "c"), "a b c"),
        ((None, jsnull, True, 1.0, "x"), "undefined null true 1 x"),
        (([1, "a"],), "[1, 'a']"),
    ],
)
def test_formatting(lines: list[tuple[str, str]], args: tuple[Any, ...], text: str) -> None:
    console.log(*args)
    assert lines == [("log", text)]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (
            JsObject.adopt({"a": "x", "b c": JsArray.adopt([1, None])}),
            "{ a: 'x', 'b c': [ 1, undefined ] }",
        ),
        (JsObject.adopt({}), "{}"),
        (JsArray.adopt([]), "[]"),
        (JsMap.new(JsArray.adopt([JsArray.adopt(["k", 1])])), "Map(1) { 'k' => 1 }"),
        (JsSet.new(JsArray.adopt([1])), "Set(1) { 1 }"),
        (Uint8Array.from_bytes(b"\x01\x02"), "Uint8Array(2) [ 1, 2 ]"),
        (ArrayBuffer.adopt(b"ab"), "ArrayBuffer { [Uint8Contents]: <61 62>, byteLength: 2 }"),
        (Headers.new({"a": "b"}.items()), "Headers(1) { 'a' => 'b', [immutable]: false }"),
        (TypeError_("wrong"), "TypeError: wrong"),
        (Response, "[class Response]"),
        ("it's", '"it\'s"'),
    ],
)
def test_values(value: Any, text: str) -> None:
    assert inspect(value) == text


def test_depth_length_and_cycles_are_bounded() -> None:
    deep = JsObject.adopt(
        {"a": JsObject.adopt({"b": JsObject.adopt({"c": JsObject.adopt({"d": 1})})})}
    )
    assert inspect(deep) == "{ a: { b: { c: [Object] } } }"
    assert "... 900 more items" in inspect(JsArray.adopt(list(range(1000))))
    circular = JsObject.adopt({})
    circular.me = circular
    assert inspect(circular) == "{ me: [Circular *1] }"


def test_long_objects_are_broken_into_lines() -> None:
    value = JsObject.adopt({f"name{index}": "some longer text" for index in range(4)})
    assert inspect(value).split("\n")[:2] == ["{", "  name0: 'some longer text',"]


def test_an_error_that_was_raised_shows_where() -> None:
    with pytest.raises(TypeError_) as caught:
        raise TypeError_("wrong")
    assert "test_web_console.py" in inspect(caught.value)


def test_counting(lines: list[tuple[str, str]]) -> None:
    console.count()
    console.count("x")
    console.count()
    console.countReset()
    console.count()
    console.countReset("unknown")
    assert [text for _, text in lines] == [
        "default: 1",
        "x: 1",
        "default: 2",
        "default: 1",
        "Count for 'unknown' does not exist",
    ]


def test_timing(lines: list[tuple[str, str]]) -> None:
    console.time("x")
    console.time("x")
    console.timeLog("x", "so far")
    console.timeEnd("x")
    console.timeEnd("x")
    console.timeLog("x")
    texts = [text for _, text in lines]
    assert texts[0] == "Label 'x' already exists for console.time()"
    assert texts[1].startswith("x: ")
    assert texts[1].endswith("ms so far")
    assert texts[2].endswith("ms")
    assert texts[3:] == [
        "No such label 'x' for console.timeEnd()",
        "No such label 'x' for console.timeLog()",
    ]


def test_groups_indent(lines: list[tuple[str, str]]) -> None:
    console.group("head")
    console.log("a\nb")
    console.groupEnd()
    console.groupEnd()
    console.log("c")
    assert [text for _, text in lines] == ["head", "  a\n  b", "c"]


def test_assertions(lines: list[tuple[str, str]]) -> None:
    check = console.assert_
    check(True, "fine")
    check(False)
    check(False, "%s", "bad")
    assert lines == [("error", "Assertion failed"), ("error", "Assertion failed: bad")]


def test_trace_shows_the_caller(lines: list[tuple[str, str]]) -> None:
    console.trace("here")
    assert lines[0][1].startswith("Trace: here\n")
    assert "test_trace_shows_the_caller" in lines[0][1]


def test_tables(lines: list[tuple[str, str]]) -> None:
    console.table(JsArray.adopt([JsObject.adopt({"a": 1, "b": "x"}), 5]))
    console.table("plain")
    console.table([{"a": 1, "b": 2}], ["b"])
    assert lines[0][1].split("\n") == [
        "┌─────────┬───┬─────┬────────┐",
        "│ (index) │ a │ b   │ Values │",
        "├─────────┼───┼─────┼────────┤",
        "│ 0       │ 1 │ 'x' │        │",
        "│ 1       │   │     │ 5      │",
        "└─────────┴───┴─────┴────────┘",
    ]
    assert lines[1][1] == "'plain'"
    assert lines[2][1].split("\n")[1] == "│ (index) │ b │"


def test_each_worker_has_its_own_console_state(lines: list[tuple[str, str]]) -> None:
    async def worker() -> None:
        console_state.set(ConsoleState())
        console.count()

    async def main() -> None:
        await asyncio.gather(worker(), worker())

    asyncio.run(main())
    assert [text for _, text in lines] == ["default: 1", "default: 1"]


def test_without_a_sink_errors_go_to_stderr_and_the_rest_to_stdout(
    capsys: pytest.CaptureFixture[str],
) -> None:
    console.log("out")
    console.error("err")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("out\n", "err\n")
