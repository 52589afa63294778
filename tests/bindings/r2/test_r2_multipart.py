"""Uploads in parts: what may follow what, and what the parts become."""

from __future__ import annotations

import hashlib
import os
from typing import Any

import pytest

from pyflare_bindings.clock import ManualClock
from pyflare_bindings.r2 import HttpMetadata, ObjectOptions, UploadedPart, WantedRange

MIB = 1024 * 1024
DAY = 86_400


class Upload:
    """One upload of a client's bucket."""

    def __init__(self, client: Any, key: str = "k", options: ObjectOptions | None = None) -> None:
        self.client = client
        self.uploads = client.bucket.uploads
        self.key = key
        self.id = client.run(self.uploads.create(key, options or ObjectOptions()))

    def part(self, number: int, content: bytes, **options: Any) -> UploadedPart:
        part: UploadedPart = self.client.run(
            self.uploads.upload_part(self.key, self.id, number, content, **options)
        )
        return part

    def complete(self, *parts: UploadedPart) -> Any:
        return self.client.run(self.uploads.complete(self.key, self.id, parts))

    def complete_code(self, *parts: UploadedPart) -> int:
        code: int = self.client.code(self.uploads.complete(self.key, self.id, parts))
        return code

    def abort(self) -> None:
        self.client.run(self.uploads.abort(self.key, self.id))


def content(number: int, size: int = 50) -> bytes:
    return bytes([number % 256]) * size


def test_parts_become_one_object_in_the_order_of_their_numbers(small: Any) -> None:
    upload = Upload(small)
    third, first = upload.part(7, content(7, 20)), upload.part(2, content(2))
    second = upload.part(5, content(5))
    made = upload.complete(first, second, third)
    assert made.size == 120
    assert small.read("k") == content(2) + content(5) + content(7, 20)


def test_the_etag_is_made_of_the_etags_of_the_parts(small: Any) -> None:
    upload = Upload(small)
    parts = [upload.part(number, content(number)) for number in (1, 2)]
    assert [part.etag for part in parts] == [hashlib.md5(content(n)).hexdigest() for n in (1, 2)]
    made = upload.complete(*parts)
    binary = b"".join(hashlib.md5(content(n)).digest() for n in (1, 2))
    assert made.etag == hashlib.md5(binary).hexdigest() + "-2"
    assert made.checksums == {}
    assert small.run(small.bucket.head("k")).checksums == {}


def test_metadata_is_that_of_the_beginning_and_the_time_that_of_the_end(
    small: Any, clock: ManualClock
) -> None:
    options = ObjectOptions(HttpMetadata("a/b"), {"c": "d"}, "InfrequentAccess")
    upload = Upload(small, options=options)
    part = upload.part(1, b"x")
    small.run(clock.advance(60))
    made = upload.complete(part)
    head = small.run(small.bucket.head("k"))
    for found in (made, head):
        assert found.uploaded == int(clock.now() * 1000)
        assert (found.http_metadata, found.custom_metadata) == (HttpMetadata("a/b"), {"c": "d"})
        assert found.storage_class == "InfrequentAccess"


def test_production_takes_parts_of_five_mebibytes(r2: Any) -> None:
    upload = Upload(r2)
    data = os.urandom(5 * MIB)
    parts = [upload.part(1, data), upload.part(2, b"end")]
    upload.complete(*parts)
    assert r2.read("k") == data + b"end"


def test_ranges_cross_the_borders_of_parts(small: Any) -> None:
    upload = Upload(small)
    whole = b"".join(content(number) for number in range(1, 6))
    upload.complete(*[upload.part(number, content(number)) for number in range(1, 6)])
    for offset in range(0, 250, 7):
        for length in (1, 49, 50, 51, 120):
            wanted = WantedRange(offset, length)
            expected = whole[offset : offset + length]
            assert small.read("k", range=wanted) == expected
            assert small.streamed("k", range=wanted) == expected


def test_a_part_that_is_uploaded_anew_replaces_the_earlier_one(small: Any) -> None:
    upload = Upload(small)
    old = upload.part(1, content(1))
    new = upload.part(1, content(2))
    assert upload.complete_code(old) == 10025
    upload.complete(new)
    assert small.read("k") == content(2)
    assert len(small.blobs()) == 1


def test_parts_that_are_not_named_are_dropped(small: Any) -> None:
    upload = Upload(small)
    upload.part(1, content(1))
    named = upload.part(2, content(2))
    upload.complete(named)
    assert small.read("k") == content(2)
    assert len(small.blobs()) == 1


def test_completing_replaces_the_object_and_its_file(small: Any) -> None:
    small.put("k", os.urandom(1000))
    upload = Upload(small)
    upload.complete(upload.part(1, b"x"))
    assert small.read("k") == b"x"
    again = Upload(small)
    again.complete(again.part(1, b"y"))
    assert small.read("k") == b"y"
    assert len(small.blobs()) == 1


def test_the_reader_of_an_object_in_parts_keeps_it(small: Any) -> None:
    upload = Upload(small)
    upload.complete(*[upload.part(number, content(number)) for number in (1, 2, 3)])
    found = small.get("k")
    small.run(small.bucket.delete("k"))
    assert small.run(found.body.read()) == content(1) + content(2) + content(3)
    del found
    assert small.blobs() == []


def test_many_parts_are_read_through_few_files(small: Any) -> None:
    upload = Upload(small)
    parts = [upload.part(number, content(number)) for number in range(1, 101)]
    upload.complete(*parts)

    async def most_open() -> int:
        found = await small.bucket.get("k")
        most = 0
        async for _ in found.body.chunks():
            most = max(most, len(os.listdir("/proc/self/fd")))
        return most

    before = len(os.listdir("/proc/self/fd"))
    assert small.run(most_open()) - before < 10


