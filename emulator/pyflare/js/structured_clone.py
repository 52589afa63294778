"""``structuredClone``: deep copies of JavaScript values, by the web's rules and the platform's words.

Plain objects, arrays, maps, sets, dates, regular expressions, boxed primitives, buffers and errors are copied, cycles
and shared parts kept. Functions, symbols, promises and instances of other classes are refused, and so are native Python
objects other than strings and numbers: JavaScript sees them as proxies, which cannot be cloned.

Source: https://html.spec.whatwg.org/multipage/structured-data.html and
https://developers.cloudflare.com/workers/runtime-apis/rpc/#structured-clonable-types-and-more
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from . import error as errors
from .array import JsArray, items_of
from .array_buffer import ArrayBuffer, JsBuffer
from .collections import JsMap, JsSet
from .data_view import DataView
from .date import Date
from .error import DOMException, JsException, data_clone_error
from .number import Number, to_string
from .object_map import ObjectMap
from .regexp import RegExp
from .string import Boolean, String
from .symbol import Symbol
from .typed_array import TypedArray
from .value import (
    MAX_SAFE_INTEGER,
    JsBigInt,
    JsClass,
    JsNull,
    JsObject,
    JsProxy,
    get_property,
    is_nullish,
)

__all__ = ["refusal", "structured_clone"]

_UNCHANGED: Final = frozenset({str, int, bool, type(None), JsNull})
#: A clone keeps these names of errors; every other becomes "Error".
_ERROR_CLASSES: Final[dict[str, Any]] = {
    "EvalError": errors.EvalError,
    "RangeError": errors.RangeError,
    "ReferenceError": errors.ReferenceError_,
    "SyntaxError": errors.SyntaxError_,
    "TypeError": errors.TypeError_,
    "URIError": errors.URIError,
}

#: Takes a value that the clone refuses; gives what stands for it, or raises.
HostObject = Callable[[Any], Any]


def structured_clone(
    value: Any, options: Any = None, *, host: HostObject | None = None, transfer: Any = None
) -> Any:
    """A deep copy.

    Args: ``options`` an object whose ``transfer`` lists the ArrayBuffers to move instead of copying, or ``transfer``
    itself; ``host`` is asked for what no clone can carry (RPC carries functions and streams that way).
    Raises: DOMException "DataCloneError".
    """
    if type(value) in _UNCHANGED:
        return value
    if transfer is None and not is_nullish(options):
        transfer = get_property(options, "transfer")
    transferred = _Transfer(transfer)
    copy = _Clone(host, transferred).clone(value)
    transferred.finish()
    return copy


def structuredClone(value: Any = None, options: Any = None) -> Any:
    """The global function: :func:`structured_clone` for a Worker's code."""
    return structured_clone(value, options, host=_of_the_platform)


def _of_the_platform(value: Any) -> Any:
    """The copy of an instance of a class of the platform that can be copied."""
    from .blob import Blob
    from .headers import Headers

    if isinstance(value, Headers):
        return value.copy(immutable=value._immutable)
    if type(value) is Blob:
        return Blob.of(value._data, value.type)
    raise refusal(value)


class _Transfer:
    """The buffers that move: they get their new owner when the whole clone has succeeded."""

    def __init__(self, transfer: Any) -> None:
        buffers = [] if is_nullish(transfer) else items_of(transfer)
        self._moved: dict[int, tuple[ArrayBuffer, ArrayBuffer]] = {}
        for buffer in buffers:
            if not isinstance(buffer, ArrayBuffer):
                raise DOMException._make("Value not transferable", "DataCloneError")
            if buffer.detached or id(buffer) in self._moved:
                raise DOMException._make(
                    "An ArrayBuffer is detached or is listed twice and could not be transferred.",
                    "DataCloneError",
                )
            self._moved[id(buffer)] = (buffer, ArrayBuffer.adopt(buffer._data))

    def get(self, buffer: ArrayBuffer) -> ArrayBuffer | None:
        moved = self._moved.get(id(buffer))
        return None if moved is None else moved[1]

    def finish(self) -> None:
        for old, _ in self._moved.values():
            old.transfer()


