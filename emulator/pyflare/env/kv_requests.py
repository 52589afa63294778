"""Requests to a KV namespace, shared by the two faces of ``env.KV`` (raw and through the SDK).

Source: https://developers.cloudflare.com/kv/api/ and workerd ``src/workerd/api/kv.c++``
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

from pyflare.js.buffer import as_bytes
from pyflare.js.error import Error, JsException, TypeError_
from pyflare.js.json import JSON
from pyflare.js.readable import ReadableStream
from pyflare.js.value import JsProxy, is_nullish
from pyflare.js.webidl import encode_text, text
from pyflare_bindings.kv import KVEntry, KVError, KVNamespace
from pyflare_bindings.kv.limits import key_bytes
from pyflare_bindings.storage.errors import ClosedError, StateError
from pyflare_bindings.storage.row_file import OverloadedError

from .conversion import INTEGER, TEXT, Parameter, Struct, Type, nullable, one_of
from .streams import check_unread

__all__ = [
    "LIST_OPTIONS",
    "PutOptions",
    "ReadOptions",
    "checked_key",
    "fetch_entry",
    "put_value",
    "succeed",
    "value_stream",
]

T = TypeVar("T")
Operation = Literal["GET", "GET_BULK", "PUT", "DELETE"]

_WRONG_TYPE: Final = (
    'Unknown response type. Possible types are "text", "arrayBuffer", "json", and "stream".'
)
_WRONG_VALUE: Final = (
    "KV put() accepts only strings, ArrayBuffers, ArrayBufferViews, and ReadableStreams as values."
)
_READ_OPTIONS: Final = one_of(Struct("GetOptions", {"type": TEXT, "cacheTtl": INTEGER}), TEXT)
_METADATA: Final = nullable(Type("Value", lambda given: given))
_PUT_OPTIONS: Final = Parameter(
    "KvNamespace",
    "put",
    3,
    Struct("PutOptions", {"expiration": INTEGER, "expirationTtl": INTEGER, "metadata": _METADATA}),
)
LIST_OPTIONS: Final = Struct(
    "ListOptions", {"limit": INTEGER, "prefix": nullable(TEXT), "cursor": nullable(TEXT)}
)
TYPES: Final = frozenset({"text", "json", "arrayBuffer", "stream"})


async def succeed(operation: Operation, request: Awaitable[T]) -> T:
    """Await a request to the owner. Raises the platform's ``KV <OP> failed``."""
    try:
        return await request
    except KVError as error:
        raise failure(operation, error.status, error) from None
    except OverloadedError:
        raise failure(operation, 429, "Too Many Requests") from None
    except (StateError, ClosedError) as error:
        # Production only says "Internal Server Error" here; the cause is what helps on one's own machine.
        raise failure(operation, 500, error) from None


def failure(operation: Operation, status: int, cause: object) -> Error:
    """The platform's error for a request that was refused."""
    return Error(f"KV {operation} failed: {status} {cause}")


def checked_key(name: str) -> str:
    """A key. Raises TypeError for the names that are refused before any request."""
    if name == "":
        raise TypeError_("Key name cannot be empty.")
    if name == "." or name == "..":
        raise TypeError_(f'"{name}" is not allowed as a key name.')
    return name


@dataclass(slots=True)
class ReadOptions:
    """What a value is to be read as. A wrong ``type`` only shows when there is a value."""

    type: str = "text"
    cache_ttl: int | None = None

    @classmethod
    def read(cls, options: Any) -> ReadOptions:
        """From a type name or an object with ``type`` and ``cacheTtl``."""
        if is_nullish(options) or options == {}:
            return cls()
        given = options if type(options) is str else _READ_OPTIONS.convert(options)
        if isinstance(given, str):
            return cls(given)
        return cls(given.get("type", "text"), given.get("cacheTtl"))

    async def bytes_of(self, entry: KVEntry, operation: Operation = "GET") -> bytes:
        """The whole value. Raises TypeError for a type that does not exist."""
        if self.type not in TYPES:
            raise TypeError_(_WRONG_TYPE)
        content = entry.content
        if type(content) is bytes:
            return content
        return await succeed(operation, entry.read())


