"""Regular expressions mean what they mean in JavaScript, whatever Python's notation would make of them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from pyflare.js.error import JsException
from pyflare.js.regexp import RegExp
from pyflare.js.value import jsnull


def groups(pattern: str, flags: str, text: str) -> list[Any] | None:
    found = RegExp.new(pattern, flags).exec(text)
    return None if found is jsnull else [*found]


@pytest.mark.parametrize(
    ("pattern", "flags", "text", "expected"),
    [
        ("a{,2}", "", "a{,2}", ["a{,2}"]),
        (r"a\Z", "", "aZ", ["aZ"]),
        (r"\A", "", "A", ["A"]),
        (r"\b\w+", "", "é1", ["1"]),
        (r"\bé", "", "é", None),
        (".", "", "😀", ["\ud83d"]),
        (".", "u", "😀", ["😀"]),
        ("^.$", "", "😀", None),
        (r"[^x]", "u", "😀", ["😀"]),
        (r"\p{L}+", "u", "1 héllo", ["héllo"]),
        (r"\P{Lu}+", "u", "ABcD", ["c"]),
        (r"\p{L}", "", "p{L}", ["p{L}"]),
        (r"\1(a)", "", "a", ["a", "a"]),
        (r"(a\1)", "", "a", ["a", "a"]),
        (r"(?:(a)|b)\1c", "", "bc", ["bc", None]),
        (r"(?<y>\d)-\k<y>", "", "1-1", ["1-1", "1"]),
        (r"(?<y>a)|(?<y>b)", "", "b", ["b", None, "b"]),
        (r"\s", "", "\x1c", None),
        (r"\s", "", "\ufeff", ["\ufeff"]),
        ("^b$", "m", "a\u2028b\rc", ["b"]),
        ("a$", "", "a\n", None),
        ("k", "i", "\u212a", None),
        ("k", "iu", "\u212a", ["\u212a"]),
        ("É", "i", "é", ["é"]),
        (r"\u{3}", "", "uuu", ["uuu"]),
        (r"\u{41}", "u", "A", ["A"]),
        (r"\cJ", "", "\n", ["\n"]),
        ("[]", "", "a", None),
        ("[^]", "", "\n", ["\n"]),
        ("(?i:a)b", "", "Ab", ["Ab"]),
    ],
)
def test_a_pattern_matches_what_it_matches_in_javascript(
    pattern: str, flags: str, text: str, expected: list[Any] | None
) -> None:
    assert groups(pattern, flags, text) == expected


@pytest.mark.parametrize(
    ("pattern", "flags", "reason"),
    [
        ("(?i)a", "", "Invalid group"),
        ("(?P<x>a)", "", "Invalid group"),
        ("a++", "", "Nothing to repeat"),
        ("a**", "", "Nothing to repeat"),
        ("(", "", "Unterminated group"),
        (")", "", "Unmatched ')'"),
        ("[a", "", "Unterminated character class"),
        ("[b-a]", "", "Range out of order in character class"),
        ("a{2,1}", "", "numbers out of order in {} quantifier"),
        ("\\", "", "\\ at end of pattern"),
        ("(?<a>x)(?<a>y)", "", "Duplicate capture group name"),
        (r"(?<a>x)\k<b>", "", "Invalid named capture referenced"),
        ("(?<1a>x)", "", "Invalid capture group name"),
        ("(?<=a)*", "", "Invalid quantifier"),
        (r"\A", "u", "Invalid escape"),
        ("{", "u", "Lone quantifier brackets"),
        (r"[\d-x]", "u", "Invalid character class"),
        (r"\u{110000}", "u", "Invalid Unicode escape"),
        (r"\2(a)", "u", "Invalid escape"),
    ],
)
def test_a_source_that_is_no_pattern_is_refused_in_javascripts_words(
    pattern: str, flags: str, reason: str
) -> None:
    with pytest.raises(JsException) as caught:
        RegExp.new(pattern, flags)
    assert (
        str(caught.value)
        == f"SyntaxError: Invalid regular expression: /{pattern}/{flags}: {reason}"
    )


@pytest.mark.parametrize(
    ("pattern", "flags", "reason"),
    [
        ("(?<=a+)b", "", "Python's re, which Pyflare matches with"),
        (r"\p{Script=Greek}", "u", "that Pyflare does not support"),
        ("a", "v", "Pyflare does not support the flag v"),
    ],
)
def test_what_python_cannot_match_is_refused_by_name(pattern: str, flags: str, reason: str) -> None:
    with pytest.raises(JsException, match=reason) as caught:
        RegExp.new(pattern, flags)
    assert caught.value.name == "SyntaxError"


def test_places_count_utf_16_units() -> None:
    found = RegExp.new("(b)", "d").exec("😀ab")
    assert (found.index, [*found.indices[1]]) == (3, [3, 4])
    pattern = RegExp.new("b", "gu")
    assert (pattern.test("😀b😀b"), pattern.lastIndex) == (True, 3)
    assert (pattern.test("😀b😀b"), pattern.lastIndex) == (True, 6)


def test_the_source_could_stand_between_slashes() -> None:
    assert RegExp.new("a/b\n[/]").toString() == r"/a\/b\n[/]/"
    assert RegExp.new("").source == "(?:)"


_PARTS = [
    "a", "b", "A", "K", "k", "é", "É", "0", "_", "-", " ", ".", r"\d", r"\w", r"\s", r"\D", r"\W", r"\S",
    r"\b", r"\B", "^", "$", "[ab]", "[^a]", "[a-c]", r"[\d-x]", "[]", "[^]", "[-a]", "[a-]", r"\1", r"\2",
    r"\k<n>", r"\x41", r"\u0041", r"\u{41}", r"\cA", r"\c", r"\0", r"\012", r"\8", "/", "{", "}", "]", "[",
    "(", ")", "*", "+", "?", "|", "{2}", "{1,}", "{0,2}", "{,2}", "{2,1}", r"\p{L}", r"\P{Lu}", "😀",
    "[😀]", r"\ud83d", r"\A", r"\Z", r"\e", "(?i)", "(?<n>a)", "(?<m>b)", "(?:", "(?=a)", "(?!a)",
    "(?<=a)", "(?<!a)", "(a)", "(b|c)", "*?", "+?", "\n", "\u2028", "&&", "[[a]]", "(?#a)", r"[\b]", r"[\-]",
    r"[\S]", "ſ", "\u212a", "[kſ]", "[^sé]", "[a-é]", "[z-a]", "\\", r"[\x]", r"[\c1]", r"[\1]",
]  # fmt: skip
_TEXTS = [
    "", "a", "ab", "aA", "abcabc", "k", "K", "é", "É", "😀", "a😀b", "1 2_3", "a-b\nb-a", "a{,2}", "\u2028a",
    "aZ", "ſ", "\u212a", "sS", "\\c", "\x01", "{}[]", "8", "u{41}", "aaaaa", "bba",
]  # fmt: skip


def test_patterns_of_random_parts_match_as_in_node(node: Any) -> None:
    dice = random.Random(1)
    cases = []
    while len(cases) < 4000:
        source = "".join(dice.choice(_PARTS) for _ in range(dice.randint(1, 5)))
        # Python keeps what a group matched in an earlier round of a repetition.
        if not any(f"){sign}" in source for sign in "*+?{"):
            flags = "".join(flag for flag in "imsugy" if dice.random() < 0.25)
            cases.append([source, flags, dice.choice(_TEXTS)])
    expected = node(
        "((r, units) => { const m = r.exec(x[2]);"
        " return m ? [[...m].map(units), m.index, r.lastIndex, r.source] : [null, r.lastIndex]; })"
        "(new RegExp(x[0], x[1]), (s) => s === undefined ? null : s.split('').map((c) => c.charCodeAt(0)))",
        cases,
    )
    assert [_in_python(*case) for case in cases] == expected


def _in_python(source: str, flags: str, text: str) -> Any:
    try:
        pattern = RegExp.new(source, flags)
    except JsException as error:
        return f"ERROR {error}"
    found = pattern.exec(text)
    if found is jsnull:
        return [None, pattern.lastIndex]
    return [[*map(_units, found)], found.index, pattern.lastIndex, pattern.source]


def _units(text: str | None) -> list[int] | None:
    if text is None:
        return None
    raw = text.encode("utf-16-be", "surrogatepass")
    return [raw[at] << 8 | raw[at + 1] for at in range(0, len(raw), 2)]
