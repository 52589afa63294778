"""Conditions of reads and writes: every combination as production evaluates it."""

from __future__ import annotations

import pytest

from pyflare_bindings.r2 import WILDCARD, Conditions, Etag, parse_etags

ETAG, UPLOADED = "abc", 1_000_500
SAME, OTHER, WEAK = Etag("abc"), Etag("xyz"), Etag("abc", "weak")


@pytest.mark.parametrize(
    ("wanted", "holds"),
    [
        ((SAME,), True),
        ((OTHER,), False),
        ((OTHER, SAME), True),
        ((WILDCARD,), True),
        ((WEAK,), False),
        ((), False),
    ],
)
def test_etag_matches_compares_strongly(wanted: tuple[Etag, ...], holds: bool) -> None:
    assert Conditions(etag_matches=wanted).hold_for(ETAG, UPLOADED) is holds


@pytest.mark.parametrize(
    ("unwanted", "holds"),
    [
        ((SAME,), False),
        ((OTHER,), True),
        ((OTHER, SAME), False),
        ((WILDCARD,), False),
        ((WEAK,), False),
    ],
)
def test_etag_does_not_match_compares_weakly(unwanted: tuple[Etag, ...], holds: bool) -> None:
    assert Conditions(etag_does_not_match=unwanted).hold_for(ETAG, UPLOADED) is holds


@pytest.mark.parametrize(
    ("bound", "holds"), [(UPLOADED - 1, False), (UPLOADED, False), (UPLOADED + 1, True)]
)
def test_uploaded_before_is_strict(bound: int, holds: bool) -> None:
    assert Conditions(uploaded_before=bound).hold_for(ETAG, UPLOADED) is holds


@pytest.mark.parametrize(
    ("bound", "holds"), [(UPLOADED - 1, True), (UPLOADED, False), (UPLOADED + 1, False)]
)
def test_uploaded_after_is_strict(bound: int, holds: bool) -> None:
    assert Conditions(uploaded_after=bound).hold_for(ETAG, UPLOADED) is holds


@pytest.mark.parametrize(
    ("bound", "holds"), [(999_999, True), (1_000_000, False), (1_000_999, False)]
)
def test_whole_seconds_are_compared_on_both_sides(bound: int, holds: bool) -> None:
    conditions = Conditions(uploaded_after=bound, seconds_granularity=True)
    assert conditions.hold_for(ETAG, UPLOADED) is holds


def test_the_last_modified_of_an_object_fails_as_if_unmodified_since() -> None:
    conditions = Conditions(uploaded_before=1_000_000, seconds_granularity=True)
    assert not conditions.hold_for(ETAG, UPLOADED)


@pytest.mark.parametrize(
    ("conditions", "holds"),
    [
        (Conditions(etag_matches=(SAME,), uploaded_before=0), True),
        (Conditions(etag_matches=(OTHER,), uploaded_before=UPLOADED + 1), False),
        (Conditions(etag_does_not_match=(OTHER,), uploaded_after=UPLOADED + 1), True),
        (Conditions(etag_does_not_match=(SAME,), uploaded_after=0), False),
        (Conditions(etag_matches=(SAME,), uploaded_after=UPLOADED + 1), False),
        (Conditions(etag_does_not_match=(OTHER,), uploaded_before=0), False),
        (Conditions(etag_matches=(SAME,), etag_does_not_match=(OTHER,)), True),
        (Conditions(etag_matches=(WILDCARD,), etag_does_not_match=(WILDCARD,)), False),
    ],
)
def test_a_passing_etag_hides_the_date_of_its_own_kind_only(
    conditions: Conditions, holds: bool
) -> None:
    assert conditions.hold_for(ETAG, UPLOADED) is holds


@pytest.mark.parametrize(
    ("conditions", "holds"),
    [
        (Conditions(), True),
        (Conditions(etag_does_not_match=(WILDCARD,)), True),
        (Conditions(uploaded_before=0), True),
        (Conditions(etag_matches=(WILDCARD,)), False),
        (Conditions(etag_matches=(SAME,)), False),
        (Conditions(uploaded_after=0), False),
    ],
)
def test_where_there_is_no_object_nothing_matches(conditions: Conditions, holds: bool) -> None:
    assert conditions.hold_for_nothing() is holds


@pytest.mark.parametrize(
    ("header", "etags"),
    [
        ('"abc"', (SAME,)),
        ('W/"abc"', (WEAK,)),
        (' "abc" , W/"abc",, "xyz"', (SAME, WEAK, OTHER)),
        ("*", (WILDCARD,)),
        ('"abc", *', (WILDCARD,)),
        ('"abc", rest', (SAME,)),
        ('""', (Etag(""),)),
        ('"a,b"', (Etag("a,b"),)),
    ],
)
def test_etags_of_a_header(header: str, etags: tuple[Etag, ...]) -> None:
    assert parse_etags(header, "if-match") == etags


COMMA = "Comma was expected to separate etags. Encountered "


@pytest.mark.parametrize(
    ("header", "text"),
    [
        ("abc", "Invalid ETag in if-none-match header"),
        ("", "Invalid ETag in if-none-match header"),
        (",", "Invalid ETag in if-none-match header"),
        ('"abc', "Unclosed double quote for Etag"),
        ('W/"abc', "Unclosed double quote for Etag"),
        ("W/abc", "Weak etags must start with W/ and their value must be quoted"),
        ("Wabc", "Weak etags must start with W/ and their value must be quoted"),
        (
            '"a" "b"',
            COMMA + "a double quote character '\"' instead. "
            "This would otherwise indicate the start of a new strong etag.",
        ),
        (
            '"a" W/"b"',
            COMMA + "a weak quotation character 'W' instead. "
            "This would otherwise indicate the start of a new weak etag.",
        ),
        ('"a" *', COMMA + "a wildcard character '*' instead."),
    ],
)
def test_a_malformed_header_is_refused_with_the_platforms_text(header: str, text: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_etags(header, "if-none-match")
    assert str(caught.value) == text