async def fetch_entry(owner: KVNamespace, name: str, options: ReadOptions) -> KVEntry | None:
    """Look a key up for ``get`` and ``getWithMetadata``."""
    return await succeed("GET", owner.get(checked_key(name), options.cache_ttl))


def value_stream(entry: KVEntry) -> ReadableStream:
    """A value as a byte stream."""
    if isinstance(entry.content, bytes):
        return ReadableStream.from_bytes(entry.content)
    return ReadableStream.from_source(_ValueSource(entry))


class _ValueSource:
    """A large value, read on demand; the file stays while the stream lives."""

    __slots__ = ("_chunks", "length")

    def __init__(self, entry: KVEntry) -> None:
        self._chunks: AsyncIterator[bytes] | None = entry.chunks()
        self.length: int | None = entry.size

    async def read(self) -> bytes:
        if self._chunks is None:
            return b""
        try:
            return await anext(self._chunks)
        except StopAsyncIteration:
            return b""
        except (StateError, ClosedError) as error:
            raise failure("GET", 500, error) from None

    async def cancel(self, _reason: Any) -> None:
        self._chunks = None


@dataclass(slots=True)
class PutOptions:
    """Expiry and metadata of a ``put``; ``metadata`` is JSON text."""

    expiration: int | None = None
    expiration_ttl: int | None = None
    metadata: str | None = None

    @classmethod
    def read(cls, options: Any) -> PutOptions:
        """From an object. Raises what ``JSON.stringify`` raises for the metadata."""
        if is_nullish(options) or options == {}:
            return cls()
        given = _PUT_OPTIONS.read(options)
        metadata = given.get("metadata")
        return cls(
            given.get("expiration"),
            given.get("expirationTtl"),
            None if metadata is None else JSON.stringify(metadata),
        )


async def put_value(owner: KVNamespace, key: str, value: Any, options: PutOptions) -> None:
    """``put`` with a value of any kind that JavaScript may pass."""
    name = checked_key(key)
    if isinstance(value, ReadableStream):
        check_unread(value)
        await _put_stream(owner, name, value, options)
    else:
        try:
            data = _bytes_of_value(value)
        except JsException:
            await succeed("PUT", _checked_length(name))
            raise
        await _put(owner, name, data, None, options)


async def _checked_length(name: str) -> None:
    # A key that is too long is told of before a value that is none.
    key_bytes(name)


async def _put_stream(
    owner: KVNamespace, name: str, stream: ReadableStream, options: PutOptions
) -> None:
    known = stream.unread_content()
    if known is not None:
        # A body that lies in memory anyway.
        stream._disturbed = True
        stream._state = "closed"
        await _put(owner, name, bytes(known), None, options)
        return
    chunks = stream.iterate_bytes()
    try:
        await _put(owner, name, chunks, chunks.length, options)
    except BaseException as error:
        await chunks.aclose(error if isinstance(error, JsException) else None)
        raise


async def _put(
    owner: KVNamespace,
    name: str,
    value: bytes | AsyncIterator[bytes | memoryview],
    length: int | None,
    options: PutOptions,
) -> None:
    request = owner.put(
        name,
        value,
        length=length,
        expiration=options.expiration,
        expiration_ttl=options.expiration_ttl,
        metadata=options.metadata,
    )
    await succeed("PUT", request)


def _bytes_of_value(value: Any) -> bytes:
    if type(value) is str:
        return encode_text(value)
    # Python's own buffers are proxies to JavaScript, and no values, unless `to_js` has converted them.
    data = as_bytes(value) if isinstance(value, JsProxy) else None
    if data is not None:
        return bytes(data)
    if isinstance(value, JsProxy) or not (
        is_nullish(value) or isinstance(value, str | int | float)
    ):
        raise TypeError_(_WRONG_VALUE)
    return encode_text(text(value))


def decoded(data: bytes, type_: str) -> Any:
    """A value as ``text`` or ``json``. Raises SyntaxError for a value that is no JSON.

    A byte order mark stays, at every compatibility date.
    """
    string = str(data, "utf-8", "replace")
    return JSON.parse(string) if type_ == "json" else string
