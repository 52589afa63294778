"""Received headers are passed on as bytes exactly where iterating over them would give the same."""

import pytest

from pyflare.js.headers import Headers

PLAIN = [(b"host", b"a"), (b"accept", b"*/*"), (b"x-empty", b"")]


def test_plain_pairs_are_sorted_and_equal_to_the_entries() -> None:
    pairs = Headers.from_raw(PLAIN).plain_pairs()
    entries = list(map(tuple, Headers.from_raw(PLAIN)))
    assert pairs is not None
    assert [(name.decode(), value.decode()) for name, value in pairs] == entries


@pytest.mark.parametrize(
    "raw",
    [
        [(b"a", b"1"), (b"b", b"2"), (b"a", b"3")],
        [(b"set-cookie", b"a=1")],
        [(b"a", "\u00e9".encode())],
    ],
    ids=["joined", "cookies", "not ASCII"],
)
def test_headers_that_change_on_the_way_have_none(raw: list[tuple[bytes, bytes]]) -> None:
    assert Headers.from_raw(raw).plain_pairs() is None


def test_headers_that_have_been_read_have_none() -> None:
    headers = Headers.from_raw(PLAIN)
    headers.get("host")
    assert headers.plain_pairs() is None