class _Clone:
    __slots__ = ("done", "host", "transferred")

    def __init__(self, host: HostObject | None, transferred: _Transfer) -> None:
        self.host = host
        self.transferred = transferred
        self.done: dict[int, Any] = {}

    def clone(self, value: Any) -> Any:
        kind = type(value)
        if kind in _UNCHANGED:
            return value
        if isinstance(value, float):
            # A whole number is an int in Python's hands.
            return int(value) if value.is_integer() and abs(value) <= MAX_SAFE_INTEGER else value
        if isinstance(value, str | int):
            return _primitive(value)
        identity = id(value)
        if identity in self.done:
            return self.done[identity]
        try:
            if kind is JsObject:
                return self._object(value)
            if isinstance(value, JsArray):
                return self._array(value)
            made = self._leaf(value)
            self.done[identity] = made
            if isinstance(value, JsMap):
                self._fill_map(value, made)
            elif isinstance(value, JsSet):
                for item in value:
                    made.add(self.clone(item))
            elif isinstance(value, JsException) and hasattr(value, "cause"):
                made.cause = self.clone(value.cause)
        except RecursionError:
            raise DOMException._make("Maximum call stack size exceeded", "DataCloneError") from None
        return made

    def _object(self, value: JsObject) -> JsObject:
        made = self.done[id(value)] = JsObject.adopt({})
        properties = made.__dict__
        for key, item in value.__dict__.items():
            properties[key] = item if type(item) in _UNCHANGED else self.clone(item)
        return made

    def _array(self, value: JsArray) -> JsArray:
        items = list(value)
        made = self.done[id(value)] = JsArray.adopt(items)
        for index, item in enumerate(items):
            if type(item) not in _UNCHANGED:
                items[index] = self.clone(item)
        return made

    def _fill_map(self, value: JsMap, made: JsMap) -> None:
        for key, item in value.items():
            made.set(self.clone(key), self.clone(item))

    def _leaf(self, value: Any) -> Any:
        """The copy of a value, without what a container holds."""
        match value:
            case JsMap():
                return JsMap.empty()
            case JsSet():
                return JsSet.of_items(())
            case Date():
                return Date._make(value._time)
            case JsBuffer():
                return self._buffer(value)
            case JsException():
                return _error(value)
            case RegExp():
                return RegExp._make(value.source, value.flags)
            case Number() | String() | Boolean():
                return type(value)._make(value.valueOf())
            case ObjectMap():
                return self.clone(value._object)
        if self.host is not None:
            return self.host(value)
        raise refusal(value)

    def _buffer(self, value: JsBuffer) -> Any:
        if isinstance(value, ArrayBuffer):
            moved = self.transferred.get(value)
            if moved is not None:
                return moved
            if value.detached:
                raise data_clone_error("#<ArrayBuffer>")
            return ArrayBuffer.adopt(value.to_bytes())
        if isinstance(value, TypedArray):
            return type(value).view(self.clone(value.buffer), value.byteOffset, value.length)
        if isinstance(value, DataView):
            return DataView._make(self.clone(value.buffer), value.byteOffset, value.byteLength)
        raise refusal(value)


def _primitive(value: str | int) -> str | int:
    """The value of a subclass's instance; a bigint keeps its own class."""
    if isinstance(value, str):
        return str.__str__(value)
    return value if type(value) is JsBigInt else int(value)


def _error(value: JsException) -> JsException:
    made: JsException
    if isinstance(value, DOMException):
        made = DOMException._make(value.message, value.name)
    else:
        made = _ERROR_CLASSES.get(value.name, errors.Error)._make(value.message)
    made.stack = value.stack
    return made


def refusal(value: Any) -> Exception:
    """The error of a value that cannot be cloned."""
    if isinstance(value, Symbol):
        return data_clone_error(value.toString())
    if isinstance(value, asyncio.Future) or asyncio.iscoroutine(value):
        return data_clone_error("#<Promise>")
    if isinstance(value, JsClass):
        return data_clone_error(to_string(value))
    if not isinstance(value, JsProxy):
        return data_clone_error(_function_text(value) if callable(value) else "#<Object>")
    name = type(value)._js_name  # type: ignore[attr-defined]
    if name in _ENGINE_CLASSES:
        return data_clone_error(f"#<{name}>")
    if name == "PyProxy":
        return data_clone_error("#<Object>")
    refused = (
        f'Could not serialize object of type "{name}". This type does not support serialization.'
    )
    return DOMException._make(  # type: ignore[no-any-return]
        getattr(type(value), "_no_clone", refused), "DataCloneError"
    )


#: Classes of the engine itself; those of the platform have a text of their own.
_ENGINE_CLASSES: Final = frozenset(
    {
        "WeakMap",
        "WeakSet",
        "WeakRef",
        "FinalizationRegistry",
        "Promise",
        "Object",
        "Iterator",
        "Function",
    }
)


def _function_text(function: Any) -> str:
    name = getattr(function, "__name__", "")
    return f"function {name}() {{ [native code] }}"
