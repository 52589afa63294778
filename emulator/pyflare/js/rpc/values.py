"""What crosses a remote call: copies, and stubs of what cannot be copied.

The sender makes the copies, so that a value changed afterwards is not changed for the receiver, and refuses what cannot
cross. Functions, ``RpcTarget`` objects and stubs arrive as stubs, streams move, requests, responses, headers, blobs and
abort signals are copied with their bodies moved.

Source: https://developers.cloudflare.com/workers/runtime-apis/rpc/#structured-clonable-types-and-more
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ..array import JsArray
from ..array_buffer import JsBuffer
from ..collections import JsMap, JsSet
from ..error import Error
from ..structured_clone import refusal, structured_clone
from ..value import JsNull, JsObject
from .names import RemoteNames, RpcTarget, Stub

__all__ = ["Arguments", "clone_arguments", "clone_result"]

_UNCHANGED: Final = frozenset({str, int, bool, type(None), JsNull})
_LARGEST: Final = 32 * 1024 * 1024
#: Nothing with fewer items and shorter texts comes near the limit.
_SHORT: Final = 4096


class Arguments(tuple[Any, ...]):
    """Arguments with stubs among them, which live as long as the call, or with streams, which live on."""

    stubs: list[Any]
    #: Streams, and requests and responses with a body: what a sender waits for somebody to read or write.
    streams: list[Any]

    def dispose(self) -> None:
        """The call has returned: what the callee has not kept by ``dup()`` is let go."""
        for stub in self.stubs:
            stub._symbol_dispose()


def clone_arguments(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """Copies of arguments for the other side.

    Raises: DOMException "DataCloneError" for what cannot be sent, Error for more than 32 MiB.
    """
    if _UNCHANGED.issuperset(map(type, arguments)):
        if any(type(item) is str and len(item) > _SHORT for item in arguments):
            _check_size(arguments)
        return tuple(arguments)
    if len(arguments) == 1 and (flat := _flat_copy(arguments[0])) is not None:
        return (flat,)
    sending = _Sending()
    copies = structured_clone(JsArray.adopt(list(arguments)), host=sending.take)
    _check_size(copies)
    if not sending.stubs and not sending.streams:
        return tuple(copies)
    made = Arguments(copies)
    made.stubs = sending.stubs
    made.streams = sending.streams
    return made


def clone_result(value: Any) -> Any:
    """A copy of a result for the caller. Raises: as :func:`clone_arguments`."""
    kind = type(value)
    if kind in _UNCHANGED:
        if kind is str and len(value) > _SHORT:
            _check_size((value,))
        return value
    flat = _flat_copy(value)
    if flat is not None:
        return flat
    copy = structured_clone(value, host=_Sending().take)
    _check_size((copy,))
    return copy


def _flat_copy(value: Any) -> Any:
    """The copy of a small plain object or array of primitives, which most values are; None for others."""
    items: Any
    if type(value) is JsObject:
        items = value.__dict__.values()
    elif type(value) is JsArray:
        items = value._list
    else:
        return None
    if len(items) > _SHORT or not _UNCHANGED.issuperset(map(type, items)):
        return None
    for item in items:
        if type(item) is str and len(item) > _SHORT:
            return None
    if type(value) is JsObject:
        return JsObject.adopt(value.__dict__.copy())
    return JsArray.adopt(items[:])


class _Sending:
    """One message: what its values leave as that no clone can carry."""

    __slots__ = ("streams", "stubs")

    def __init__(self) -> None:
        self.stubs: list[Any] = []
        self.streams: list[Any] = []

    def take(self, value: Any) -> Any:
        from .exports import Export, is_function
        from .stub import JsRpcStub

        if isinstance(value, JsRpcStub):
            return self._stub(value.export())
        if isinstance(value, Stub) and value._can_be_sent:
            from ..fetcher import Fetcher

            # A stub of an object, with its id and name, arrives as a plain one.
            return Fetcher._make(value._channel)
        if isinstance(value, RemoteNames):
            # The promise or the property of a call, whose value would have to be awaited first, or a binding to an
            # entrypoint of the worker's own, which would have to be given its props.
            raise refusal(value)
        if isinstance(value, RpcTarget) or is_function(value):
            return self._stub(Export.here(value))
        from .bodies import copy_platform_object, is_open

        copy = copy_platform_object(value)
        if copy is None:
            raise refusal(value)
        if is_open(copy):
            self.streams.append(copy)
        return copy

    def _stub(self, export: Any) -> Any:
        from .stub import JsRpcStub

        made = JsRpcStub._make(export)
        self.stubs.append(made)
        return made


def _check_size(values: Sequence[Any]) -> None:
    """Raises: Error for values that would not fit into a message. Sizes are counted as V8 writes them, nearly."""
    size = _size(values, set(), _LARGEST)
    if size > _LARGEST:
        raise Error(
            "Serialized RPC arguments or return values are limited to 32MiB, but the size of this value was: "
            f"{size} bytes."
        )


def _wide_text(value: str) -> int:
    """Text of Latin-1 has one byte a character, other text two bytes a UTF-16 unit."""
    try:
        return len(value.encode("latin-1"))
    except UnicodeEncodeError:
        return len(value.encode("utf-16-le", "surrogatepass"))


def _size(value: Any, seen: set[int], most: int) -> int:
    match value:
        case str():
            return 3 + (len(value) if value.isascii() else _wide_text(value))
        case JsBuffer():
            return int(value.byteLength) + 8  # type: ignore[attr-defined]
        case JsObject():
            parts: Any = (*value.__dict__, *value.__dict__.values())
        case JsMap():
            parts = [part for pair in value.items() for part in pair]
        case JsArray() | JsSet() | tuple():
            parts = value
        case _:
            return 9
    if id(value) in seen:
        return 3
    seen.add(id(value))
    return 4 + sum(_size(part, seen, most) for part in parts)
