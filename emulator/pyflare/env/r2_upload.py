"""``R2MultipartUpload``: an upload in parts as JavaScript sees it.

Source: https://developers.cloudflare.com/r2/api/workers/workers-api-reference/#r2multipartupload-definition
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pyflare.js.departure import start
from pyflare.js.error import TypeError_
from pyflare.js.options import options_or_keywords
from pyflare.js.promise import JsPromise
from pyflare.js.value import JsInstance, JsObject
from pyflare_bindings.r2 import R2Bucket, UploadedPart

from .conversion import INTEGER, MISSING, Parameter
from .r2_content import PART_CONTENT, GivenContent
from .r2_errors import succeed
from .r2_objects import HeadResult
from .r2_options import read_ssec_key
from .r2_structs import UPLOAD_PART_OPTIONS, UPLOADED_PARTS

__all__ = ["R2MultipartUpload"]

_MOST_PARTS: Final = 10_000

_PART_NUMBER: Final = Parameter("R2MultipartUpload", "uploadPart", 1, INTEGER)
_PART_VALUE: Final = Parameter("R2MultipartUpload", "uploadPart", 2, PART_CONTENT)
_PART_OPTIONS: Final = Parameter("R2MultipartUpload", "uploadPart", 3, UPLOAD_PART_OPTIONS)
_PARTS: Final = Parameter("R2MultipartUpload", "complete", 1, UPLOADED_PARTS)


class R2MultipartUpload(JsInstance, js_name="R2MultipartUpload"):
    """An upload under way, or what somebody took for one."""

    def __init__(self, owner: R2Bucket, key: str, upload_id: str) -> None:
        self._owner = owner
        self.key = key
        self.uploadId = upload_id

    def uploadPart(
        self,
        part_number: Any = MISSING,
        value: Any = MISSING,
        options: Any = None,
        /,
        *_: Any,
        **named: Any,
    ) -> JsPromise:
        """Store one part: ``{partNumber, etag}``."""
        return start(_upload_part(self, part_number, value, options_or_keywords(options, named)))

    def complete(self, parts: Any = MISSING, /, *_: Any, **__: Any) -> JsPromise:
        """Make the parts an object."""
        return start(_complete(self, parts))

    def abort(self, *_: Any, **__: Any) -> JsPromise:
        """Give the upload up."""
        return start(_abort(self))

    def _own_items(self) -> Iterator[tuple[str, Any]]:
        yield "uploadId", self.uploadId
        yield "key", self.key


async def _upload_part(
    upload: R2MultipartUpload, part_number: Any, value: Any, options: Any
) -> JsObject:
    number = _PART_NUMBER.read(part_number)
    _PART_VALUE.read(value)
    fields = _PART_OPTIONS.read(options)
    _check_number(number)
    ssec_key = read_ssec_key(fields)
    given = GivenContent(value)
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
    named = [UploadedPart(part["partNumber"], part["etag"]) for part in _PARTS.read(parts)]
    for part in named:
        _check_number(part.part_number)
    request = upload._owner.uploads.complete(upload.key, upload.uploadId, named)
    return HeadResult._make(await succeed("completeMultipartUpload", request))


async def _abort(upload: R2MultipartUpload) -> None:
    request = upload._owner.uploads.abort(upload.key, upload.uploadId)
    await succeed("abortMultipartUpload", request)


def _check_number(number: int) -> None:
    if not 1 <= number <= _MOST_PARTS:
        raise TypeError_(
            f"Part number must be between 1 and {_MOST_PARTS} (inclusive). Actual value was: {number}"
        )
