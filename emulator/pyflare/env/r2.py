"""``env.BUCKET`` as JavaScript sees it: the R2 binding over the one owner of the bucket.

Worker code normally reaches it through the SDK's generic wrapper, which turns arguments and results.

Source: https://developers.cloudflare.com/r2/api/workers/workers-api-reference/ and workerd ``api/r2-bucket.c++``
"""

from __future__ import annotations

from typing import Any, Final

from pyflare.js.array import JsArray
from pyflare.js.departure import start
from pyflare.js.promise import JsPromise
from pyflare.js.value import JsInstance, JsObject, get_property, is_nullish, jsnull
from pyflare.js.webidl import scalar_text
from pyflare_bindings.r2 import R2Bucket as Owner

from .r2_content import GivenContent, wrong_value
from .r2_errors import succeed
from .r2_objects import HeadResult, show
from .r2_options import (
    read_checksum,
    read_conditions,
    read_list_options,
    read_object_options,
    read_range,
    read_ssec_key,
)
from .r2_upload import R2MultipartUpload

__all__ = ["R2Bucket"]

_MISSING: Final = object()


class R2Bucket(JsInstance, js_name="R2Bucket"):
    """The binding. Every method but ``resumeMultipartUpload`` gives a promise; wrong arguments reject it."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner

    def head(self, key: Any = None, *_: Any) -> JsPromise:
        """The object without its content, null when there is none."""
        return start(_head(self._owner, key))

    def get(self, key: Any = None, options: Any = None, *_: Any, **named: Any) -> JsPromise:
        """The object; without content when ``onlyIf`` fails, null when there is none."""
        return start(_get(self._owner, key, named if options is None else options))

    def put(
        self, key: Any = None, value: Any = _MISSING, options: Any = None, *_: Any, **named: Any
    ) -> JsPromise:
        """The object that was written, null when ``onlyIf`` fails."""
        return start(_put(self._owner, key, value, named if options is None else options))

    def delete(self, keys: Any = None, *_: Any) -> JsPromise:
        """Delete one object, or those of an array of keys."""
        return start(_delete(self._owner, keys))

    def list(self, options: Any = None, *_: Any, **named: Any) -> JsPromise:
        """``{objects, truncated, cursor, delimitedPrefixes}``; ``cursor`` is there when there is more."""
        return start(_list(self._owner, named if options is None else options))

    def createMultipartUpload(
        self, key: Any = None, options: Any = None, *_: Any, **named: Any
    ) -> JsPromise:
        """Begin an upload in parts."""
        return start(_create_upload(self._owner, key, named if options is None else options))

    def resumeMultipartUpload(
        self, key: Any = None, upload_id: Any = None, *_: Any
    ) -> R2MultipartUpload:
        """An upload that was begun before; nothing is checked."""
        return R2MultipartUpload._make(  # type: ignore[no-any-return]
            self._owner, scalar_text(key), scalar_text(upload_id)
        )


async def _head(owner: Owner, key: Any) -> Any:
    found = await succeed("head", owner.head(scalar_text(key)))
    return jsnull if found is None else HeadResult._make(found)


async def _get(owner: Owner, key: Any, options: Any) -> Any:
    name = scalar_text(key)
    if is_nullish(options) or options == {}:
        request = owner.get(name)
    else:
        wanted, header = read_range(get_property(options, "range"))
        request = owner.get(
            name,
            conditions=read_conditions(get_property(options, "onlyIf")),
            range=wanted,
            range_header=header,
            ssec_key=read_ssec_key(options),
        )
    found = await succeed("get", request)
    return jsnull if found is None else show(found)


async def _put(owner: Owner, key: Any, value: Any, options: Any) -> Any:
    name = scalar_text(key)
    refused = wrong_value("put", "R2Bucket")
    if value is _MISSING:
        raise refused
    stored = read_object_options("put", options)
    checksum = read_checksum(options)
    conditions = None if is_nullish(options) else read_conditions(get_property(options, "onlyIf"))
    given = GivenContent(value, refused)
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
    if isinstance(keys, JsArray | list | tuple):
        await succeed("delete", owner.delete([scalar_text(key) for key in keys]))
    else:
        await succeed("delete", owner.delete(scalar_text(keys)))


async def _list(owner: Owner, options: Any) -> JsObject:
    page = await succeed("list", owner.list(read_list_options(options)))
    listed: dict[str, Any] = {
        "objects": JsArray.adopt([HeadResult._make(found) for found in page.objects]),
        "truncated": page.truncated,
    }
    if page.cursor is not None:
        listed["cursor"] = page.cursor
    listed["delimitedPrefixes"] = JsArray.adopt(page.delimited_prefixes)
    return JsObject.adopt(listed)


async def _create_upload(owner: Owner, key: Any, options: Any) -> Any:
    name = scalar_text(key)
    stored = read_object_options("createMultipartUpload", options)
    upload_id = await succeed("createMultipartUpload", owner.uploads.create(name, stored))
    return R2MultipartUpload._make(owner, name, upload_id)
