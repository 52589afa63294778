"""``R2MultipartUpload``: an upload in parts as JavaScript sees it.

Source: https://developers.cloudflare.com/r2/api/workers/workers-api-reference/#r2multipartupload-definition
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pyflare.js.departure import start
from pyflare.js.error import TypeError_
from pyflare.js.number import to_string
from pyflare.js.promise import JsPromise
from pyflare.js.value import JsInstance, JsObject, get_property, is_nullish
from pyflare.js.webidl import integer, text
from pyflare_bindings.r2 import R2Bucket, UploadedPart

from .r2_content import GivenContent, wrong_value
from .r2_errors import succeed
from .r2_objects import HeadResult
from .r2_options import read_ssec_key

__all__ = ["R2MultipartUpload"]

_MOST_PARTS: Final = 10_000


class R2MultipartUpload(JsInstance, js_name="R2MultipartUpload"):
    """An upload under way, or what somebody took for one."""

    def __init__(self, owner: R2Bucket, key: str, upload_id: str) -> None:
        self._owner = owner
        self.key = key
        self.uploadId = upload_id

    def uploadPart(
        self,
        part_number: Any = None,
        value: Any = None,
        options: Any = None,
        *_: Any,
        **named: Any,
    ) -> JsPromise:
        """Store one part: ``{partNumber, etag}``."""
        return start(_upload_part(self, part_number, value, named if options is None else options))

    def complete(self, parts: Any = None, *_: Any) -> JsPromise:
        """Make the parts an object."""
        return start(_complete(self, parts))

    def abort(self, *_: Any) -> JsPromise:
        """Give the upload up."""
        return start(_abort(self))

    def _own_items(self) -> Iterator[tuple[str, Any]]:
        yield "uploadId", self.uploadId
        yield "key", self.key


async def _upload_part(
    upload: R2MultipartUpload, part_number: Any, value: Any, options: Any
) -> JsObject:
    number = _checked_number(part_number)
    refused = wrong_value("uploadPart", "R2MultipartUpload")
    if is_nullish(value):
        raise refused
    ssec_key = read_ssec_key(options)
    given = GivenContent(value, refused)
    try:
        request = upload._owner.uploads.upload_part(
            upload.key,
            upload.uploadId,
            number,
            given.content,
            length=given.length,
            ssec_key=ssec_key,
        )
        part = await succeed("uploadPart", request)
    finally:
        await given.close()
    return JsObject.adopt({"partNumber": part.part_number, "etag": part.etag})


async def _complete(upload: R2MultipartUpload, parts: Any) -> Any:
    if is_nullish(parts) or isinstance(parts, str) or not hasattr(parts, "__iter__"):
        raise TypeError_(
            "Failed to execute 'complete' on 'R2MultipartUpload': "
            "parameter 1 is not of type 'Array'."
        )
    named = [
        UploadedPart(
            _checked_number(get_property(part, "partNumber")), text(get_property(part, "etag"))
        )
        for part in parts
    ]
    request = upload._owner.uploads.complete(upload.key, upload.uploadId, named)
    return HeadResult._make(await succeed("completeMultipartUpload", request))


async def _abort(upload: R2MultipartUpload) -> None:
    request = upload._owner.uploads.abort(upload.key, upload.uploadId)
    await succeed("abortMultipartUpload", request)


def _checked_number(value: Any) -> int:
    number = integer(value)
    if not 1 <= number <= _MOST_PARTS:
        raise TypeError_(
            f"Part number must be between 1 and {_MOST_PARTS} (inclusive). "
            f"Actual value was: {to_string(number)}"
        )
    return number
