"""Requests to a KV namespace, shared by the two faces of ``env.KV`` (raw and through the SDK).

Source: https://developers.cloudflare.com/kv/api/ and workerd ``src/workerd/api/kv.c++``
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

from pyflare.js.body import decode_text
from pyflare.js.buffer import as_bytes
from pyflare.js.error import Error, JsException, TypeError_
from pyflare.js.json import JSON
from pyflare.js.readable import ReadableStream
from pyflare.js.value import JsProxy, get_property, is_nullish
from pyflare.js.webidl import encode_text, integer, scalar_text, text
from pyflare_bindings.kv import KVEntry, KVError, KVNamespace
from pyflare_bindings.storage.errors import ClosedError, StateError
from pyflare_bindings.storage.row_file import OverloadedError

__all__ = [
    "PutOptions",
    "ReadOptions",
    "fetch_entry",
    "key_text",
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


def key_text(key: Any) -> str:
    """A key argument. Raises TypeError for the names that are refused before any request."""
    name = key if type(key) is str and key.isascii() else scalar_text(key)
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
        if is_nullish(options):
            return cls()
        if isinstance(options, str):
            return cls(options)
        type_, cache_ttl = get_property(options, "type"), get_property(options, "cacheTtl")
        return cls(
            "text" if is_nullish(type_) else text(type_),
            None if is_nullish(cache_ttl) else integer(cache_ttl),
        )

    async def bytes_of(self, entry: KVEntry, operation: Operation = "GET") -> bytes:
        """The whole value. Raises TypeError for a type that does not exist."""
        if self.type not in TYPES:
            raise TypeError_(_WRONG_TYPE)
        content = entry.content
        if type(content) is bytes:
            return content
        return await succeed(operation, entry.read())


async def fetch_entry(owner: KVNamespace, key: Any, options: ReadOptions) -> KVEntry | None:
    """Look a key up for ``get`` and ``getWithMetadata``."""
    return await succeed("GET", owner.get(key_text(key), options.cache_ttl))


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
        if is_nullish(options):
            return cls()
        expiration = get_property(options, "expiration")
        expiration_ttl = get_property(options, "expirationTtl")
        metadata = get_property(options, "metadata")
        return cls(
            None if is_nullish(expiration) else integer(expiration),
            None if is_nullish(expiration_ttl) else integer(expiration_ttl),
            None if is_nullish(metadata) else JSON.stringify(metadata),
        )


async def put_value(owner: KVNamespace, key: Any, value: Any, options: PutOptions) -> None:
    """``put`` with a value of any kind that JavaScript may pass."""
    name = key_text(key)
    if isinstance(value, ReadableStream):
        await _put_stream(owner, name, value, options)
    else:
        await _put(owner, name, _bytes_of_value(value), None, options)


async def _put_stream(
    owner: KVNamespace, name: str, stream: ReadableStream, options: PutOptions
) -> None:
    known = None if stream.locked else stream.unread_content()
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
    data = as_bytes(value)
    if data is not None:
        return bytes(data)
    if isinstance(value, JsProxy) or not (
        is_nullish(value) or isinstance(value, str | int | float)
    ):
        raise TypeError_(_WRONG_VALUE)
    return encode_text(text(value))


def decoded(data: bytes, type_: str) -> Any:
    """A value as ``text`` or ``json``. Raises SyntaxError for a value that is no JSON."""
    string = decode_text(data)
    return JSON.parse(string) if type_ == "json" else string
