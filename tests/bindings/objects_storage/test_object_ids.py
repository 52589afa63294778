"""Ids: derived from the name and the namespace, and checked when they come back as text."""

from __future__ import annotations

import hashlib
import hmac

import pytest

from pyflare_bindings.objects import ObjectId, ObjectIdError, ObjectIds

IDS = ObjectIds("worker-Counter")


def test_an_id_of_a_name_is_a_code_over_the_name_followed_by_a_code_over_that() -> None:
    key = hashlib.sha256(b"worker-Counter").digest()
    base = hmac.digest(key, "käse".encode(), "sha256")[:16]
    assert IDS.from_name("käse").raw == base + hmac.digest(key, base, "sha256")[:16]


def test_a_name_gives_the_same_id_each_time_and_another_one_in_another_namespace() -> None:
    assert IDS.from_name("a") == IDS.from_name("a")
    assert IDS.from_name("a") != IDS.from_name("b")
    assert IDS.from_name("a") != ObjectIds("worker-Room").from_name("a")
    assert IDS.from_name("a") != ObjectIds("other-Counter").from_name("a")


def test_an_id_of_a_name_knows_its_name_and_no_other_does() -> None:
    id = IDS.from_name("a")
    assert id.name == "a"
    assert IDS.unique().name is None
    assert IDS.from_string(id.hex).name is None


def test_the_name_plays_no_part_in_equality() -> None:
    id = IDS.from_name("a")
    assert IDS.from_string(id.hex) == id
    assert hash(IDS.from_string(id.hex)) == hash(id)
    assert id != id.hex


def test_unique_ids_differ_and_are_valid() -> None:
    first, second = IDS.unique(), IDS.unique()
    assert first != second
    assert IDS.from_string(first.hex) == first


def test_the_text_of_an_id_is_64_lower_case_digits() -> None:
    assert len(IDS.from_name("a").hex) == 64
    assert IDS.from_name("a").hex == IDS.from_name("a").hex.lower()
    assert str(IDS.from_name("a").hex) in repr(IDS.from_name("a"))


def test_upper_case_is_accepted() -> None:
    id = IDS.from_name("a")
    assert IDS.from_string(id.hex.upper()).hex == id.hex


def test_a_lone_surrogate_counts_as_a_replacement_character() -> None:
    assert IDS.from_name("\ud800") == IDS.from_name("\ufffd")


@pytest.mark.parametrize(
    "text",
    ["", "a", "g" * 64, "0" * 63, "0" * 65, " " + "0" * 63, "0" * 63 + "\n", "٠" * 64],
)
def test_what_is_not_64_hex_digits_is_refused(text: str) -> None:
    with pytest.raises(ObjectIdError, match=r"^Invalid Durable Object ID: must be 64 hex digits$"):
        IDS.from_string(text)


@pytest.mark.parametrize("text", ["0" * 64, ObjectIds("worker-Room").from_name("a").hex, "f" * 64])
def test_an_id_of_another_namespace_is_noticed(text: str) -> None:
    with pytest.raises(
        ObjectIdError, match=r"^Durable Object ID is not valid for this namespace\.$"
    ):
        IDS.from_string(text)


def test_the_error_is_a_type_error() -> None:
    assert issubclass(ObjectIdError, TypeError)


def test_the_worker_name_may_be_empty() -> None:
    assert ObjectIds("-Counter").from_name("a").raw != IDS.from_name("a").raw


def test_an_id_can_be_a_key() -> None:
    assert {IDS.from_name("a"): 1}[ObjectId(IDS.from_name("a").raw)] == 1
