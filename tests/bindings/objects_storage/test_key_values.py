"""Keys and values of an object, young or with a file of its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyflare_bindings.objects import KeyRange, ObjectStorage
from pyflare_bindings.storage.errors import SqlError

from .conftest import Objects

KEYS = (
    "",
    "a",
    "aa",
    "ab",
    "abc",
    "b",
    "ba",
    "ä",
    "äb",
    "日本",
    "\uffff",
    "😀",
    "😀z",
    "\U0010ffff",
)


def test_a_key_without_a_value_gives_none(storage: ObjectStorage) -> None:
    assert storage.get("nothing") is None


def test_a_value_is_read_back(storage: ObjectStorage) -> None:
    storage.put("a", b"\x00\xff")
    assert storage.get("a") == b"\x00\xff"


def test_a_value_may_be_empty(storage: ObjectStorage) -> None:
    storage.put("a", b"")
    assert storage.get("a") == b""


def test_a_value_is_replaced(storage: ObjectStorage) -> None:
    storage.put("a", b"1")
    storage.put("a", b"2")
    assert storage.get("a") == b"2"
    assert storage.list() == [("a", b"2")]


@pytest.mark.parametrize("key", ["", "a\0b", "\0", "日本", "k" * 5000, "'; --", "\ufffd"])
def test_any_text_is_a_key(storage: ObjectStorage, key: str) -> None:
    storage.put(key, b"1")
    assert storage.get(key) == b"1"
    assert storage.get(key + "x") is None
    assert storage.list() == [(key, b"1")]
    assert storage.delete(key)
    assert storage.list() == []


def test_a_lone_surrogate_in_a_key_becomes_a_replacement_character(storage: ObjectStorage) -> None:
    storage.put("a\ud800", b"1")
    assert storage.get("a\ud800") == b"1"
    assert storage.list(prefix="a\udfff") == [("a\ufffd", b"1")]
    assert storage.get_many(["a\ud801"]) == {"a\ufffd": b"1"}
    assert storage.delete("a\ud802")


def test_several_keys_are_read_in_their_order_and_once(storage: ObjectStorage) -> None:
    storage.put_many({"b": b"2", "a": b"1", "ä": b"3"})
    assert list(storage.get_many(["ä", "b", "missing", "a", "b"])) == ["a", "b", "ä"]
    assert storage.get_many([]) == {}


def test_deleting_tells_whether_there_was_something(storage: ObjectStorage) -> None:
    storage.put("a", b"1")
    assert storage.delete("a") is True
    assert storage.delete("a") is False


def test_deleting_several_tells_how_many_there_were(storage: ObjectStorage) -> None:
    storage.put_many({"a": b"1", "b": b"2", "c": b"3"})
    assert storage.delete_many(["a", "c", "x", "a"]) == 2
    assert storage.delete_many([]) == 0
    assert storage.list() == [("b", b"2")]


def test_several_puts_are_all_made_or_none(storage: ObjectStorage) -> None:
    storage.put("a", b"old")
    with pytest.raises(SqlError, match=r"^string or blob too big: SQLITE_TOOBIG$"):
        storage.put_many({"a": b"new", "b": b"x" * 2_100_000, "c": b"1"})
    assert storage.list() == [("a", b"old")]


def test_putting_nothing_begins_no_transaction(storage: ObjectStorage) -> None:
    storage.put_many({})
    assert not storage.in_transaction


def test_a_value_of_more_than_two_million_bytes_is_refused(storage: ObjectStorage) -> None:
    storage.put("a", b"x" * 1_999_000)
    with pytest.raises(SqlError, match=r"^string or blob too big: SQLITE_TOOBIG$"):
        storage.put("a", b"x" * 2_000_001)
    assert storage.broken is None
    assert storage.get("a") == b"x" * 1_999_000


@pytest.mark.parametrize(
    ("wanted", "keys"),
    [
        (KeyRange(), KEYS),
        (KeyRange(reverse=True), KEYS[::-1]),
        (KeyRange(start="ab"), KEYS[3:]),
        (KeyRange(start="abb"), KEYS[4:]),
        (KeyRange(start_after="ab"), KEYS[4:]),
        (KeyRange(start_after=""), KEYS[1:]),
        (KeyRange(start=""), KEYS),
        (KeyRange(end="b"), KEYS[:5]),
        (KeyRange(end=""), ()),
        (KeyRange(start="b", end="a"), ()),
        (KeyRange(start="a", end="a"), ()),
        (KeyRange(prefix=""), KEYS),
        (KeyRange(prefix="a"), KEYS[1:5]),
        (KeyRange(prefix="ab"), KEYS[3:5]),
        (KeyRange(prefix="ab", start="a"), KEYS[3:5]),
        (KeyRange(prefix="ab", start="abb"), KEYS[4:5]),
        (KeyRange(prefix="a", start_after="aa"), KEYS[3:5]),
        (KeyRange(prefix="a", end="ab"), KEYS[1:3]),
        (KeyRange(prefix="b", end="ab"), ()),
        (KeyRange(prefix="b", start="c"), ()),
        (KeyRange(prefix="x"), ()),
        (KeyRange(prefix="\uffff"), ("\uffff",)),
        (KeyRange(prefix="\U0010ffff"), ("\U0010ffff",)),
        (KeyRange(prefix="😀"), ("😀", "😀z")),
        (KeyRange(limit=2), KEYS[:2]),
        (KeyRange(limit=2, reverse=True), KEYS[::-1][:2]),
        (KeyRange(start="ab", reverse=True, limit=2), KEYS[::-1][:2]),
        (KeyRange(start="ab", end="b", reverse=True), ("abc", "ab")),
        (KeyRange(prefix="a", reverse=True, limit=1), ("abc",)),
        (KeyRange(limit=1000), KEYS),
    ],
)
def test_a_range_of_keys(storage: ObjectStorage, wanted: KeyRange, keys: tuple[str, ...]) -> None:
    storage.put_many({key: key.encode() for key in KEYS})
    found = storage.list(*wanted)
    assert [key for key, _ in found] == list(keys)
    assert all(value == key.encode() for key, value in found)


def test_a_prefix_before_the_surrogates_ends_behind_them(storage: ObjectStorage) -> None:
    storage.put_many({"\ud7ff": b"1", "\ud7ffz": b"2", "\ue000": b"3"})
    assert [key for key, _ in storage.list(prefix="\ud7ff")] == ["\ud7ff", "\ud7ffz"]


@given(
    keys=st.sets(st.text(max_size=3), max_size=8),
    start=st.none() | st.text(max_size=2),
    start_after=st.none() | st.text(max_size=2),
    end=st.none() | st.text(max_size=2),
    prefix=st.none() | st.text(max_size=2),
    reverse=st.booleans(),
    limit=st.none() | st.integers(1, 4),
)
def test_a_range_is_what_a_sorted_dictionary_gives(
    tmp_path_factory: pytest.TempPathFactory,
    keys: set[str],
    start: str | None,
    start_after: str | None,
    end: str | None,
    prefix: str | None,
    reverse: bool,
    limit: int | None,
) -> None:
    import asyncio

    with asyncio.Runner() as runner:
        objects = Objects(runner, tmp_path_factory.mktemp("ranges"))
        storage = objects.open()
        storage.put_many(dict.fromkeys(keys, b"1"))
        expected = sorted(
            key
            for key in keys
            if (start_after is not None or start is None or key >= start)
            and (start_after is None or key > start_after)
            and (end is None or key < end)
            and (not prefix or key.startswith(prefix))
        )
        expected = expected[::-1] if reverse else expected
        found = storage.list(start, start_after, end, prefix, reverse, limit)
        assert [key for key, _ in found] == expected[:limit]
        objects.stop()


def test_reading_begins_no_transaction_and_leaves_nothing_on_disk(objects: Objects) -> None:
    storage = objects.open()
    assert storage.get("a") is None
    assert storage.get_many(["a"]) == {}
    assert storage.list() == []
    assert storage.delete("a") is False
    assert storage.database_size == 4096
    assert not storage.in_transaction
    assert objects.files() == []


def test_an_object_that_was_never_written_to_is_not_known(objects: Objects) -> None:
    storage = objects.open()
    assert storage.get("a") is None
    objects.close(storage)
    assert objects.namespace.stored_ids() == []
    assert objects.files() == []


def test_bookmarks_count_from_nought_and_survive(objects: Objects) -> None:
    storage = objects.open()
    assert [storage.next_bookmark() for _ in range(3)] == [0, 1, 2]
    objects.commit(storage)
    assert objects.reopened(storage).next_bookmark() == 3
