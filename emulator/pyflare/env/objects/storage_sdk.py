"""``ctx.storage`` as a Python Worker sees it: the SDK's wrapper, without its detours.

The SDK converts every argument to JavaScript and every result back. For single keys and values both conversions are
taken together with the stored form (:mod:`.values`); everything unusual takes the SDK's own way. A test runs the same
programs through both and compares.

As in production an operation is performed when it is called, not when it is awaited, and gives a coroutine.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterator
from functools import cached_property
from typing import Any, TypeAlias

from workers.rpc import JsDict, _BindingWrapper, python_to_rpc

from pyflare.js.error import JsException

from .arguments import MISSING, ListOptions, options_of
from .owner_errors import OWNER_ERRORS, owner_failure
from .session import StorageSession
from .sql_sdk import SqlStorageWrapper
from .values import from_stored, to_stored

_Outcome: TypeAlias = Coroutine[Any, Any, Any]

__all__ = ["DurableObjectStorageWrapper", "SyncKvStorageWrapper"]


class _Wrapper(_BindingWrapper):  # type: ignore[misc]
    """Objects that results turn out to be get the SDK's plain wrapper and not this one."""

    def __init__(self, binding: Any) -> None:
        if binding is self:
            return
        self._binding = binding
        self._session: StorageSession = binding._session

    def _wrap_js_value(self, value: Any) -> Any:
        return _BindingWrapper(self._binding)._wrap_js_value(value)


class DurableObjectStorageWrapper(_Wrapper):
    """The SDK's wrapper of :class:`pyflare.env.objects.storage.DurableObjectStorage`."""

    @cached_property
    def sql(self) -> SqlStorageWrapper:
        return SqlStorageWrapper(self._binding.sql)

    @cached_property
    def kv(self) -> SyncKvStorageWrapper:
        return SyncKvStorageWrapper(self._binding.kv)

    def get(self, key: Any = MISSING, *more: Any, **named: Any) -> _Outcome:
        session = self._session
        if type(key) is not str or more or named or session.limited:
            return self._as_sdk("get", key, more, named)
        try:
            data = session.storage.get(key)
            return _given(None if data is None else from_stored(data))
        except JsException as error:
            return _failed(error)
        except OWNER_ERRORS as error:
            return _failed(owner_failure(error))

    def put(self, key: Any = MISSING, value: Any = MISSING, *more: Any, **named: Any) -> _Outcome:
        session = self._session
        if type(key) is not str or value is MISSING or more or named or session.limited:
            return self._as_sdk("put", key, () if value is MISSING else (value, *more), named)
        try:
            data = to_stored(value, session.enhanced_errors)
            session.write(True, session.storage.put, key, data)
        except JsException as error:
            return _failed(error)
        except OWNER_ERRORS as error:
            return _failed(owner_failure(error))
        return _given(None)

    def list(self, options: Any = MISSING, *more: Any, **named: Any) -> _Outcome:
        wanted, keywords = _options(options, named)
        try:
            pairs = self._session.storage.list(
                *ListOptions.read(options_of(wanted, keywords, "list", 1, "ListOptions"))
            )
            return _given(JsDict({key: from_stored(data) for key, data in pairs}))
        except JsException as error:
            return _failed(error)
        except OWNER_ERRORS as error:
            return _failed(owner_failure(error))

    def delete(self, key: Any = MISSING, *more: Any, **named: Any) -> _Outcome:
        session = self._session
        if type(key) is not str or more or named or session.limited:
            return self._as_sdk("delete", key, more, named)
        try:
            return _given(session.write(True, session.storage.delete, key))
        except OWNER_ERRORS as error:
            return _failed(owner_failure(error))

    def _as_sdk(
        self, name: str, key: Any, more: tuple[Any, ...], named: dict[str, Any]
    ) -> _Outcome:
        arguments = more if key is MISSING else (key, *more)
        return self._getattr_helper(name)(*arguments, **named)  # type: ignore[no-any-return]


class SyncKvStorageWrapper(_Wrapper):
    """The SDK's wrapper of :class:`pyflare.env.objects.sync_kv.SyncKvStorage`."""

    def get(self, key: Any = MISSING, *more: Any, **named: Any) -> Any:
        session = self._session
        if type(key) is not str or more or named or session.limited:
            arguments = more if key is MISSING else (key, *more)
            return self._getattr_helper("get")(*arguments, **named)
        try:
            data = session.storage.get(key)
        except OWNER_ERRORS as error:
            raise owner_failure(error) from None
        return None if data is None else from_stored(data)

    def put(self, key: Any = MISSING, value: Any = MISSING, *more: Any, **named: Any) -> None:
        session = self._session
        if type(key) is not str or value is MISSING or more or named or session.limited:
            arguments = () if key is MISSING else (key,) if value is MISSING else (key, value)
            self._getattr_helper("put")(*arguments, *more, **named)
            return
        data = to_stored(value, session.enhanced_errors)
        try:
            session.write(True, session.storage.put, key, data)
        except OWNER_ERRORS as error:
            raise owner_failure(error) from None

    def list(self, options: Any = MISSING, *_: Any, **named: Any) -> KvListWrapper:
        wanted, keywords = _options(options, named)
        return KvListWrapper(self._binding.list(wanted, **keywords))


class KvListWrapper(_BindingWrapper):  # type: ignore[misc]
    """The SDK's wrapper of what ``kv.list()`` gives."""

    def next(self) -> JsDict:
        pair = self._binding.next_pair()
        if pair is None:
            return JsDict(done=True)
        return JsDict(done=False, value=[pair[0], from_stored(pair[1])])

    def __iter__(self) -> Iterator[list[Any]]:
        next_pair = self._binding.next_pair
        while (pair := next_pair()) is not None:
            yield [pair[0], from_stored(pair[1])]


def _options(options: Any, named: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """An options argument and keywords as the SDK converts them."""
    return (
        None if options is MISSING else python_to_rpc(options),
        {name: python_to_rpc(value) for name, value in named.items()},
    )


async def _given(value: Any) -> Any:
    return value


async def _failed(error: Exception) -> Any:
    raise error


# What a person meets in "coroutine ... was never awaited".
_given.__qualname__ = _failed.__qualname__ = "DurableObjectStorage.operation"
