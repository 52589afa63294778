"""Multipart uploads of a bucket.

Source: https://developers.cloudflare.com/r2/api/workers/workers-multipart-usage/
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from ..clock import Clock
from ..storage.row_file import Execute
from .checksums import etag_of_parts, md5_hex
from .content import Intake, Received
from .encryption import check_customer_key
from .errors import no_such_upload
from .files import BucketFiles
from .keys import StoredKey, stored_key
from .limits import Limits
from .rows import custom_of_text, custom_to_text, fetch, http_of_text, http_to_text
from .upload_rows import (
    SELECT_UPLOAD,
    State,
    Upload,
    give_up_old,
    open_upload,
    parts_of_object,
    remove_parts,
    set_state,
    stored_parts,
)
from .values import Content, ObjectOptions, R2Object, UploadedPart
from .writing import new_version, replace

_NO_OPTIONS = ObjectOptions()


class MultipartUploads:
    """The uploads that are under way in one bucket, or were until a few days ago.

    They are not seen by reads and listings of the bucket. Those that stay open for seven days are
    given up. Errors as in the bucket; R2Error 10024 for an upload that cannot take the request.
    """

    __slots__ = ("_clock", "_files", "_limits")

    def __init__(self, files: BucketFiles, clock: Clock, limits: Limits) -> None:
        self._files = files
        self._clock = clock
        self._limits = limits

    async def create(self, key: str, options: ObjectOptions = _NO_OPTIONS) -> str:
        """Begin an upload. Out: its id."""
        stored = self._checked(key)
        self._limits.check_metadata(options.custom_metadata)
        await self._files.open()
        upload_id = secrets.token_urlsafe(48)
        ssec_key = options.ssec_key

        def change(execute: Execute) -> list[str]:
            now = self._now()
            garbage = give_up_old(execute, self._expiry(now), now)
            execute(
                "INSERT INTO uploads (id, key, spelling, state, changed, storage_class,"
                " ssec_key_md5, http_metadata, custom_metadata) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    upload_id,
                    stored.identity,
                    stored.spelling,
                    State.OPEN,
                    now,
                    options.storage_class,
                    None if ssec_key is None else md5_hex(ssec_key),
                    http_to_text(options.http_metadata),
                    custom_to_text(options.custom_metadata),
                ),
            )
            return garbage

        await self._files.write(change, self._files.blobs.delete)
        return upload_id

    async def upload_part(
        self,
        key: str,
        upload_id: str,
        part_number: int,
        content: Content,
        *,
        length: int | None = None,
        ssec_key: bytes | None = None,
    ) -> UploadedPart:
        """Store a part in the place of an earlier one of that number.

        In: `part_number` from 1 to 10000, else ValueError; `length` as for the bucket's `put`.
        """
        if not 1 <= part_number <= self._limits.part_number:
            raise ValueError(
                f"a part number is from 1 to {self._limits.part_number}, not {part_number}"
            )
        stored = self._checked(key)
        if isinstance(content, bytes | memoryview):
            length = len(content)
        self._limits.check_upload(length)
        files = self._files
        await files.open()
        found = open_upload(
            files.read(SELECT_UPLOAD, (upload_id, stored.identity)), self._expiry(self._now())
        )
        check_customer_key(ssec_key, found.ssec_key_md5)
        async with Intake(files.blobs, self._limits) as intake:
            received = await intake.take(content, length, ("md5",), in_row=False)

            def change(execute: Execute) -> list[str]:
                return self._store_part(execute, stored, upload_id, part_number, received)

            def committed(garbage: list[str]) -> None:
                intake.keep()
                files.blobs.delete(garbage)

            await files.write(change, committed)
        return UploadedPart(part_number, received.digests["md5"].hex())

    async def complete(self, key: str, upload_id: str, parts: Sequence[UploadedPart]) -> R2Object:
        """Make the named parts an object, in the order of their numbers; drop the others.

        Raises also R2Error 10011, 10025, 10048 and 100100; the upload then stays open.
        """
        stored = self._checked(key)
        files = self._files
        await files.open()

        def change(execute: Execute) -> tuple[R2Object, list[str]]:
            return self._complete(execute, stored, upload_id, parts)

        def committed(outcome: tuple[R2Object, list[str]]) -> None:
            files.blobs.delete(outcome[1])

        made, _ = await files.write(change, committed)
        return made

    async def abort(self, key: str, upload_id: str) -> None:
        """Give an upload up and remove its parts; no error when it has been finished before."""
        stored = self._checked(key)
        files = self._files
        await files.open()

        def change(execute: Execute) -> list[str]:
            rows = fetch(execute, SELECT_UPLOAD, (upload_id, stored.identity))
            if not rows:
                # The local tools answer with an internal error here.
                raise no_such_upload()
            if Upload._make(rows[0]).state != State.OPEN:
                return []
            set_state(execute, upload_id, State.ABORTED, self._now())
            return remove_parts(execute, upload_id)

        await files.write(change, files.blobs.delete)

    def _store_part(
        self, execute: Execute, key: StoredKey, upload_id: str, number: int, received: Received
    ) -> list[str]:
        # The upload may have been finished while the content was coming in.
        rows = fetch(execute, SELECT_UPLOAD, (upload_id, key.identity))
        open_upload(rows, self._expiry(self._now()))
        old = fetch(
            execute,
            "DELETE FROM parts WHERE upload = ? AND number = ? RETURNING blob",
            (upload_id, number),
        )
        execute(
            "INSERT INTO parts (upload, number, blob, size, md5) VALUES (?, ?, ?, ?, ?)",
            (upload_id, number, received.blob, received.size, received.digests["md5"]),
        )
        return [blob for (blob,) in old]

    def _complete(
        self, execute: Execute, key: StoredKey, upload_id: str, wanted: Sequence[UploadedPart]
    ) -> tuple[R2Object, list[str]]:
        now = self._now()
        rows = fetch(execute, SELECT_UPLOAD, (upload_id, key.identity))
        upload = open_upload(rows, self._expiry(now))
        stored = stored_parts(execute, upload_id)
        parts = parts_of_object(wanted, stored, self._limits)
        written_key = StoredKey(key.identity, upload.spelling)
        made = R2Object(
            key=key.identity.decode() if upload.spelling is None else upload.spelling,
            version=new_version(),
            size=sum(part.size for part in parts),
            etag=etag_of_parts(part.md5 for part in parts),
            uploaded=now,
            checksums={},
            http_metadata=http_of_text(upload.http_metadata),
            custom_metadata=custom_of_text(upload.custom_metadata),
            storage_class="InfrequentAccess"
            if upload.storage_class == "InfrequentAccess"
            else "Standard",
            ssec_key_md5=upload.ssec_key_md5,
        )
        garbage = replace(execute, written_key, made, None, upload=upload_id) or []
        used = {part.number for part in parts}
        for part in stored:
            if part.number not in used:
                sql = "DELETE FROM parts WHERE upload = ? AND number = ?"
                execute(sql, (upload_id, part.number))
                garbage.append(part.blob)
        set_state(execute, upload_id, State.COMPLETED, now)
        return made, garbage

    def _checked(self, key: str) -> StoredKey:
        stored = stored_key(key)
        spelling = stored.spelling
        self._limits.check_key(stored.identity if spelling is None else spelling.encode())
        return stored

    def _now(self) -> int:
        return int(self._clock.now() * 1000)

    def _expiry(self, now: int) -> int:
        return now - int(self._limits.upload_seconds * 1000)
