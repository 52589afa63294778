"""Writing, reading and deleting objects."""

from __future__ import annotations

import hashlib
import os
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pyflare_bindings.clock import ManualClock
from pyflare_bindings.r2 import (
    ByteRange,
    Checksum,
    HttpMetadata,
    ObjectOptions,
    R2Error,
    R2ObjectBody,
    WantedRange,
)

SIZES = [0, 1, 32 * 1024, 32 * 1024 + 1, 3 * 1024 * 1024 + 7]


@pytest.mark.parametrize("size", SIZES)
def test_content_comes_back_as_it_was_put(r2: Any, size: int) -> None:
    content = os.urandom(size)
    r2.put("k", content)
    assert r2.read("k") == content
    assert r2.streamed("k") == content


@pytest.mark.parametrize("size", SIZES)
def test_a_stream_of_known_length_is_stored_like_bytes(r2: Any, size: int) -> None:
    content = os.urandom(size)
    parts = [content[at : at + 100_000] for at in range(0, size, 100_000)]
    found = r2.stored("k", r2.chunks(*parts), length=size)
    assert (found.size, found.etag) == (size, hashlib.md5(content).hexdigest())
    assert r2.read("k") == content


def test_a_stream_of_unknown_length_is_stored_too(r2: Any) -> None:
    assert r2.stored("k", r2.chunks(b"one ", b"two")).size == 7
    assert r2.read("k") == b"one two"


def test_a_write_tells_what_was_stored(r2: Any, clock: ManualClock) -> None:
    options = ObjectOptions(HttpMetadata("text/plain"), {"a": "b"}, "InfrequentAccess")
    found = r2.stored("k", b"hello", options)
    assert (found.key, found.size, found.etag) == ("k", 5, "5d41402abc4b2a76b9719d911017c592")
    assert found.uploaded == int(clock.now() * 1000)
    assert found.checksums == {"md5": bytes.fromhex(found.etag)}
    assert found.http_metadata == HttpMetadata("text/plain")
    assert (found.custom_metadata, found.storage_class) == ({"a": "b"}, "InfrequentAccess")
    assert (found.range, found.ssec_key_md5) == (None, None)
    assert len(found.version) == 32


def test_head_and_get_tell_what_the_write_told(r2: Any) -> None:
    options = ObjectOptions(
        HttpMetadata("a/b", "de", "inline", "gzip", "no-store", 1_700_000_000_123),
        {"ключ": "🙂", "": ""},
        "InfrequentAccess",
    )
    written = r2.stored("k", b"hello", options)
    head = r2.run(r2.bucket.head("k"))
    got = r2.get("k")
    for found in (head, got):
        assert found.range == ByteRange(0, 5)
        found.range = None
    assert head == written
    for name in written.__slots__:
        assert getattr(got, name) == getattr(written, name)


def test_metadata_that_was_not_given_is_empty(r2: Any) -> None:
    r2.put("k")
    found = r2.run(r2.bucket.head("k"))
    assert (found.http_metadata, found.custom_metadata) == (HttpMetadata(), {})


def test_every_write_has_a_version_of_its_own(r2: Any) -> None:
    assert len({r2.stored("k", b"same").version for _ in range(20)}) == 20


def test_what_is_not_there_is_none(r2: Any) -> None:
    assert r2.run(r2.bucket.head("k")) is None
    assert r2.run(r2.bucket.get("k")) is None


def test_a_second_write_replaces_all_of_the_first(r2: Any) -> None:
    r2.put("k", b"x" * 100_000, ObjectOptions(custom_metadata={"a": "b"}))
    r2.put("k", b"new")
    found = r2.get("k")
    assert (found.size, found.custom_metadata) == (3, {})
    assert r2.read("k") == b"new"


