"""Python values at the border of a worker: the SDK's conversions, in one step with the copy that crosses.

The SDK converts every argument and result to a JavaScript value and back (``python_to_rpc``, ``python_from_rpc``). For
plain values both are known, so these functions build at once what would have come out. Everything else takes the SDK's
own way. A test runs the same values through both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from workers.rpc import JsDict, python_from_rpc, python_to_rpc

from ..array import JsArray
from ..bigint import JsBigInt, bigint
from ..value import MAX_SAFE_INTEGER, JsNull, JsObject, jsnull, with_indices_first
from .values import clone_arguments, clone_result

__all__ = ["arguments_to_wire", "result_to_wire", "wire_to_python"]

_SIMPLE: Final = frozenset({str, int, bool})
_DEEPEST: Final = 32
_SAFE: Final = MAX_SAFE_INTEGER
#: Longer texts are weighed before they are sent.
_SHORT: Final = 4096


class _Unusual(Exception):
    """The value needs the SDK's own conversion."""


def arguments_to_wire(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """Arguments of a Python caller, as they cross. Raises: what the SDK's conversion and the copy raise."""
    if not arguments:
        return ()
    try:
        return tuple([_to_wire(item, _DEEPEST) for item in arguments])
    except _Unusual:
        pass
    return clone_arguments([python_to_rpc(item) for item in arguments])


def result_to_wire(value: Any) -> Any:
    """The result of a Python method, as it crosses. Raises: as :func:`arguments_to_wire`."""
    try:
        return _to_wire(value, _DEEPEST)
    except _Unusual:
        pass
    return clone_result(python_to_rpc(value))


def _to_wire(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind is str:
        if len(value) > _SHORT:
            raise _Unusual
        return value
    if kind is int or kind is bool:
        return value
    if value is None:
        return jsnull
    if kind is float:
        return int(value) if value.is_integer() and -(2**53) < value < 2**53 else value
    if depth == 0:
        raise _Unusual
    if kind is dict or kind is JsDict:
        if len(value) > _SHORT:
            raise _Unusual
        made = {}
        for key, item in value.items():
            if type(key) is not str:
                raise _Unusual
            made[key] = (
                item if type(item) in _SIMPLE and _is_short(item) else _to_wire(item, depth - 1)
            )
        return JsObject.adopt(made)
    if kind is list:
        if len(value) > _SHORT:
            raise _Unusual
        return JsArray.adopt([_to_wire(item, depth - 1) for item in value])
    raise _Unusual


def _is_short(item: Any) -> bool:
    return type(item) is not str or len(item) <= _SHORT


def wire_to_python(value: Any) -> Any:
    """What has crossed, as Python code gets it: ``python_from_rpc`` of the SDK."""
    kind = type(value)
    if kind is int:
        return value if -_SAFE <= value <= _SAFE else bigint(value)
    if kind in _SIMPLE or value is None or kind is float:
        return value
    if value is jsnull:
        return None
    if kind is JsBigInt:
        return bigint(value)
    if kind is JsObject or kind is JsArray:
        try:
            return _to_python(value, _DEEPEST)
        except _Unusual:
            pass
    return python_from_rpc(value)


def _to_python(value: Any, depth: int) -> Any:
    if depth == 0:
        raise _Unusual
    if type(value) is JsObject:
        made = JsDict()
        numbered = False
        for key, item in value.__dict__.items():
            # Digits sort before letters.
            if key < ":":
                numbered = True
            kind = type(item)
            if kind is str:
                made[key] = item
            elif kind in _SIMPLE:
                if not -_SAFE <= item <= _SAFE:
                    item = bigint(item)
                made[key] = item
            elif kind is JsNull or item is None:
                made[key] = None
            elif kind is float:
                made[key] = item
            elif kind is JsObject or kind is JsArray:
                made[key] = _to_python(item, depth - 1)
            else:
                raise _Unusual
        return JsDict(with_indices_first(made)) if numbered else made
    items = []
    for item in value:
        kind = type(item)
        if kind is str or kind is float:
            items.append(item)
        elif kind in _SIMPLE:
            items.append(item if -_SAFE <= item <= _SAFE else bigint(item))
        elif kind is JsNull or item is None:
            items.append(None)
        elif kind is JsObject or kind is JsArray:
            items.append(_to_python(item, depth - 1))
        else:
            raise _Unusual
    return items
