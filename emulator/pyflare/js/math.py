"""``js.Math``.

Source: https://tc39.es/ecma262/#sec-math-object
"""

from __future__ import annotations

import math
import random as random_source
import struct
from collections.abc import Callable
from typing import Any, ClassVar

from .number import from_float, to_int32, to_number, to_uint
from .value import JsInstance

__all__ = ["Math"]


def _function(compute: Callable[[float], float]) -> Any:
    """A one-argument function that gives NaN or an infinity where Python raises."""

    def call(value: Any = None) -> float:
        number = to_number(value)
        try:
            return from_float(compute(number))
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf if number > 0 else -math.inf

    return staticmethod(call)


def _rounded(direction: Callable[[float], int]) -> Callable[[float], float]:
    def compute(number: float) -> float:
        if not math.isfinite(number):
            return number
        return math.copysign(direction(number), number)

    return compute


def _log(compute: Callable[[float], float], pole: float = 0) -> Callable[[float], float]:
    return lambda number: -math.inf if number == pole else compute(number)


def _atanh(number: float) -> float:
    return math.copysign(math.inf, number) if abs(number) == 1 else math.atanh(number)


def _cbrt(number: float) -> float:
    """Correct where the root is whole, where the C library's may be off by the last bit."""
    root = math.cbrt(number)
    if math.isfinite(root) and (whole := round(root)) ** 3 == number:
        return math.copysign(whole, number)
    return root


class MathNamespace(JsInstance, js_name="Object"):
    """The object ``Math``."""

    _tag = "Math"
    E: ClassVar[float] = math.e
    LN10: ClassVar[float] = math.log(10)
    LN2: ClassVar[float] = math.log(2)
    LOG10E: ClassVar[float] = 1 / math.log(10)
    LOG2E: ClassVar[float] = 1 / math.log(2)
    PI: ClassVar[float] = math.pi
    SQRT1_2: ClassVar[float] = math.sqrt(0.5)
    SQRT2: ClassVar[float] = math.sqrt(2)

    abs = _function(abs)
    acos, asin, atan = _function(math.acos), _function(math.asin), _function(math.atan)
    acosh, asinh, atanh = _function(math.acosh), _function(math.asinh), _function(_atanh)
    cos, sin, tan = _function(math.cos), _function(math.sin), _function(math.tan)
    cosh, sinh, tanh = _function(math.cosh), _function(math.sinh), _function(math.tanh)
    exp, expm1 = _function(math.exp), _function(math.expm1)
    log, log1p = _function(_log(math.log)), _function(_log(math.log1p, -1))
    log2, log10 = _function(_log(math.log2)), _function(_log(math.log10))
    sqrt = _function(math.sqrt)
    cbrt = _function(_cbrt)
    ceil, floor = _function(_rounded(math.ceil)), _function(_rounded(math.floor))
    trunc = _function(_rounded(math.trunc))
    #: Halves go up, also below zero.
    round = _function(
        _rounded(lambda number: math.floor(number + 0.5) if abs(number) < 2**52 else int(number))
    )
    sign = _function(
        lambda number: number if number != number or number == 0 else math.copysign(1, number)
    )
    fround = _function(lambda number: float(struct.unpack("f", struct.pack("f", number))[0]))
    clz32 = _function(lambda number: 32 - to_uint(number, 32).bit_length())

    @staticmethod
    def atan2(y: Any = None, x: Any = None) -> float:
        return from_float(math.atan2(to_number(y), to_number(x)))

    @staticmethod
    def hypot(*values: Any) -> float:
        return from_float(math.hypot(*map(to_number, values)))

    @staticmethod
    def imul(left: Any = None, right: Any = None) -> int:
        return to_int32(to_int32(left) * to_int32(right))

    @staticmethod
    def max(*values: Any) -> float:
        return _extreme(max, -math.inf, values)

    @staticmethod
    def min(*values: Any) -> float:
        return _extreme(min, math.inf, values)

    @staticmethod
    def pow(base: Any = None, exponent: Any = None) -> float:
        left, right = to_number(base), to_number(exponent)
        if right != right or (abs(left) == 1 and math.isinf(right)):
            return math.nan
        try:
            return from_float(math.pow(left, right))
        except ZeroDivisionError:
            return math.inf
        except ValueError:
            return math.inf if left == 0 else math.nan
        except OverflowError:
            return -math.inf if left < 0 and right % 2 else math.inf

    @staticmethod
    def random() -> float:
        return random_source.random()


def _extreme(choose: Callable[..., float], empty: float, values: tuple[Any, ...]) -> float:
    numbers = [to_number(value) for value in values]
    if any(number != number for number in numbers):
        return math.nan
    return choose(numbers, default=empty)


Math = MathNamespace._make()