@pytest.mark.parametrize("before", [10, 100_000], ids=["in the row", "in a file"])
@pytest.mark.parametrize("after", [20, 200_000], ids=["in the row", "in a file"])
def test_a_reader_keeps_the_version_it_got(r2: Any, before: int, after: int) -> None:
    old = os.urandom(before)
    r2.put("k", old)
    found = r2.get("k")
    r2.put("k", os.urandom(after))
    r2.run(r2.bucket.delete("k"))
    assert bytes(r2.run(found.body.read())) == old


def test_replaced_and_deleted_contents_leave_no_file(r2: Any) -> None:
    for _ in range(3):
        r2.put("k", os.urandom(100_000))
    r2.put("other", os.urandom(100_000))
    r2.run(r2.bucket.delete(["k", "other"]))
    assert r2.blobs() == []


@pytest.mark.parametrize("size", [100, 100_000], ids=["in the row", "in a file"])
@pytest.mark.parametrize(
    "wanted", [WantedRange(3, 20), WantedRange(suffix=7), WantedRange(offset=90)]
)
def test_a_range_gives_its_bytes_and_the_whole_size(
    r2: Any, size: int, wanted: WantedRange
) -> None:
    content = os.urandom(size)
    r2.put("k", content)
    found = r2.get("k", range=wanted)
    assert found.size == size
    offset, length = found.range
    assert bytes(r2.run(found.body.read())) == content[offset : offset + length]


def test_a_range_header_is_read(r2: Any) -> None:
    r2.put("k", b"0123456789")
    assert r2.read("k", range_header="bytes=-4") == b"6789"


def test_a_range_without_a_byte_is_refused(r2: Any) -> None:
    r2.put("k", b"0123456789")
    assert r2.code(r2.bucket.get("k", range=WantedRange(offset=10))) == 10039


@pytest.mark.parametrize("name", ["md5", "sha1", "sha256", "sha384", "sha512"])
@pytest.mark.parametrize("size", [100, 100_000], ids=["in the row", "in a file"])
def test_an_announced_hash_is_checked_and_kept(r2: Any, name: Any, size: int) -> None:
    content = os.urandom(size)
    digest = hashlib.new(name, content).digest()
    r2.put("k", content, checksum=Checksum(name, digest))
    assert r2.run(r2.bucket.head("k")).checksums == {
        "md5": hashlib.md5(content).digest(),
        name: digest,
    }


@pytest.mark.parametrize("size", [5, 100_000], ids=["in the row", "in a file"])
def test_content_with_another_hash_is_refused_and_nothing_changes(r2: Any, size: int) -> None:
    r2.put("k", b"old")
    wrong = Checksum("sha256", bytes(32))
    content = b"x" * size
    with pytest.raises(R2Error) as caught:
        r2.put("k", content, checksum=wrong)
    assert caught.value.code == 10037
    assert str(caught.value) == (
        "The SHA-256 checksum you specified did not match what we received.\n"
        f"You provided a SHA-256 checksum with value: {'00' * 32}\n"
        f"Actual SHA-256 was: {hashlib.sha256(content).hexdigest()}"
    )
    assert r2.read("k") == b"old"
    assert r2.blobs() == []


@pytest.mark.parametrize("length", [10, 200_000], ids=["in the row", "in a file"])
@pytest.mark.parametrize("difference", [-1, 1], ids=["too short", "too long"])
def test_a_stream_of_another_length_is_refused_and_the_old_object_stays(
    r2: Any, length: int, difference: int
) -> None:
    r2.put("k", b"old")
    content = r2.chunks(b"x" * (length + difference))
    assert r2.code(r2.bucket.put("k", content, length=length)) == 10013
    assert r2.read("k") == b"old"
    assert r2.blobs() == []


@pytest.mark.parametrize("length", [10, 3_000_000], ids=["in the row", "in a file"])
def test_a_stream_that_fails_leaves_nothing(r2: Any, length: int) -> None:
    async def failing() -> AsyncIterator[bytes]:
        yield b"x" * (length - 1)
        raise ConnectionResetError("gone")

    with pytest.raises(ConnectionResetError):
        r2.put("k", failing(), length=length)
    assert r2.run(r2.bucket.head("k")) is None
    assert r2.blobs() == []


