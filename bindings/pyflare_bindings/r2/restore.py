"""Objects that come from somewhere else or go there, with their versions and times as they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from ..storage.row_file import Execute
from ..storage.stored_content import StoredContent
from .bodies import Body
from .checksums import digests_of
from .files import BucketFiles
from .keys import StoredKey, stored_key
from .limits import Limits
from .rows import custom_to_text, http_to_text
from .upload_rows import Part, State
from .values import NO_HTTP_METADATA, Checksum, HashName, R2Object
from .writing import replace

__all__ = [
    "DigestError",
    "ObjectParts",
    "RestoredObject",
    "RestoredPart",
    "StoredObject",
    "restore_all",
]

_TABLES: Final = ("objects", "uploads", "parts")
_BLOBS: Final = "SELECT blob FROM objects WHERE blob IS NOT NULL UNION ALL SELECT blob FROM parts"
_UPLOAD: Final = (
    "INSERT INTO uploads (id, key, spelling, state, changed, storage_class, ssec_key_md5,"
    " http_metadata, custom_metadata) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_PART: Final = "INSERT INTO parts (upload, number, blob, size, md5) VALUES (?, ?, ?, ?, ?)"


class DigestError(Exception):
    """A content that does not have the MD5 that belongs to it."""


class RestoredPart(NamedTuple):
    """One part of an object that was uploaded in parts."""

    number: int
    md5: bytes
    content: StoredContent


class ObjectParts(NamedTuple):
    """The parts of an object, in their order, and the id of their upload."""

    upload_id: str
    parts: Sequence[RestoredPart]


class StoredObject(NamedTuple):
    """An object as it is kept: `body` is all of its content, the parts of `upload_id` in order."""

    object: R2Object
    body: Body
    upload_id: str | None = None
    parts: Sequence[Part] = ()


@dataclass(frozen=True, slots=True)
class RestoredObject:
    """An object with its content: one, or the parts that it was uploaded in.

    The etag of one content is its MD5.
    """

    object: R2Object
    content: StoredContent | ObjectParts


async def restore_all(
    files: BucketFiles, objects: Iterable[RestoredObject], limits: Limits, now: int
) -> int:
    """Make the bucket what `objects` says, all of them or none. Out: how many there are.

    In: `objects`, which is iterated twice; `now` in milliseconds since the epoch. Raises R2Error
    for an object that R2 does not allow, DigestError, StateError, and what the contents raise.
    """
    staged: dict[tuple[str, int], str] = {}
    try:
        for each in objects:
            limits.check_key(each.object.key.encode(errors="replace"))
            await _take_in(files, each, limits, staged)
    except BaseException:
        files.blobs.delete(staged.values())
        raise

    def change(execute: Execute) -> tuple[int, list[str]]:
        garbage = [blob for (blob,) in execute(_BLOBS)]
        for table in _TABLES:
            execute(f"DELETE FROM {table}")
        count = 0
        for each in objects:
            garbage += _store(execute, each, staged, now)
            count += 1
        return count, garbage

    committed = False

    def finish(outcome: tuple[int, list[str]]) -> None:
        nonlocal committed
        committed = True
        files.blobs.delete(outcome[1])

    try:
        count, _ = await files.write(change, finish)
    finally:
        if not committed:
            files.blobs.delete(staged.values())
    return count


async def _take_in(
    files: BucketFiles,
    restored: RestoredObject,
    limits: Limits,
    staged: dict[tuple[str, int], str],
) -> None:
    key = restored.object.key
    for number, md5, content in _contents(restored):
        if number == 0 and content.size <= limits.in_row:
            continue
        async with files.blobs.writer(("md5",)) as writer:
            for chunk in content.chunks():
                await writer.write(chunk)
            blob = await writer.commit()
            _check_digest(restored.object, number, md5, blob.digests["md5"])
        staged[key, number] = writer.id


def _contents(restored: RestoredObject) -> Iterator[RestoredPart]:
    """What an object consists of; a content that is not in parts has the number 0."""
    match restored.content:
        case ObjectParts(_, parts):
            yield from parts
        case content:
            yield RestoredPart(0, bytes.fromhex(restored.object.etag), content)


def _store(
    execute: Execute, restored: RestoredObject, staged: dict[tuple[str, int], str], now: int
) -> list[str]:
    found = restored.object
    key = stored_key(found.key)
    match restored.content:
        case ObjectParts(upload_id, parts):
            _store_upload(execute, key, found, upload_id, now)
            for part in parts:
                blob = staged[found.key, part.number]
                execute(_PART, (upload_id, part.number, blob, part.content.size, part.md5))
            garbage = replace(execute, key, found, None, checksum=_extra(found), upload=upload_id)
        case content:
            blob_or_none = staged.get((found.key, 0))
            in_row = None
            if blob_or_none is None:
                in_row = content.read()
                digest = digests_of(in_row, ("md5",))["md5"]
                _check_digest(found, 0, bytes.fromhex(found.etag), digest)
            garbage = replace(
                execute,
                key,
                found,
                None,
                checksum=_extra(found),
                in_row=in_row,
                blob=blob_or_none,
            )
    return garbage or []


def _store_upload(
    execute: Execute, key: StoredKey, found: R2Object, upload_id: str, now: int
) -> None:
    row = (
        upload_id,
        key.identity,
        key.spelling,
        State.COMPLETED,
        now,
        found.storage_class,
        found.ssec_key_md5,
        http_to_text(found.http_metadata or NO_HTTP_METADATA),
        custom_to_text(found.custom_metadata or {}),
    )
    execute(_UPLOAD, row)


def _extra(found: R2Object) -> Checksum | None:
    """The hash that an object has beside its MD5."""
    names: tuple[HashName, ...] = ("sha1", "sha256", "sha384", "sha512")
    return next(
        (Checksum(name, found.checksums[name]) for name in names if name in found.checksums), None
    )


def _check_digest(found: R2Object, number: int, expected: bytes, actual: bytes) -> None:
    if expected != actual:
        which = f"part {number} of object {found.key!r}" if number else f"object {found.key!r}"
        raise DigestError(
            f"the content of {which} has the MD5 {actual.hex()} instead of {expected.hex()}"
        )
