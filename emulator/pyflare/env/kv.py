"""``env.KV`` as JavaScript sees it: the KV binding over the one owner of the namespace.

Source: https://developers.cloudflare.com/kv/api/ and workerd ``src/workerd/api/kv.c++``
"""

from __future__ import annotations

from typing import Any, Final

from pyflare.js.array import JsArray
from pyflare.js.buffer import ArrayBuffer
from pyflare.js.collections import JsMap
from pyflare.js.departure import start
from pyflare.js.error import SyntaxError_
from pyflare.js.json import JSON
from pyflare.js.options import options_or_keywords
from pyflare.js.promise import JsPromise
from pyflare.js.value import JsInstance, JsObject, is_nullish, jsnull
from pyflare.js.webidl import null, scalar_text
from pyflare_bindings.kv import KVEntry, KVKey, KVNamespace
from pyflare_bindings.kv.limits import MAX_LIST_KEYS, check_bulk_type

from .conversion import MISSING, TEXT, Convertible, Parameter, Type
from .kv_requests import (
    LIST_OPTIONS,
    PutOptions,
    ReadOptions,
    checked_key,
    decoded,
    failure,
    fetch_entry,
    put_value,
    succeed,
    value_stream,
)

__all__ = ["KvNamespace"]


def _parameter(method: str, number: int, kind: Convertible = TEXT) -> Parameter:
    return Parameter("KvNamespace", method, number, kind)


# Arrays of keys go another way before these are read; what they are called shows when there is no argument.
_GET_KEY: Final = _parameter("get", 1, Type("string or Array", TEXT.convert))
_GET_WITH_METADATA_KEY: Final = _parameter(
    "getWithMetadata", 1, Type("Array or string", TEXT.convert)
)
_PUT_KEY: Final = _parameter("put", 1)
_PUT_VALUE: Final = _parameter("put", 2, Type("string or Object", TEXT.convert))
_DELETE_KEY: Final = _parameter("delete", 1)
_LIST_OPTIONS: Final = _parameter("list", 1, LIST_OPTIONS)


class KvNamespace(JsInstance, js_name="KvNamespace"):
    """The binding. Every method gives a promise, and what is wrong with its arguments rejects it."""

    #: What a structured clone is refused with.
    _no_clone = "A KV namespace binding cannot be serialized."

    def __init__(self, owner: KVNamespace) -> None:
        self._owner = owner

    def get(self, key: Any = MISSING, options: Any = None, /, *_: Any, **named: Any) -> JsPromise:
        """The value, null when there is none; for an array of keys a map."""
        options = options_or_keywords(options, named)
        if isinstance(key, JsArray | list | tuple):
            return start(_get_many(self._owner, key, options, with_metadata=False))
        return start(_get(self._owner, key, options))

    def getWithMetadata(
        self, key: Any = MISSING, options: Any = None, /, *_: Any, **named: Any
    ) -> JsPromise:
        """``{value, metadata, cacheStatus}``; for an array of keys a map of ``{value, metadata}``."""
        options = options_or_keywords(options, named)
        if isinstance(key, JsArray | list | tuple):
            return start(_get_many(self._owner, key, options, with_metadata=True))
        return start(_get_with_metadata(self._owner, key, options))

    def put(
        self,
        key: Any = MISSING,
        value: Any = MISSING,
        options: Any = None,
        /,
        *_: Any,
        **named: Any,
    ) -> JsPromise:
        """Set value, expiry and metadata together."""
        return start(_put(self._owner, key, value, options_or_keywords(options, named)))

    def list(self, options: Any = None, /, *_: Any, **named: Any) -> JsPromise:
        """``{keys, list_complete, cursor, cacheStatus}``."""
        return start(_list(self._owner, options_or_keywords(options, named)))

    def delete(self, key: Any = MISSING, /, *_: Any, **__: Any) -> JsPromise:
        """Remove a key, whether or not it is there."""
        return start(_delete(self._owner, key))


async def _get(owner: KVNamespace, key: Any, options: Any) -> Any:
    name = _GET_KEY.read(key)
    wanted = ReadOptions.read(options)
    entry = await fetch_entry(owner, name, wanted)
    return jsnull if entry is None else await _value(entry, wanted)


async def _get_with_metadata(owner: KVNamespace, key: Any, options: Any) -> JsObject:
    name = _GET_WITH_METADATA_KEY.read(key)
    wanted = ReadOptions.read(options)
    entry = await fetch_entry(owner, name, wanted)
    return JsObject.adopt(
        {
            "value": null() if entry is None else await _value(entry, wanted),
            "metadata": null() if entry is None else _metadata(entry),
            # Nothing is cached in front of the namespace, so there is no status to tell.
            "cacheStatus": null(),
        }
    )


async def _value(entry: KVEntry, wanted: ReadOptions) -> Any:
    if wanted.type == "stream":
        return value_stream(entry)
    try:
        data = await wanted.bytes_of(entry)
    finally:
        entry.close()
    return ArrayBuffer.adopt(data) if wanted.type == "arrayBuffer" else decoded(data, wanted.type)


def _metadata(entry: KVEntry | KVKey) -> Any:
    return null() if entry.metadata is None else JSON.parse(entry.metadata)


async def _get_many(owner: KVNamespace, keys: Any, options: Any, *, with_metadata: bool) -> JsMap:
    wanted = ReadOptions.read(options)
    # The platform leaves an empty type out of its request.
    wanted.type = wanted.type or "text"
    found = await succeed("GET_BULK", _entries(owner, list(map(scalar_text, keys)), wanted))
    values = JsMap.empty()
    for name, entry in found.items():
        value = jsnull if entry is None else await _bulk_value(entry, wanted)
        if with_metadata and entry is not None and not is_nullish(value):
            value = JsObject.adopt({"value": value, "metadata": _metadata(entry)})
        values.set(name, value)
    return values


async def _entries(
    owner: KVNamespace, keys: list[str], wanted: ReadOptions
) -> dict[str, KVEntry | None]:
    check_bulk_type(wanted.type)
    return await owner.get_many(keys, wanted.cache_ttl)


async def _bulk_value(entry: KVEntry, wanted: ReadOptions) -> Any:
    try:
        data = await wanted.bytes_of(entry, "GET_BULK")
    finally:
        entry.close()
    try:
        return decoded(data, wanted.type)
    except SyntaxError_:
        raise failure(
            "GET_BULK", 400, "At least one of the requested keys corresponds to a non-json value"
        ) from None


async def _put(owner: KVNamespace, key: Any, value: Any, options: Any) -> None:
    name = _PUT_KEY.read(key)
    if value is MISSING:
        raise _PUT_VALUE.refusal()
    await put_value(owner, name, value, PutOptions.read(options))


async def _delete(owner: KVNamespace, key: Any) -> None:
    await succeed("DELETE", owner.delete(checked_key(_DELETE_KEY.read(key))))


async def _list(owner: KVNamespace, options: Any) -> JsObject:
    fields = _LIST_OPTIONS.read(options)
    count = fields.get("limit", 0)
    request = owner.list(
        fields.get("prefix") or "",
        count if count > 0 else MAX_LIST_KEYS,
        fields.get("cursor"),
    )
    page = await succeed("GET", request)
    listed = {
        "keys": JsArray.adopt([_listed(key) for key in page.keys]),
        "list_complete": page.cursor is None,
    }
    if page.cursor is not None:
        listed["cursor"] = page.cursor
    listed["cacheStatus"] = null()
    return JsObject.adopt(listed)


def _listed(key: KVKey) -> JsObject:
    shown: dict[str, Any] = {"name": key.name}
    if key.expires is not None:
        shown["expiration"] = key.expires
    if key.metadata is not None:
        shown["metadata"] = _metadata(key)
    return JsObject.adopt(shown)