def test_a_body_beyond_one_upload_is_refused_before_it_is_read(r2: Any) -> None:
    async def unread() -> AsyncIterator[bytes]:
        raise AssertionError("the body was read")
        yield b""

    coroutine = r2.bucket.put("k", unread(), length=5 * 1024**3 - 5 * 1024**2 + 1)
    assert r2.code(coroutine) == 100100


@pytest.mark.parametrize(
    ("metadata", "fits"),
    [
        ({"a" * 4000: "b" * 4192}, True),
        ({"a" * 4000: "b" * 4193}, False),
        ({"a": "é" * 8191}, True),
        ({"a": "€" * 4095}, True),
        ({"a": "€" * 4096}, False),
        ({"a": "x" * 4096 + "€"}, False),
    ],
)
def test_custom_metadata_is_bounded(r2: Any, metadata: dict[str, str], fits: bool) -> None:
    options = ObjectOptions(custom_metadata=metadata)
    if fits:
        r2.put("k", b"", options)
    else:
        assert r2.code(r2.bucket.put("k", b"", options)) == 10012
        assert r2.code(r2.bucket.uploads.create("k", options)) == 10012


def test_deleting_is_no_error_for_what_is_not_there(r2: Any) -> None:
    r2.put("a")
    r2.run(r2.bucket.delete(["a", "b"]))
    r2.run(r2.bucket.delete("a"))
    r2.run(r2.bucket.delete([]))
    assert r2.keys() == []


def test_one_bad_key_keeps_all_from_being_deleted(r2: Any) -> None:
    r2.put("a")
    assert r2.code(r2.bucket.delete(["a", "x" * 1025])) == 10020
    assert r2.keys() == ["a"]


def test_more_than_a_thousand_keys_are_refused(r2: Any) -> None:
    assert r2.code(r2.bucket.delete([str(n) for n in range(1001)])) == 10029


KEY, OTHER_KEY = bytes(range(32)), bytes(32)


def test_an_object_with_a_customer_key_is_read_with_that_key_only(r2: Any) -> None:
    r2.put("k", b"secret", ObjectOptions(ssec_key=KEY))
    assert r2.code(r2.bucket.get("k")) == 10029
    assert r2.code(r2.bucket.get("k", ssec_key=OTHER_KEY)) == 10003
    assert r2.read("k", ssec_key=KEY) == b"secret"


def test_a_customer_key_is_told_apart_by_its_hash(r2: Any) -> None:
    r2.put("k", b"secret", ObjectOptions(ssec_key=KEY))
    assert r2.run(r2.bucket.head("k")).ssec_key_md5 == hashlib.md5(KEY).hexdigest()


def test_a_customer_key_for_an_object_without_one_is_refused(r2: Any) -> None:
    r2.put("k", b"plain")
    with pytest.raises(R2Error, match=r"parameters are not applicable to this object\.$"):
        r2.run(r2.bucket.get("k", ssec_key=KEY))


def test_what_was_written_is_there_after_a_restart(small: Any, clock: ManualClock) -> None:
    from pyflare_bindings.r2 import R2Bucket

    contents = {"small": b"x", "large": os.urandom(5000)}
    for key, content in contents.items():
        small.put(key, content, ObjectOptions(custom_metadata={"key": key}))
    small.run(small.bucket.close())
    small.bucket = R2Bucket("test", small.directory / "a.sqlite", clock)
    for key, content in contents.items():
        assert small.read(key) == content
        assert small.get(key).custom_metadata == {"key": key}
    small.run(small.bucket.close())


def test_a_conditional_read_that_fails_gives_no_content(r2: Any) -> None:
    from pyflare_bindings.r2 import Conditions, Etag

    etag = r2.stored("k", b"hello").etag
    found = r2.run(r2.bucket.get("k", conditions=Conditions(etag_does_not_match=(Etag(etag),))))
    assert not isinstance(found, R2ObjectBody)
    assert (found.key, found.size) == ("k", 5)
