"""Keys as users make them: each is its own object, and none reaches a file name."""

from __future__ import annotations

import os
from typing import Any

import pytest

from pyflare_bindings.r2 import R2Bucket

ODD_KEYS = [
    "../../etc/passwd",
    "a#b",
    "a?b",
    "%41",
    "A",
    "a",
    "nul\0inside",
    "nul",
    "\0",
    "emoji 😀",
    "😀",
    "x" * 1024,
    "é" * 512,
    "😀" * 256,
    "dot.",
    "dot",
    "space ",
    "space",
    " space",
    ".",
    "..",
    "/",
    "//",
    "//a",
    "a//",
    "a/./b",
    "a/b",
    "u",
    "u/",
    "u/x",
    "_...slug_.css",
    "CON",
    "con",
    "a\\b",
    "'; DROP TABLE objects; --",
    "line\nbreak",
    "",
]


def test_each_odd_key_is_its_own_object_in_the_order_of_bytes(r2: Any) -> None:
    for index, key in enumerate(ODD_KEYS):
        r2.put(key, f"{index} {key}".encode())
    for index, key in enumerate(ODD_KEYS):
        assert r2.read(key) == f"{index} {key}".encode()
    assert r2.keys() == sorted(ODD_KEYS, key=str.encode)


def test_odd_keys_survive_a_restart(small: Any, clock: Any) -> None:
    for key in ODD_KEYS:
        small.put(key, key.encode())
    small.run(small.bucket.close())
    small.bucket = R2Bucket("test", small.directory / "a.sqlite", clock)
    for key in ODD_KEYS:
        assert small.read(key) == key.encode()
    small.run(small.bucket.close())


def test_no_part_of_a_key_is_in_a_file_name(r2: Any) -> None:
    for key in ODD_KEYS:
        r2.put(key, os.urandom(40_000))
    names = {name for _, _, files in os.walk(r2.directory) for name in files}
    blobs = r2.blob_files()
    assert len(blobs) == len(ODD_KEYS)
    allowed = set("0123456789abcdef-")
    assert all(set(name) <= allowed for name in blobs)
    assert {name.split(".")[-1] for name in names - set(blobs)} <= {
        "sqlite",
        "sqlite-wal",
        "sqlite-shm",
        "jsonl",
    }


def test_deleting_one_odd_key_leaves_the_others(r2: Any) -> None:
    for key in ODD_KEYS:
        r2.put(key)
    for index, key in enumerate(ODD_KEYS):
        r2.run(r2.bucket.delete(key))
        assert r2.keys() == sorted(ODD_KEYS[index + 1 :], key=str.encode)


@pytest.mark.parametrize("key", ["x" * 1025, "é" * 512 + "x", "😀" * 257])
def test_a_key_beyond_1024_bytes_is_refused_everywhere(r2: Any, key: str) -> None:
    bucket, uploads = r2.bucket, r2.bucket.uploads
    for coroutine in (
        bucket.head(key),
        bucket.get(key),
        bucket.put(key, b""),
        bucket.delete(key),
        uploads.create(key),
        uploads.upload_part(key, "id", 1, b""),
        uploads.complete(key, "id", []),
        uploads.abort(key, "id"),
    ):
        assert r2.code(coroutine) == 10020


def test_two_spellings_of_a_character_are_one_object_with_the_last_spelling(r2: Any) -> None:
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    r2.put(composed, b"1")
    r2.put(decomposed, b"2")
    assert r2.read(composed) == b"2"
    assert r2.keys() == [decomposed]
    assert r2.keys(prefix="cafe\u0301") == [decomposed]
    r2.run(r2.bucket.delete(composed))
    assert r2.keys() == []


def test_half_of_a_surrogate_pair_becomes_the_replacement_character(r2: Any) -> None:
    assert r2.stored("a\ud800").key == "a\ufffd"
    assert r2.stored("a\ud83d\ude00").key == "a😀"
    assert r2.keys() == ["a\ufffd", "a😀"]