def test_no_parts_make_an_empty_object(small: Any) -> None:
    made = Upload(small).complete()
    assert (made.size, made.etag) == (0, "d41d8cd98f00b204e9800998ecf8427e-0")
    assert small.read("k") == b""


@pytest.mark.parametrize(
    ("sizes", "order", "code"),
    [
        ({1: 50, 2: 50, 3: 50}, [1, 2, 3], None),
        ({1: 50, 2: 50, 3: 1}, [3, 1, 2], 10011),
        ({1: 50, 2: 50, 3: 1}, [2, 1, 3], None),
        ({1: 49, 2: 50}, [1, 2], 10011),
        ({1: 1, 2: 50}, [2, 1], 10048),
        ({1: 50, 2: 51}, [1, 2], 10048),
        ({1: 50, 2: 60, 3: 50}, [1, 2, 3], 10048),
        ({1: 50, 2: 50}, [1, 2, 1], 10048),
        ({1: 0}, [1], None),
        ({1: 50, 2: 0}, [1, 2], None),
    ],
)
def test_sizes_of_parts(
    small: Any, sizes: dict[int, int], order: list[int], code: int | None
) -> None:
    upload = Upload(small)
    parts = {number: upload.part(number, content(number, size)) for number, size in sizes.items()}
    named = [parts[number] for number in order]
    if code is None:
        assert upload.complete(*named).size == sum(sizes.values())
    else:
        assert upload.complete_code(*named) == code
        assert small.run(small.bucket.head("k")) is None


def test_a_completion_that_fails_leaves_the_upload_usable(small: Any) -> None:
    upload = Upload(small)
    part = upload.part(1, content(1))
    assert upload.complete_code(part, part) == 10048
    assert upload.complete_code(UploadedPart(2, part.etag)) == 10025
    assert upload.complete(part).size == 50


def test_a_completed_upload_takes_nothing_more_but_can_be_aborted_without_effect(
    small: Any,
) -> None:
    upload = Upload(small)
    part = upload.part(1, b"x")
    upload.complete(part)
    assert small.code(upload.uploads.upload_part("k", upload.id, 1, b"y")) == 10024
    assert upload.complete_code(part) == 10024
    upload.abort()
    assert small.read("k") == b"x"


def test_an_aborted_upload_takes_nothing_more_and_leaves_no_file(small: Any) -> None:
    upload = Upload(small)
    part = upload.part(1, b"x")
    upload.abort()
    upload.abort()
    assert small.code(upload.uploads.upload_part("k", upload.id, 1, b"y")) == 10024
    assert upload.complete_code(part) == 10024
    assert small.blobs() == []


@pytest.mark.parametrize("key", ["k", "other"])
def test_an_unknown_id_or_one_of_another_key_is_no_upload(small: Any, key: str) -> None:
    id = Upload(small).id if key == "other" else "unknown"
    uploads = small.bucket.uploads
    assert small.code(uploads.upload_part(key, id, 1, b"x")) == 10024
    assert small.code(uploads.complete(key, id, [])) == 10024
    assert small.code(uploads.abort(key, id)) == 10024


@pytest.mark.parametrize("number", [0, -1, 10_001])
def test_a_part_number_has_bounds(small: Any, number: int) -> None:
    with pytest.raises(ValueError, match="from 1 to 10000"):
        Upload(small).part(number, b"")


def test_an_upload_aborted_while_a_part_comes_in_does_not_get_it(small: Any) -> None:
    upload = Upload(small)

    async def slow() -> Any:
        yield b"x"
        await upload.uploads.abort("k", upload.id)

    assert small.code(upload.uploads.upload_part("k", upload.id, 1, slow(), length=1)) == 10024
    assert small.blobs() == []


def test_deleting_the_key_leaves_its_uploads_alone(small: Any) -> None:
    upload = Upload(small)
    part = upload.part(1, b"x")
    small.run(small.bucket.delete("k"))
    upload.complete(part)
    assert small.read("k") == b"x"


def test_an_upload_is_given_up_after_seven_days(small: Any, clock: ManualClock) -> None:
    upload = Upload(small)
    part = upload.part(1, b"x")
    small.run(clock.advance(7 * DAY - 1))
    late = upload.part(2, b"y")
    small.run(clock.advance(1))
    assert small.code(upload.uploads.upload_part("k", upload.id, 1, b"y")) == 10024
    assert upload.complete_code(part, late) == 10024
    Upload(small, "another")
    assert small.blobs() == []


def test_a_finished_upload_is_forgotten_in_the_end(small: Any, clock: ManualClock) -> None:
    upload = Upload(small)
    upload.complete(upload.part(1, b"x"))
    small.run(clock.advance(8 * DAY))
    Upload(small, "another")
    assert small.code(upload.uploads.abort("k", upload.id)) == 10024
    assert small.read("k") == b"x"


def test_parts_need_the_customer_key_of_their_upload(small: Any) -> None:
    key = bytes(range(32))
    upload = Upload(small, options=ObjectOptions(ssec_key=key))
    assert small.code(upload.uploads.upload_part("k", upload.id, 1, b"x")) == 10029
    wrong = upload.uploads.upload_part("k", upload.id, 1, b"x", ssec_key=bytes(32))
    assert small.code(wrong) == 10003
    made = upload.complete(upload.part(1, b"x", ssec_key=key))
    assert made.ssec_key_md5 == hashlib.md5(key).hexdigest()
    assert small.read("k", ssec_key=key) == b"x"
