"""JavaScript's equalities and truth for values in Python's hands.

Python finds ``1 == True`` and compares containers by content; JavaScript tells booleans from numbers and compares
every object by identity. Source: https://tc39.es/ecma262/#sec-testing-and-comparison-operations
"""

from __future__ import annotations

from math import copysign
from typing import Any

__all__ = ["same_value", "same_value_zero", "strictly_equal", "to_boolean"]


def strictly_equal(left: Any, right: Any) -> bool:
    """``left === right``."""
    if left is right:
        return not (type(left) is float and left != left)
    if isinstance(left, str):
        return isinstance(right, str) and left == right
    if isinstance(left, bool) or isinstance(right, bool):
        return False
    if isinstance(left, int | float):
        return isinstance(right, int | float) and left == right
    return False


def same_value_zero(left: Any, right: Any) -> bool:
    """As ``===``, but NaN equals itself: what ``includes``, ``Map`` and ``Set`` use."""
    return strictly_equal(left, right) or (_is_nan(left) and _is_nan(right))


def same_value(left: Any, right: Any) -> bool:
    """``Object.is(left, right)``."""
    if _is_nan(left):
        return _is_nan(right)
    if not strictly_equal(left, right):
        return False
    if isinstance(left, int | float) and left == 0:
        return copysign(1, left) == copysign(1, right)
    return True


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value


def to_boolean(value: Any) -> bool:
    """JavaScript's truth: empty arrays and objects are true, unlike in Python."""
    if value is None or isinstance(value, str | int | float):
        return bool(value) and value == value
    from .value import jsnull

    return value is not jsnull
