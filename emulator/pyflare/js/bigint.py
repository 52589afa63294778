"""Bigints on their way into Python's hands.

Source: https://pyodide.org/en/stable/project/changelog.html (``JsBigInt``).
"""

from __future__ import annotations

from . import semantics
from .value import MAX_SAFE_INTEGER, JsBigInt

__all__ = ["JsBigInt", "bigint", "is_bigint"]


def bigint(value: int) -> int:
    """What a bigint is for the running worker: a :class:`JsBigInt`, or before Pyodide 314 an ``int``."""
    return JsBigInt(value) if semantics.current().bigints_have_a_class else int(value)


def is_bigint(value: int) -> bool:
    """Whether an integer is a bigint in JavaScript's hands, and no number."""
    return type(value) is JsBigInt or not -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER
