"""``ctx.storage.kv`` as JavaScript sees it: keys and values without promises.

Source: https://developers.cloudflare.com/durable-objects/api/sqlite-storage-api/#synchronous-kv-api and workerd
``src/workerd/api/sync-kv.*``
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import update_wrapper
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from pyflare.js.array import JsArray
from pyflare.js.error import Error
from pyflare.js.v8_format import deserialize, serialize
from pyflare.js.value import JsInstance, JsObject
from pyflare.js.webidl import wrong_type
from pyflare_bindings.objects.key_values import KeyRange
from pyflare_bindings.objects.storage import ObjectStorage

from .arguments import MISSING, ListOptions, key_text, options_of
from .operations import value_of
from .owner_errors import OWNER_ERRORS, owner_failure
from .session import StorageSession

__all__ = ["KvListIterator", "SyncKvStorage"]

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")

NOT_SQLITE: Final = (
    "The storage.kv (synchronous KV) API is only available for SQLite-backed Durable Objects, but this object's "
    "namespace is not declared to use SQLite. You can use the older, asyncronous interface via methods of `storage` "
    "itself (e.g. `storage.get()`). SQLite can be enabled on a new Durable Object class by using the "
    "`new_sqlite_classes` instead of `new_classes` under `migrations` in your wrangler.jsonc or wrangler.toml, but an "
    "already-deployed class cannot be converted to SQLite (except by deleting the existing data)."
)
INVALIDATED: Final = (
    "kv.list() iterator was invalidated because a new call to kv.list() was started. Only one kv.list() iterator can "
    "exist at a time."
)
_PAGE: Final = 128


def _checked(
    operation: Callable[Concatenate[S, P], T],
) -> Callable[Concatenate[S, P], T]:
    def method(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return operation(self, *args, **kwargs)
        except OWNER_ERRORS as error:
            raise owner_failure(error) from None

    update_wrapper(method, operation)
    return method


class SyncKvStorage(JsInstance, js_name="SyncKvStorage"):
    """The same pairs as the asynchronous methods of the storage."""

    def __init__(self, session: StorageSession) -> None:
        self._session = session

    @_checked
    def get(self, key: Any = MISSING, *_: Any) -> Any:
        """The value of a key, undefined when there is none."""
        data = self._storage().get(key_text(key, "get", "SyncKvStorage"))
        return None if data is None else value_of(data)

    @_checked
    def put(self, key: Any = MISSING, value: Any = MISSING, *_: Any) -> None:
        """Set the value of a key; undefined is a value too."""
        storage = self._storage()
        session = self._session
        name = key_text(key, "put", "SyncKvStorage")
        if value is MISSING:
            raise wrong_type("put", "SyncKvStorage", 2, "Value")
        data = serialize(value, enhanced_errors=session.enhanced_errors)
        session.write(True, storage.put, name, data)

    @_checked
    def delete(self, key: Any = MISSING, *_: Any) -> bool:
        """Delete a key and say whether it was there."""
        storage = self._storage()
        return self._session.write(True, storage.delete, key_text(key, "delete", "SyncKvStorage"))

    def list(self, options: Any = None, *_: Any, **named: Any) -> Any:
        """An iterator over ``[key, value]`` in a range of keys; it sees what is put ahead of it.

        A new call ends the one before: only one can be read at a time.
        """
        self._storage()
        wanted = ListOptions.read(
            options_of(options, named, "list", 1, "ListOptions", "SyncKvStorage")
        )
        self._session.listings += 1
        return KvListIterator._make(self._session, wanted)

    def _storage(self) -> ObjectStorage:
        session = self._session
        if session.limited:
            raise Error(NOT_SQLITE)
        return session.storage


class KvListIterator(JsInstance, js_name="Iterator"):
    """Reads pairs in pages; a page is read anew when something has been written meanwhile."""

    def __init__(self, session: StorageSession, wanted: ListOptions) -> None:
        self._session = session
        self._number = session.listings
        self._wanted: KeyRange | None = KeyRange(*wanted)
        self._page: Iterator[tuple[str, bytes]] = iter(())
        self._seen = -1
        self._last: str | None = None
        self._given = 0

    def next(self, *_: Any) -> JsObject:
        """``{done, value}``. Raises: Error when another call of ``list()`` has ended this one."""
        pair = self.next_pair()
        if pair is None:
            return JsObject.adopt({"done": True})
        return JsObject.adopt({"done": False, "value": _shown(pair)})

    def __iter__(self) -> Iterator[JsArray]:
        while (pair := self.next_pair()) is not None:
            yield _shown(pair)

    def next_pair(self) -> tuple[str, bytes] | None:
        """The next key and the bytes of its value, None at the end. Raises: Error."""
        wanted = self._wanted
        if wanted is None:
            return None
        session = self._session
        if self._number != session.listings:
            raise Error(INVALIDATED)
        pair = next(self._page, None) if self._seen == session.changes else None
        if pair is None:
            if self._last is not None:
                wanted = self._wanted = self._behind(wanted, self._last)
            pair = self._read(wanted)
        self._given += 1
        if pair is None:
            self._wanted = None
        else:
            self._last = pair[0]
        return pair

    def _read(self, wanted: KeyRange) -> tuple[str, bytes] | None:
        session = self._session
        limit = _PAGE if wanted.limit is None else min(_PAGE, wanted.limit)
        if limit == 0:
            return None
        self._seen = session.changes
        try:
            self._page = iter(session.storage.list(*wanted._replace(limit=limit)))
        except OWNER_ERRORS as error:
            raise owner_failure(error) from None
        return next(self._page, None)

    def _behind(self, wanted: KeyRange, key: str) -> KeyRange:
        """What is left behind a key, of which so many have been given since the last page began."""
        left = None if wanted.limit is None else wanted.limit - self._given
        self._given = 0
        if wanted.reverse:
            return wanted._replace(end=key, limit=left)
        return wanted._replace(start=None, start_after=key, limit=left)


def _shown(pair: tuple[str, bytes]) -> JsArray:
    return JsArray.adopt([pair[0], deserialize(pair[1])])
