"""The owner of one R2 bucket."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from ..clock import Clock
from ..storage.row_file import Execute
from ..storage.sqlite import Durability
from .bodies import BlobBody, Body, BytesBody, Piece, Pieces
from .checksums import check, names_to_compute
from .conditions import Conditions
from .content import Intake
from .encryption import check_customer_key
from .errors import invalid_argument
from .files import BucketFiles
from .keys import StoredKey, stored_key
from .limits import Limits
from .listing import list_page
from .multipart import MultipartUploads
from .ranges import WantedRange, resolve_range, resolve_range_header
from .restore import RestoredObject, StoredObject, restore_all
from .rows import SELECT_HEAD, SELECT_WHOLE, object_of
from .upload_rows import SELECT_PARTS, Part
from .values import (
    ByteRange,
    Checksum,
    Content,
    ListOptions,
    ListResult,
    ObjectOptions,
    R2Object,
    R2ObjectBody,
)
from .writing import Garbage, current_holds, new_object, remove, replace

_NO_OPTIONS = ObjectOptions()
_NO_LIST_OPTIONS = ListOptions()
_NO_LIMITS = Limits()
_FILES_CHECKED_AT_ONCE = 16


class R2Bucket:
    """One bucket: objects as rows of one SQLite file, large contents as blobs beside it.

    A write is visible to every read that begins after it has returned, and a reader never sees
    half of one: the content is whole and durable before its row commits, in the transaction that
    tests the conditions. All methods raise R2Error for what R2 refuses, StateError when the files
    cannot be used and ClosedError after `close`. `uploads` has the multipart uploads.

    The registry makes it; the files are opened at the first request.
    """

    __slots__ = ("_clock", "_files", "_limits", "id", "uploads")

    def __init__(
        self,
        id: str,
        path: Path,
        clock: Clock,
        durability: Durability = "process",
        prepare_file: Callable[[], None] = lambda: None,
        limits: Limits = _NO_LIMITS,
    ) -> None:
        self.id = id
        self._clock = clock
        self._limits = limits
        self._files = BucketFiles(path, durability, prepare_file)
        self.uploads = MultipartUploads(self._files, clock, limits)

    async def head(self, key: str) -> R2Object | None:
        """What is known about an object; None when there is none."""
        stored = self._checked(key)
        if not self._files.is_open:
            await self._files.open()
        rows = self._files.read(SELECT_HEAD, (stored.identity,))
        if not rows:
            return None
        found = object_of(rows[0])
        found.range = ByteRange(0, found.size)
        return found

    async def get(
        self,
        key: str,
        *,
        conditions: Conditions | None = None,
        range: WantedRange | None = None,
        range_header: str | None = None,
        ssec_key: bytes | None = None,
    ) -> R2ObjectBody | R2Object | None:
        """An object with its content; without when the conditions fail; None when there is none.

        In: at most one of `range` and `range_header`. Raises also R2Error 10039 when no byte lies
        in the range, and DamagedBlobError when the content is missing or cut off.
        """
        stored = self._checked(key)
        if not self._files.is_open:
            await self._files.open()
        rows = self._files.read(SELECT_WHOLE, (stored.identity,))
        if not rows:
            return None
        row = rows[0]
        found = object_of(row)
        if conditions is not None and not conditions.hold_for(found.etag, found.uploaded):
            found.range = ByteRange(0, found.size)
            return found
        check_customer_key(ssec_key, found.ssec_key_md5)
        if range_header is not None:
            part = resolve_range_header(range_header, found.size)
        else:
            part = resolve_range(range, found.size)
        found.range = part
        # Row and files are looked up in one turn of the loop, so no write comes between them.
        body = self._body(found.size, part, upload=row[10], blob=row[-2], content=row[-1])
        return R2ObjectBody(
            found.key,
            found.version,
            found.size,
            found.etag,
            found.uploaded,
            found.checksums,
            found.http_metadata,
            found.custom_metadata,
            found.storage_class,
            found.ssec_key_md5,
            part,
            body=body,
        )

    async def put(
        self,
        key: str,
        content: Content,
        options: ObjectOptions = _NO_OPTIONS,
        *,
        length: int | None = None,
        checksum: Checksum | None = None,
        conditions: Conditions | None = None,
    ) -> R2Object | None:
        """Write an object; None, and nothing is written, when the conditions fail.

        In: `length` in bytes of a stream, when it is known beforehand; the conditions are tested
        before the content is read and once more as the object is stored. Raises also R2Error 10012,
        10013, 10020, 10037 and 100100, and what the stream raises; then nothing has changed.
        """
        stored = self._checked(key)
        self._limits.check_metadata(options.custom_metadata)
        if isinstance(content, bytes | memoryview):
            length = len(content)
        self._limits.check_upload(length)
        files = self._files
        if not files.is_open:
            await files.open()
        if conditions is not None and not self._holds(conditions, stored):
            return None
        async with Intake(files.blobs, self._limits) as intake:
            received = await intake.take(content, length, names_to_compute(checksum), in_row=True)
            check(checksum, received.digests)
            found = new_object(stored, options, received, checksum)

            def change(execute: Execute) -> Garbage | None:
                found.uploaded = self._now()
                return replace(
                    execute,
                    stored,
                    found,
                    conditions,
                    checksum=checksum,
                    in_row=received.in_row,
                    blob=received.blob,
                )

            def committed(garbage: Garbage | None) -> None:
                if garbage is not None:
                    intake.keep()
                    files.blobs.delete(garbage)

            if await files.write(change, committed) is None:
                return None
        return found

    async def delete(self, keys: str | Sequence[str]) -> None:
        """Delete objects, up to 1000, all of them or none. One that is not there is no error."""
        given = [keys] if isinstance(keys, str) else keys
        stored = [self._checked(key).identity for key in given]
        if len(stored) > self._limits.keys_in_delete:
            # As production does; the local tools delete any number.
            raise invalid_argument(
                f"{len(stored)} keys in one delete; at most {self._limits.keys_in_delete} "
                "are allowed."
            )
        if not self._files.is_open:
            await self._files.open()

        def change(execute: Execute) -> Garbage:
            garbage: Garbage = []
            for key in stored:
                garbage += remove(execute, key)
            return garbage

        await self._files.write(change, self._files.blobs.delete)

    async def list(self, options: ListOptions = _NO_LIST_OPTIONS) -> ListResult:
        """One page of the objects, in the order of their keys as UTF-8."""
        if not self._files.is_open:
            await self._files.open()
        return list_page(self._files.read, options, self._limits)

    async def is_empty(self) -> bool:
        """Whether it holds neither object nor upload; nothing is created."""
        if not self._files.exists:
            return True
        await self._files.open()
        return not self._files.read("SELECT 1 FROM objects UNION ALL SELECT 1 FROM uploads LIMIT 1")

    async def restore(self, objects: Iterable[RestoredObject]) -> int:
        """Put these objects in the place of all that is there, uploads too, at once.

        In: `objects`, which is iterated twice; of two whose keys are the same once normalised the
        later one stays. Out: how many were stored. Raises also DigestError, and what the contents
        raise; then nothing has changed.
        """
        await self._files.open()
        return await restore_all(self._files, objects, self._limits, self._now())

    async def read_stored(self, key: str) -> StoredObject | None:
        """An object as it is kept, with its parts; a customer's key is not asked for."""
        stored = self._checked(key)
        if not self._files.is_open:
            await self._files.open()
        rows = self._files.read(SELECT_WHOLE, (stored.identity,))
        if not rows:
            return None
        row = rows[0]
        found, upload = object_of(row), row[10]
        body = self._body(
            found.size,
            ByteRange(0, found.size),
            upload=upload,
            blob=row[-2],
            content=row[-1],
        )
        if upload is None:
            return StoredObject(found, body)
        parts = self._files.read(SELECT_PARTS, (upload,))
        return StoredObject(found, body, upload, [Part._make(part) for part in parts])

    def check_file(self) -> None:
        """See :meth:`pyflare_bindings.storage.row_file.RowFile.check_file`."""
        self._files.check_file()

    async def close(self) -> None:
        """Finish what is being written and close the files."""
        await self._files.close()

    def _checked(self, key: str) -> StoredKey:
        stored = stored_key(key)
        spelling = stored.spelling
        self._limits.check_key(stored.identity if spelling is None else spelling.encode())
        return stored

    def _holds(self, conditions: Conditions, key: StoredKey) -> bool:
        sql = "SELECT etag, uploaded FROM objects WHERE key = ?"
        return current_holds(conditions, self._files.read(sql, (key.identity,)))

    def _now(self) -> int:
        return int(self._clock.now() * 1000)

    def _body(
        self, size: int, part: ByteRange, *, upload: str | None, blob: str | None, content: Any
    ) -> Body:
        offset, length = part
        if upload is not None:
            return BlobBody(self._pieces(upload, offset, length))
        if blob is not None:
            return BlobBody([Piece(self._files.blobs.open(blob, size), offset, length)])
        return BytesBody(
            content if length == size else memoryview(content)[offset : offset + length]
        )

    def _pieces(self, upload: str, offset: int, length: int) -> Pieces:
        parts = self._files.read(
            "SELECT blob, size FROM parts WHERE upload = ? ORDER BY number", (upload,)
        )
        wanted = []
        end = offset + length
        start = 0
        for blob, size in parts:
            first, last = max(offset - start, 0), min(end - start, size)
            if first < last:
                wanted.append((blob, size, first, last - first))
            start += size
        store = self._files.blobs
        # With many parts what is wrong with a file shows when it is read.
        hold = store.open if len(wanted) <= _FILES_CHECKED_AT_ONCE else store.pin
        return [Piece(hold(blob, size), first, count) for blob, size, first, count in wanted]
