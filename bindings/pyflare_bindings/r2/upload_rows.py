"""Multipart uploads as rows: their states, their parts, and what makes parts an object.

An upload is open, completed or aborted. Its row stays for some days after it has been finished,
because the answers differ from those for an upload that never was.
Source: https://developers.cloudflare.com/r2/objects/multipart-objects/
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from ..storage.row_file import Execute
from .errors import invalid_part, invalid_parts, no_such_upload, part_too_small, too_large
from .limits import Limits
from .rows import fetch
from .values import UploadedPart

UPLOAD_COLUMNS = (
    "spelling, state, changed, storage_class, ssec_key_md5, http_metadata, custom_metadata"
)
SELECT_UPLOAD = f"SELECT {UPLOAD_COLUMNS} FROM uploads WHERE id = ? AND key = ?"
SELECT_PARTS = "SELECT number, blob, size, md5 FROM parts WHERE upload = ? ORDER BY number"
_EXPIRED_AT_ONCE = 100


class State(IntEnum):
    """Where an upload is in its life."""

    OPEN = 0
    COMPLETED = 1
    ABORTED = 2


class Upload(NamedTuple):
    """A row of `SELECT_UPLOAD`; `changed` in milliseconds since the epoch."""

    spelling: str | None
    state: int
    changed: int
    storage_class: str
    ssec_key_md5: str | None
    http_metadata: str | None
    custom_metadata: str | None


class Part(NamedTuple):
    """A part that has been stored."""

    number: int
    blob: str
    size: int
    md5: bytes


def open_upload(rows: Sequence[tuple[object, ...]], expiry: int) -> Upload:
    """The upload of the rows found, if it can take parts. Raises R2Error (10024).

    In: `expiry`, uploads begun at this time, in milliseconds since the epoch, or before it have
    been given up.
    """
    upload = Upload._make(rows[0]) if rows else None
    if upload is None or upload.state != State.OPEN or upload.changed <= expiry:
        raise no_such_upload()
    return upload


def parts_of_object(
    wanted: Sequence[UploadedPart], stored: Sequence[Part], limits: Limits
) -> list[Part]:
    """The named parts in their order within the object.

    Raises R2Error: 10048 for a part named twice or for sizes that differ, 10025 for one that is
    not there, 10011 for one that is too small, 100100 for too large an object.
    """
    if len({part.part_number for part in wanted}) != len(wanted):
        raise invalid_parts()
    by_number = {part.number: part for part in stored}
    named = []
    for number, etag in wanted:
        part = by_number.get(number)
        if part is None or part.md5.hex() != etag:
            raise invalid_part()
        named.append(part)
    if any(part.size < limits.part for part in named[:-1]):
        raise part_too_small()
    ordered = sorted(named)
    if ordered:
        common = ordered[0].size
        *others, last = ordered
        if any(part.size != common or part.size < limits.part for part in others):
            raise invalid_parts()
        if last.size > common:
            raise invalid_parts()
    if sum(part.size for part in ordered) > limits.object:
        raise too_large()
    return ordered


def stored_parts(execute: Execute, upload_id: str) -> list[Part]:
    """All parts of an upload, by number."""
    return [Part._make(row) for row in fetch(execute, SELECT_PARTS, (upload_id,))]


def remove_parts(execute: Execute, upload_id: str) -> list[str]:
    """Remove the rows of an upload's parts. Out: their blobs."""
    sql = "DELETE FROM parts WHERE upload = ? RETURNING blob"
    return [blob for (blob,) in fetch(execute, sql, (upload_id,))]


def give_up_old(execute: Execute, expiry: int, now: int) -> list[str]:
    """Abort uploads begun at `expiry` or before, and forget those finished by then.

    Out: the blobs that nothing refers to any more. At most a hundred uploads at a time.
    """
    old = "SELECT id FROM uploads WHERE state = ? AND changed <= ? LIMIT ?"
    garbage = []
    for (upload_id,) in fetch(execute, old, (State.OPEN, expiry, _EXPIRED_AT_ONCE)):
        garbage += remove_parts(execute, upload_id)
        set_state(execute, upload_id, State.ABORTED, now)
    for state in (State.COMPLETED, State.ABORTED):
        found = fetch(execute, old, (state, expiry, _EXPIRED_AT_ONCE))
        for (upload_id,) in found:
            execute("DELETE FROM uploads WHERE id = ?", (upload_id,))
    return garbage


def set_state(execute: Execute, upload_id: str, state: State, now: int) -> None:
    """Move an upload on; `now` in milliseconds since the epoch."""
    execute("UPDATE uploads SET state = ?, changed = ? WHERE id = ?", (state, now, upload_id))
