"""``env.BUCKET`` as JavaScript sees it: the R2 binding over the one owner of the bucket.

Worker code normally reaches it through the SDK's generic wrapper, which turns arguments and results.

Source: https://developers.cloudflare.com/r2/api/workers/workers-api-reference/ and workerd ``api/r2-bucket.c++``
"""

from __future__ import annotations

from typing import Any, Final

from pyflare.js.array import JsArray
from pyflare.js.departure import start
from pyflare.js.error import JsException
from pyflare.js.options import options_or_keywords
from pyflare.js.promise import JsPromise
from pyflare.js.value import JsInstance, JsObject, jsnull
from pyflare_bindings.r2 import R2Bucket as Owner

from .conversion import MISSING, TEXT, Convertible, Parameter, array_of, one_of, struct_object
from .r2_content import CONTENT, GivenContent
from .r2_errors import succeed
from .r2_objects import HeadResult, show
from .r2_options import (
    Fields,
    read_checksum,
    read_conditions,
    read_list_options,
    read_object_options,
    read_range,
    read_ssec_key,
)
from .r2_structs import GET_OPTIONS, LIST_OPTIONS, MULTIPART_OPTIONS, PUT_OPTIONS
from .r2_upload import R2MultipartUpload
from .streams import cancel_unread

__all__ = ["R2Bucket"]


def _parameter(method: str, number: int, kind: Convertible = TEXT) -> Parameter:
    return Parameter("R2Bucket", method, number, kind)


_HEAD_KEY: Final = _parameter("head", 1)
_GET_KEY: Final = _parameter("get", 1)
_GET_OPTIONS: Final = _parameter("get", 2, GET_OPTIONS)
_PUT_KEY: Final = _parameter("put", 1)
_PUT_VALUE: Final = _parameter("put", 2, CONTENT)
_PUT_OPTIONS: Final = _parameter("put", 3, PUT_OPTIONS)
_DELETE_KEYS: Final = _parameter("delete", 1, one_of(array_of(TEXT), TEXT, name="string or Array"))
_LIST_OPTIONS: Final = _parameter("list", 1, LIST_OPTIONS)
_CANCELLED: Final = "Stream cancelled because the associated put operation encountered an error."
_CREATE_KEY: Final = _parameter("createMultipartUpload", 1)
_CREATE_OPTIONS: Final = _parameter("createMultipartUpload", 2, MULTIPART_OPTIONS)
_RESUME_KEY: Final = _parameter("resumeMultipartUpload", 1)
_RESUME_ID: Final = _parameter("resumeMultipartUpload", 2)


class R2Bucket(JsInstance, js_name="R2Bucket"):
    """The binding. Every method but ``resumeMultipartUpload`` gives a promise; wrong arguments reject it."""

    #: What a structured clone is refused with.
    _no_clone = "An R2 bucket binding cannot be serialized."

    def __init__(self, owner: Owner) -> None:
        self._owner = owner

    def head(self, key: Any = MISSING, /, *_: Any, **__: Any) -> JsPromise:
        """The object without its content, null when there is none."""
        return start(_head(self._owner, key))

    def get(self, key: Any = MISSING, options: Any = None, /, *_: Any, **named: Any) -> JsPromise:
        """The object; without content when ``onlyIf`` fails, null when there is none."""
        return start(_get(self._owner, key, options_or_keywords(options, named)))

    def put(
        self,
        key: Any = MISSING,
        value: Any = MISSING,
        options: Any = None,
        /,
        *_: Any,
        **named: Any,
    ) -> JsPromise:
        """The object that was written, null when ``onlyIf`` fails."""
        return start(_put(self._owner, key, value, options_or_keywords(options, named)))

    def delete(self, keys: Any = MISSING, /, *_: Any, **__: Any) -> JsPromise:
        """Delete one object, or those of an array of keys."""
        return start(_delete(self._owner, keys))

    def list(self, options: Any = None, /, *_: Any, **named: Any) -> JsPromise:
        """``{objects, truncated, cursor, delimitedPrefixes}``; ``cursor`` is set when there is more."""
        return start(_list(self._owner, options_or_keywords(options, named)))

    def createMultipartUpload(
        self, key: Any = MISSING, options: Any = None, /, *_: Any, **named: Any
    ) -> JsPromise:
        """Begin an upload in parts."""
        return start(_create_upload(self._owner, key, options_or_keywords(options, named)))

    def resumeMultipartUpload(
        self, key: Any = MISSING, upload_id: Any = MISSING, /, *_: Any
    ) -> R2MultipartUpload:
        """An upload that was begun before; nothing is checked."""
        return R2MultipartUpload._make(  # type: ignore[no-any-return]
            self._owner, _RESUME_KEY.read(key), _RESUME_ID.read(upload_id)
        )


async def _head(owner: Owner, key: Any) -> Any:
    found = await succeed("head", owner.head(_HEAD_KEY.read(key)))
    return jsnull if found is None else HeadResult._make(found)


async def _get(owner: Owner, key: Any, options: Any) -> Any:
    name = _GET_KEY.read(key)
    given: Fields = {} if options == {} else _GET_OPTIONS.read(options)
    if not given:
        request = owner.get(name)
    else:
        conditions = read_conditions(given.get("onlyIf"))
        wanted, header = read_range(given.get("range"))
        request = owner.get(
            name,
            conditions=conditions,
            range=wanted,
            range_header=header,
            ssec_key=read_ssec_key(given),
        )
    found = await succeed("get", request)
    return jsnull if found is None else show(found)


async def _put(owner: Owner, key: Any, value: Any, options: Any) -> Any:
    name = _PUT_KEY.read(key)
    _PUT_VALUE.read(value)
    fields: Fields = {} if options == {} else _PUT_OPTIONS.read(options)
    try:
        conditions = read_conditions(fields.get("onlyIf"))
        checksum = read_checksum(fields)
        stored = read_object_options("put", fields)
    except JsException:
        await cancel_unread(value, _CANCELLED)
        raise
    given = GivenContent(value)
    try:
        request = owner.put(
            name,
            given.content,
            stored,
            length=given.length,
            checksum=checksum,
            conditions=conditions,
        )
        found = await succeed("put", request)
    finally:
        await given.close()
    return jsnull if found is None else HeadResult._make(found)


async def _delete(owner: Owner, keys: Any) -> None:
    await succeed("delete", owner.delete(_DELETE_KEYS.read(keys)))


async def _list(owner: Owner, options: Any) -> JsObject:
    page = await succeed("list", owner.list(read_list_options(_LIST_OPTIONS.read(options))))
    return struct_object(
        {
            "objects": JsArray.adopt([HeadResult._make(found) for found in page.objects]),
            "truncated": page.truncated,
            "cursor": page.cursor,
            "delimitedPrefixes": JsArray.adopt(page.delimited_prefixes),
        }
    )


async def _create_upload(owner: Owner, key: Any, options: Any) -> Any:
    name = _CREATE_KEY.read(key)
    stored = read_object_options("createMultipartUpload", _CREATE_OPTIONS.read(options))
    upload_id = await succeed("createMultipartUpload", owner.uploads.create(name, stored))
    return R2MultipartUpload._make(owner, name, upload_id)
