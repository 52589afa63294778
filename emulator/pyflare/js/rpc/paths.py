"""Which member of a value a path of names leads to.

Callers reach the own properties of plain objects and functions, and what the class of an ``RpcTarget`` defines. A stub
on the way takes over the rest of the path.
"""

from __future__ import annotations

from dataclasses import dataclass
from inspect import isawaitable
from typing import Any

from ..error import TypeError_
from ..proxy import JsDoubleProxy
from ..value import JsObject
from .errors import no_method, reserved
from .names import RpcTarget, Stub

__all__ = ["Member", "follow"]

_ABSENT = object()


@dataclass(slots=True)
class Member:
    """``value`` is what the path leads to, or a stub that ``rest`` is to be asked of."""

    value: Any
    rest: tuple[str, ...]


async def follow(value: Any, path: tuple[str, ...], no_object: Exception | None = None) -> Member:
    """Walk from a value.

    Raises: TypeError for a name that is not there, or ``no_object`` where the value itself can have none.
    """
    for depth, name in enumerate(path):
        if isinstance(value, Stub):
            return Member(value, path[depth:])
        found = _member(value, name)
        if found is _ABSENT:
            if depth == 0 and no_object is not None and not _can_have_members(value):
                raise no_object
            raise no_method(name)
        value = await found if isawaitable(found) else found
    return Member(value, ())


def _can_have_members(value: Any) -> bool:
    return isinstance(value, JsObject | dict | RpcTarget) or callable(value)


def _member(value: Any, name: str) -> Any:
    if isinstance(value, JsDoubleProxy):
        value = value.unwrap()
    if isinstance(value, RpcTarget):
        return _of_target(value, name)
    if isinstance(value, JsObject):
        return value.__dict__.get(name, _ABSENT)
    if isinstance(value, dict):
        return value.get(name, _ABSENT)
    if name[:2] != "__" and callable(value) and not isinstance(value, type):
        return getattr(value, name, _ABSENT)
    return _ABSENT


def _of_target(target: RpcTarget, name: str) -> Any:
    if name in ("dup", "constructor"):
        raise reserved(name)
    if name[:2] == "__":
        return _ABSENT
    for base in type(target).__mro__:
        if base is RpcTarget:
            return _ABSENT
        if name in base.__dict__:
            return getattr(target, name)
    return _ABSENT


def require_callable(value: Any, path: tuple[str, ...]) -> None:
    if not callable(value) or isinstance(value, type):
        raise TypeError_(f'"{".".join(path)}" is not a function.')
