"""``JSON.parse`` and ``JSON.stringify``."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

import pytest

from pyflare.js.array import JsArray
from pyflare.js.buffer import Uint8Array
from pyflare.js.collections import JsMap, LiteralMap
from pyflare.js.date import Date
from pyflare.js.error import JsException, SyntaxError_, TypeError_
from pyflare.js.json import JSON, parse, stringify
from pyflare.js.number import Number
from pyflare.js.semantics import PYODIDE_0_26, semantics
from pyflare.js.string import Boolean, String
from pyflare.js.symbol import Symbol
from pyflare.js.value import JsObject, jsnull

Node = Callable[..., list[Any]]
NAN = float("nan")


def obj(**properties: Any) -> JsObject:
    return JsObject.adopt(properties)


def test_parse_makes_javascript_values() -> None:
    value = parse('{"a": [1, 1.0, 2.5, null, true, "x"], "b": {}}')
    assert type(value) is JsObject
    assert type(value.a) is JsArray
    assert value.a[3] is jsnull
    assert [type(item) for item in value.a] == [int, int, float, type(jsnull), bool, str]


def test_a_null_is_none_in_runtime_0_26() -> None:
    def check() -> None:
        semantics.set(PYODIDE_0_26)
        assert parse("null") is None
        # Inside an object it stays what it is, so that it is written as null again.
        assert stringify(parse('{"a":null}')) == '{"a":null}'

    copy_context().run(check)
    assert parse("null") is jsnull


def test_integer_keys_come_first_and_in_order() -> None:
    value = parse('{"b":1,"10":2,"9":3,"01":4}')
    assert list(value.object_keys()) == ["9", "10", "b", "01"]


def test_large_integers_become_floats_as_in_javascript() -> None:
    assert parse("9007199254740993") == 9007199254740992.0


def test_a_reviver_replaces_and_removes() -> None:
    def revive(key: str, value: Any) -> Any:
        if key == "drop":
            return None
        return value * 2 if isinstance(value, int) else value

    assert stringify(parse('{"a":1,"drop":2,"l":[3]}', revive)) == '{"a":2,"l":[6]}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Unexpected end of JSON input"),
        ("abc", "Unexpected token 'a', \"abc\" is not valid JSON"),
        ("[1,]", "Unexpected token ']', \"[1,]\" is not valid JSON"),
        ("undefined", '"undefined" is not valid JSON'),
        ("[object Object]", '"[object Object]" is not valid JSON'),
        (
            '{"a":1,}',
            "Expected double-quoted property name in JSON at position 7 (line 1 column 8)",
        ),
        ("{a:1}", "Expected property name or '}' in JSON at position 1 (line 1 column 2)"),
        ('{"a" 1}', "Expected ':' after property name in JSON at position 5 (line 1 column 6)"),
        (
            '{"a":1 "b"}',
            "Expected ',' or '}' after property value in JSON at position 7 (line 1 column 8)",
        ),
        (
            "[1\n2]",
            "Expected ',' or ']' after array element in JSON at position 3 (line 2 column 1)",
        ),
        ('"abc', "Unterminated string in JSON at position 4 (line 1 column 5)"),
        ('"\n"', "Bad control character in string literal in JSON at position 1 (line 1 column 2)"),
        ('"\\x"', "Bad escaped character in JSON at position 2 (line 1 column 3)"),
        ('"\\u12x4"', "Bad Unicode escape in JSON at position 5 (line 1 column 6)"),
        ("-", "No number after minus sign in JSON at position 1 (line 1 column 2)"),
        ("1.", "Unterminated fractional number in JSON at position 2 (line 1 column 3)"),
        ("1e+", "Exponent part is missing a number in JSON at position 3 (line 1 column 4)"),
        ("01", "Unexpected number in JSON at position 1 (line 1 column 2)"),
        ("[1] x", "Unexpected non-whitespace character after JSON at position 4 (line 1 column 5)"),
        ("NaN", "Unexpected token 'N', \"NaN\" is not valid JSON"),
        (
            '{"aaaaaaaaaaaaaaaaaaaaaaaa": tru}',
            'Unexpected token \'}\', ..."aaaa": tru}" is not valid JSON',
        ),
    ],
)
def test_bad_json_is_refused_in_the_words_of_the_engine(text: str, message: str) -> None:
    with pytest.raises(SyntaxError_) as caught:
        parse(text)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (obj(a=1, b="x", c=jsnull, d=True), '{"a":1,"b":"x","c":null,"d":true}'),
        (obj(a=None, b=print, c=Symbol("x")), "{}"),
        (
            JsArray.adopt([None, print, NAN, float("inf"), 1.0, 1e21, 1e-7, -0.0, 2.5]),
            "[null,null,null,null,1,1e+21,1e-7,0,2.5]",
        ),
        (JsArray.adopt([Number.new(1), String.new("s"), Boolean.new(False)]), '[1,"s",false]'),
        (Date.new(0), '"1970-01-01T00:00:00.000Z"'),
        (Date.new(NAN), "null"),
        (obj(a=obj(toJSON=lambda key: f"key {key}")), '{"a":"key a"}'),
        (JsMap.new([["a", 1]]), "{}"),
        (LiteralMap.from_dict({"a": 1}), '{"a":1}'),
        (Uint8Array.of(1, 2), '{"0":1,"1":2}'),
        ({"a": [1, "x"], "b": {"c": (2,)}}, '{"a":[1,"x"],"b":{"c":[2]}}'),
        ('"\\/\b\u2028é\x7f', '"\\"\\\\/\\b\u2028é\x7f"'),
        ("\ud800x", '"\\ud800x"'),
        (JsException("Error", "x"), "{}"),
    ],
)
def test_stringify(value: Any, text: str) -> None:
    assert stringify(value) == text


@pytest.mark.parametrize("value", [None, print, Symbol("x")])
def test_what_has_no_json_form_is_undefined(value: Any) -> None:
    assert stringify(value) is None


@pytest.mark.parametrize(
    ("space", "gap"), [(2, "  "), ("--", "--"), (20, " " * 10), (Number.new(1), " ")]
)
def test_stringify_indents(space: Any, gap: str) -> None:
    assert (
        stringify(obj(a=JsArray.adopt([1]), b=obj()), None, space)
        == f'{{\n{gap}"a": [\n{gap}{gap}1\n{gap}],\n{gap}"b": {{}}\n}}'
    )


def test_a_replacer_list_chooses_keys() -> None:
    assert stringify(obj(a=1, b=obj(a=2, c=3)), JsArray.adopt(["b", "c"])) == '{"b":{"c":3}}'


def test_a_replacer_function_sees_every_value() -> None:
    assert stringify(obj(a=1, b="x"), lambda key, value: None if key == "b" else value) == '{"a":1}'


def test_a_cycle_is_named() -> None:
    loop = obj(a=obj(b=JsArray.adopt([])))
    loop.a.b.push(loop)
    with pytest.raises(TypeError_) as caught:
        stringify(loop)
    assert caught.value.message == (
        "Converting circular structure to JSON\n"
        "    --> starting at object with constructor 'Object'\n"
        "    |     property 'a' -> object with constructor 'Object'\n"
        "    |     property 'b' -> object with constructor 'Array'\n"
        "    --- index 0 closes the circle"
    )


def test_a_bigint_is_refused() -> None:
    with pytest.raises(TypeError_) as caught:
        stringify(obj(a=2**60))
    assert caught.value.message == "Do not know how to serialize a BigInt"


def test_json_is_an_object_with_a_tag() -> None:
    assert str(JSON) == "[object JSON]"
    assert JSON.parse(JSON.stringify(obj(a=1))).a == 1


def _value(source: random.Random, depth: int) -> Any:
    kind = source.randrange(9 if depth else 6)
    if kind == 6:
        return [_value(source, depth - 1) for _ in range(source.randrange(4))]
    if kind >= 7:
        keys = ["a", "key", "é", "10", "2", 'quote"', "\u2028"]
        return {source.choice(keys): _value(source, depth - 1) for _ in range(source.randrange(4))}
    return [
        None, True, source.randint(-(2**53), 2**53), source.uniform(-1, 1) * 10 ** source.randint(-30, 30),
        source.choice(["", "text", "\t\n\"\\", "\ud83d\ude00", "\x00\x1f", "ü"]), 0,
    ][kind]  # fmt: skip


def test_a_round_trip_agrees_with_node(node: Node) -> None:
    source = random.Random(11)
    texts = [json.dumps(_value(source, 4)) for _ in range(400)]
    assert [stringify(parse(text)) for text in texts] == node(
        "JSON.stringify(JSON.parse(x))", texts
    )


def test_refusals_agree_with_node(node: Node) -> None:
    source = random.Random(5)
    texts = []
    for _ in range(400):
        text = json.dumps(_value(source, 2))
        at = source.randrange(len(text) + 1)
        texts.append(
            text[:at]
            + source.choice(["", ",", "x", '"', "}", "1"])
            + text[at + source.randrange(2) :]
        )
    texts = [text for text in texts if text.isascii()]
    for text, theirs in zip(texts, node("JSON.stringify(JSON.parse(x))", texts), strict=True):
        try:
            own = stringify(parse(text))
        except SyntaxError_ as error:
            # Newer engines add line and column.
            own = f"ERROR {error}".partition(" (line ")[0]
        assert own == theirs, text
