"""Queuing strategies: how much a stream may hold before its producer has to wait.

Source: https://streams.spec.whatwg.org/#qs
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from .error import RangeError
from .value import JsInstance, get_property, is_nullish

__all__ = ["ByteLengthQueuingStrategy", "CountQueuingStrategy", "Size", "read_strategy"]

#: Gives the size of a chunk; None stands for "each chunk counts 1".
Size: TypeAlias = Callable[[Any], float] | None


class CountQueuingStrategy(JsInstance, js_name="CountQueuingStrategy"):
    """``CountQueuingStrategy.new({"highWaterMark": n})``: each chunk counts 1."""

    def __init__(self, high_water_mark: float) -> None:
        self.highWaterMark = high_water_mark

    @classmethod
    def _construct(cls, init: Any = None, *_: Any) -> Any:
        return cls._make(get_property(init, "highWaterMark"))

    @staticmethod
    def size(_chunk: Any = None) -> float:
        return 1


class ByteLengthQueuingStrategy(CountQueuingStrategy, js_name="ByteLengthQueuingStrategy"):
    """``ByteLengthQueuingStrategy.new({"highWaterMark": n})``: each chunk counts its ``byteLength``."""

    @staticmethod
    def size(chunk: Any = None) -> float:
        length = get_property(chunk, "byteLength")
        return float("nan") if length is None else length


def read_strategy(strategy: Any, default: float) -> tuple[float, Size]:
    """The high-water mark and size function of a strategy argument.

    Raises: RangeError for a mark that is negative or no number.
    """
    if is_nullish(strategy):
        return default, None
    mark = get_property(strategy, "highWaterMark")
    size = get_property(strategy, "size")
    if isinstance(strategy, CountQueuingStrategy) and not isinstance(
        strategy, ByteLengthQueuingStrategy
    ):
        size = None
    if mark is None:
        return default, size
    if isinstance(mark, bool) or not isinstance(mark, int | float) or mark != mark or mark < 0:
        raise RangeError("The highWaterMark of a queuing strategy must be a non-negative number.")
    return mark, size


def measure(size: Size, chunk: Any) -> float:
    """The size of a chunk. Raises: RangeError for a negative, infinite or non-numeric size."""
    if size is None:
        return 1
    measured = size(chunk)
    if not isinstance(measured, int | float) or not 0 <= measured < float("inf"):
        raise RangeError("The size of a chunk must be a finite, non-negative number.")
    return measured
