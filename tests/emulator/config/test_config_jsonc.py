"""The JSONC reader: what it accepts, where things stand, and how mistakes are named."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyflare.config.jsonc import MAX_DEPTH, JsoncSyntaxError, read

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
GAPS = st.sampled_from(
    ["", " ", "\n", "\t", '// note, "x": {\n', "/* a\n * } ] */", "/**/ ", "\r\n", "//\n//\n"]
)


def tokens(value: object) -> list[str]:
    """The tokens of `value` as JSON, with a trailing comma in every container that has entries."""
    if isinstance(value, list):
        inner = [token for each in value for token in (*tokens(each), ",")]
        return ["[", *inner, "]"]
    if isinstance(value, dict):
        inner = [t for k, v in value.items() for t in (json.dumps(k), ":", *tokens(v), ",")]
        return ["{", *inner, "}"]
    return [json.dumps(value)]


@given(value=VALUES, data=st.data())
def test_reads_what_json_reads_with_comments_and_trailing_commas_anywhere(value, data):
    text = "".join(f"{data.draw(GAPS)}{token}{data.draw(GAPS)}" for token in tokens(value))
    assert read(text).value == json.loads(json.dumps(value))


@given(value=VALUES)
def test_agrees_with_json_on_plain_json(value):
    for text in (
        json.dumps(value),
        json.dumps(value, indent=2),
        json.dumps(value, ensure_ascii=False),
    ):
        assert repr(read(text).value) == repr(json.loads(text))


@given(text=st.text(alphabet='{}[],:"\\/*tfnu019-.eE \n\x00é', max_size=30))
def test_accepts_everything_that_json_accepts_and_fails_only_with_its_own_error(text):
    try:
        expected = (json.loads(text),)
    except ValueError:
        expected = None
    found, offset = None, 0
    try:
        found = (read(text).value,)
    except JsoncSyntaxError as error:
        offset = error.offset
    assert 0 <= offset <= len(text)
    if expected is not None:
        assert repr(found) == repr(expected)


@pytest.mark.parametrize(
    ("text", "code", "offset"),
    [
        ("", "ValueExpected", 0),
        ("  // nothing\n", "ValueExpected", 13),
        ('{"a": 1', "CloseBraceExpected", 7),
        ('{"a": 1,', "CloseBraceExpected", 8),
        ("{", "CloseBraceExpected", 1),
        ("[1", "CloseBracketExpected", 2),
        ('{"a" 1}', "ColonExpected", 5),
        ('{"a":}', "ValueExpected", 5),
        ('{"a":1 "b":2}', "CommaExpected", 7),
        ("[1 2]", "CommaExpected", 3),
        ("{,}", "ValueExpected", 1),
        ("[,]", "ValueExpected", 1),
        ("[1,,2]", "ValueExpected", 3),
        ("[1,", "CloseBracketExpected", 3),
        ('["\\\n"]', "UnexpectedEndOfString", 1),
        ('{"a":1,,}', "PropertyNameExpected", 7),
        ("{1:2}", "PropertyNameExpected", 1),
        ("{a:1}", "InvalidSymbol", 1),
        ("{'a':1}", "InvalidSymbol", 1),
        ('{"a": tru}', "InvalidSymbol", 6),
        ('{"a": truely}', "InvalidSymbol", 6),
        ('{"a": -}', "InvalidSymbol", 6),
        ("{} x", "InvalidSymbol", 3),
        ("{} {}", "EndOfFileExpected", 3),
        ("{} /", "InvalidSymbol", 3),
        ("[1.]", "UnexpectedEndOfNumber", 1),
        ("[1e]", "UnexpectedEndOfNumber", 1),
        ("[01]", "CommaExpected", 2),
        ('{"a": "x', "UnexpectedEndOfString", 6),
        ('{"a": "x\n"}', "UnexpectedEndOfString", 6),
        ('["\\', "UnexpectedEndOfString", 1),
        ('["a\tb"]', "InvalidCharacter", 3),
        (r'["a\x"]', "InvalidEscapeCharacter", 3),
        (r'["a\u12"]', "InvalidUnicode", 3),
        ("{} /* open", "UnexpectedEndOfComment", 3),
    ],
)
def test_names_a_mistake_and_its_place(text, code, offset):
    with pytest.raises(JsoncSyntaxError) as caught:
        read(text)
    assert (caught.value.code, caught.value.offset) == (code, offset)


def test_the_place_of_a_member_is_its_key_and_of_an_element_its_value():
    document = read('{ "a": [10, {"b": 1}] }')
    assert document.offsets == {("a",): 2, ("a", 0): 8, ("a", 1): 12, ("a", 1, "b"): 13}


def test_the_last_of_equal_keys_counts_and_they_are_told():
    document = read('{"a": 1, "b": {"c": 1, "c": 2}, "a": 3}')
    assert document.value == {"a": 3, "b": {"c": 2}}
    assert document.repeated == (("b", "c"), ("a",))


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_refuses_bottomless_nesting(opening):
    with pytest.raises(JsoncSyntaxError) as caught:
        read(opening * 100_000)
    assert caught.value.code == "TooDeep"
    assert caught.value.offset == len(opening) * MAX_DEPTH


def test_a_number_with_thousands_of_digits_becomes_a_double():
    assert read("1" + "0" * 300 + "." + "0" * 5000).value == 1e300
    assert read("9" * 5000).value == float("inf")


def test_surrogate_pairs_become_one_character():
    assert read(r'"\ud83d\ude00 \ud83d"').value == "😀 \ud83d"
