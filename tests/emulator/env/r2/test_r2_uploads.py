"""Uploads in parts as Workers make them."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from tests.emulator.env.r2.conftest import Bucket


async def text(found: Any) -> str:
    return await found.text()  # type: ignore[no-any-return]


def test_a_small_part_has_to_be_the_last_of_the_argument(bucket: Bucket) -> None:
    async def program(b: Any) -> Any:
        upload = await b.createMultipartUpload("k", customMetadata={"a": "b"})
        first = await upload.uploadPart(1, b"x" * (5 * 1024 * 1024))
        again = b.resumeMultipartUpload(upload.key, upload.uploadId)
        second = await again.uploadPart(2, "end")
        assert first == {"partNumber": 1, "etag": hashlib.md5(b"x" * 5242880).hexdigest()}
        await again.complete([second, first])

    name, message = bucket.failure(program)
    assert (name, message) == (
        "Error",
        "completeMultipartUpload: Your proposed upload is smaller than the minimum allowed "
        "object size. (10011)",
    )


def test_an_upload_in_parts_that_is_completed(bucket: Bucket) -> None:
    async def program(b: Any) -> Any:
        upload = await b.createMultipartUpload("k", {"customMetadata": {"a": "b"}})
        parts = [
            await upload.uploadPart(1, b"x" * (5 * 1024 * 1024)),
            await upload.uploadPart(2, "end"),
        ]
        made = await upload.complete(parts)
        found = await b.get("k", range={"suffix": 5})
        return made.customMetadata, made.etag[-2:], made.checksums.md5, await found.text()

    assert bucket(program) == ({"a": "b"}, "-2", None, "xxend")


def test_a_part_needs_a_value(bucket: Bucket) -> None:
    async def program(b: Any) -> Any:
        upload = await b.createMultipartUpload("k")
        await upload.uploadPart(1, None)

    assert bucket.failure(program) == (
        "TypeError",
        "Failed to execute 'uploadPart' on 'R2MultipartUpload': parameter 2 is not of type "
        "'JsReadableStream or ArrayBuffer or ArrayBufferView or string or Blob'.",
    )


@pytest.mark.parametrize("number", [0, -1, 10_001])
def test_part_numbers_have_bounds(bucket: Bucket, number: int) -> None:
    expected = (
        "TypeError",
        f"Part number must be between 1 and 10000 (inclusive). Actual value was: {number}",
    )

    def upload(b: Any) -> Any:
        return b.resumeMultipartUpload("k", "x")

    assert bucket.failure(lambda b: upload(b).uploadPart(number, "x")) == expected
    assert (
        bucket.failure(lambda b: upload(b).complete([{"partNumber": number, "etag": "x"}]))
        == expected
    )


def test_resuming_contacts_nothing(bucket: Bucket) -> None:
    async def program(b: Any) -> Any:
        upload = b.resumeMultipartUpload("k", "no such id")
        return upload.key, upload.uploadId

    assert bucket(program) == ("k", "no such id")


def test_an_unknown_upload(bucket: Bucket) -> None:
    assert bucket.failure(lambda b: b.resumeMultipartUpload("k", "x").uploadPart(1, "x")) == (
        "Error",
        "uploadPart: The specified multipart upload does not exist. (10024)",
    )


def test_completing_needs_a_list(bucket: Bucket) -> None:
    name, message = bucket.failure(lambda b: b.resumeMultipartUpload("k", "x").complete(None))
    assert (name, message) == (
        "TypeError",
        "Failed to execute 'complete' on 'R2MultipartUpload': parameter 1 is not of type 'Array'.",
    )


def test_work_goes_on_when_nobody_awaits_it(bucket: Bucket) -> None:
    async def program(b: Any) -> Any:
        await b.head("k")
        b.put("k", "hello")
        return await text(await b.get("k"))

    assert bucket.raw(program) == "hello"
