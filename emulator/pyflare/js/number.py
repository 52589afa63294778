"""Numbers as JavaScript reads and writes them, and ``js.Number``.

A JavaScript number is a Python ``int`` when it is integral and at most 2^53-1 in size, else a ``float``; a Python
``int`` beyond that stands for a bigint. :func:`to_string` is ``String(value)`` for every value, not only for numbers.

Source: https://tc39.es/ecma262/#sec-number-objects and #sec-type-conversion
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, ClassVar, Final

from .bigint import is_bigint
from .value import MAX_SAFE_INTEGER, JsClass, JsInstance, JsProxy, jsnull

if TYPE_CHECKING:
    from decimal import Decimal

__all__ = [
    "Number",
    "format_number",
    "from_float",
    "is_finite",
    "is_nan",
    "parse_float",
    "parse_int",
    "to_index",
    "to_integer",
    "to_number",
    "to_string",
]

#: What JavaScript's `trim` and number parsing take for white space.
WHITE_SPACE: Final = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_DECIMAL: Final = re.compile(r"[+-]?(?:Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)")
_RADIX_PREFIX: Final = {"0x": 16, "0X": 16, "0o": 8, "0O": 8, "0b": 2, "0B": 2}
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


def from_float(value: float) -> int | float:
    """A number as it arrives in Python: ``int`` when it is a safe integer, which -0 is too."""
    if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER and value == (whole := int(value)):
        return whole
    return value


def format_number(value: float) -> str:
    """``Number::toString`` in base ten, and a bigint's digits."""
    if isinstance(value, int):
        return str(int(value))
    if value != value:
        return "NaN"
    if value in (math.inf, -math.inf):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "0"
    shortest = float.__repr__(value)
    if "e" not in shortest:
        return shortest.removesuffix(".0")
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = shortest.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).rstrip("0")
    return sign + _place_point(digits, int(exponent) + 1)


def _place_point(digits: str, point: int) -> str:
    """Digits with the decimal point after ``point`` of them, by the standard's four cases."""
    if len(digits) <= point <= 21:
        return digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return "0." + "0" * -point + digits
    exponent = point - 1
    mantissa = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "")
    return f"{mantissa}e{'+' if exponent >= 0 else '-'}{abs(exponent)}"


def to_string(value: Any) -> str:
    """``String(value)``: of a Python object its ``str``, as a ``PyProxy`` gives."""
    if isinstance(value, str):
        return str.__str__(value)
    if value is None:
        return "undefined"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return format_number(value)
    if value is jsnull:
        return "null"
    # A class is a function to JavaScript; to Python's `str` it is the type of its values.
    return repr(value) if isinstance(value, JsClass) else str(value)


def to_number(value: Any) -> int | float:
    """``Number(value)``; NaN for what is not a number."""
    if type(value) is int:
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return from_float(value)
    if value is None:
        return math.nan
    if value is jsnull:
        return 0
    if isinstance(value, str):
        return parse_number(value)
    if isinstance(value, JsProxy) and not isinstance(value, type):
        primitive = value.valueOf()
        return to_number(value.toString() if primitive is value else primitive)
    return parse_number(str(value))


def parse_number(text: str) -> int | float:
    """The number that a whole string spells, NaN if it spells none; an empty string is 0."""
    text = text.strip(WHITE_SPACE)
    if not text:
        return 0
    radix = _RADIX_PREFIX.get(text[:2])
    if radix is not None:
        digits = text[2:].lower()
        if not digits or not set(digits) <= set(_DIGITS[:radix]):
            return math.nan
        return from_float(_to_float(int(digits, radix)))
    if _DECIMAL.fullmatch(text) is None:
        return math.nan
    return from_float(float(text))


def parse_float(text: Any) -> int | float:
    """``parseFloat``: the longest number at the start."""
    found = _DECIMAL.match(to_string(text).lstrip(WHITE_SPACE))
    return math.nan if found is None else from_float(float(found.group()))


def parse_int(text: Any, radix: Any = None) -> int | float:
    """``parseInt``: the longest run of digits at the start, NaN if there is none."""
    rest = to_string(text).strip(WHITE_SPACE)
    negative = rest[:1] == "-"
    if rest[:1] in ("+", "-"):
        rest = rest[1:]
    base = 0 if radix is None else to_int32(radix)
    if base and not 2 <= base <= 36:
        return math.nan
    if base in (0, 16) and rest[:2] in ("0x", "0X"):
        rest, base = rest[2:], 16
    base = base or 10
    allowed = _DIGITS[:base]
    count = 0
    for character in rest.lower():
        if character not in allowed:
            break
        count += 1
    if not count:
        return math.nan
    number = from_float(_to_float(int(rest[:count], base)))
    if not negative:
        return number
    return -number if number else -0.0


def _to_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def to_integer(value: Any) -> int | float:
    """``ToIntegerOrInfinity``: NaN and absent are 0, fractions are cut off; the infinities stay floats."""
    if type(value) is int:
        return value
    number = to_number(value)
    if isinstance(number, int):
        return number
    if number != number:
        return 0
    return number if math.isinf(number) else int(number)


def to_index(value: Any, length: int, default: int) -> int:
    """A relative index argument of ``slice`` and its kin, clamped to ``0..length``; negative counts from the end."""
    if value is None:
        return default
    index = to_integer(value)
    if index < 0:
        return max(0, int(index + length)) if index != -math.inf else 0
    return int(min(index, length))


def to_uint(value: Any, bits: int) -> int:
    """``ToUint8``, ``ToUint32`` and their kin: modulo 2^bits; what is not finite is 0."""
    number = to_integer(value)
    return 0 if isinstance(number, float) else number & ((1 << bits) - 1)


def to_int(value: Any, bits: int) -> int:
    """The signed counterpart of :func:`to_uint`."""
    unsigned = to_uint(value, bits)
    return unsigned - (1 << bits) if unsigned >> (bits - 1) else unsigned


def to_int32(value: Any) -> int:
    return to_int(value, 32)


def is_nan(value: Any = None) -> bool:
    """The global ``isNaN``: of the value as a number."""
    number = to_number(value)
    return number != number


def is_finite(value: Any = None) -> bool:
    """The global ``isFinite``: of the value as a number."""
    return math.isfinite(to_number(value))


class Number(JsInstance, js_name="Number"):
    """``js.Number``: a conversion when called, a boxed number with ``new``."""

    MAX_SAFE_INTEGER: ClassVar[int] = MAX_SAFE_INTEGER
    MIN_SAFE_INTEGER: ClassVar[int] = -MAX_SAFE_INTEGER
    MAX_VALUE: ClassVar[float] = 1.7976931348623157e308
    MIN_VALUE: ClassVar[float] = 5e-324
    EPSILON: ClassVar[float] = 2.0**-52
    NaN: ClassVar[float] = math.nan
    POSITIVE_INFINITY: ClassVar[float] = math.inf
    NEGATIVE_INFINITY: ClassVar[float] = -math.inf

    def __init__(self, value: float) -> None:
        self._value = value

    @classmethod
    def _construct(cls, value: Any = 0, *_: Any) -> Any:
        return cls._make(to_number(value))

    @classmethod
    def _call(cls, value: Any = 0, *_: Any) -> Any:
        return to_number(value)

    parseFloat = staticmethod(parse_float)
    parseInt = staticmethod(parse_int)

    @staticmethod
    def isInteger(value: Any) -> bool:
        if isinstance(value, int):
            return not isinstance(value, bool) and not is_bigint(value)
        return isinstance(value, float) and value.is_integer()

    @staticmethod
    def isSafeInteger(value: Any) -> bool:
        return Number.isInteger(value) and abs(value) <= MAX_SAFE_INTEGER

    @staticmethod
    def isFinite(value: Any) -> bool:
        return _is_number(value) and math.isfinite(value)

    @staticmethod
    def isNaN(value: Any) -> bool:
        return isinstance(value, float) and value != value

    def toLocaleString(self, locales: Any = None, options: Any = None) -> str:
        """The number as in the locale en-US, the platform's default."""
        from .locale_text import grouped, require_plain

        require_plain("Number.prototype.toLocaleString", locales, options)
        if math.isfinite(self._value):
            return grouped(self._value)
        return "NaN" if self._value != self._value else "∞" if self._value > 0 else "-∞"

    def valueOf(self) -> Any:
        return self._value

    def toString(self, radix: Any = None) -> str:
        """The digits in a base from 2 to 36. Raises: RangeError for another base."""
        base = 10 if radix is None else to_integer(radix)
        if not 2 <= base <= 36:
            from .error import RangeError

            raise RangeError("toString() radix must be between 2 and 36")
        return format_number(self._value) if base == 10 else _in_base(self._value, int(base))

    def toFixed(self, digits: Any = 0) -> str:
        """A fixed number of decimals. Raises: RangeError outside 0..100."""
        places = _digit_count(digits, 0, "toFixed() digits")
        if not math.isfinite(self._value) or abs(self._value) >= 1e21:
            return format_number(self._value)
        return f"{_rounded(self._value, places):f}" if self._value else f"{0:.{places}f}"

    def toPrecision(self, precision: Any = None) -> str:
        """A number of significant digits. Raises: RangeError outside 1..100."""
        if precision is None:
            return self.toString()
        places = _digit_count(precision, 1, "toPrecision()")
        if not math.isfinite(self._value):
            return format_number(self._value)
        sign, digits, exponent = _significant(self._value, places)
        if -6 <= exponent < places:
            point = exponent + 1
            if point <= 0:
                return f"{sign}0.{'0' * -point}{digits}"
            return f"{sign}{digits[:point]}{'.' if digits[point:] else ''}{digits[point:]}"
        return _exponential(sign, digits, exponent)

    def toExponential(self, digits: Any = None) -> str:
        """Scientific notation. Raises: RangeError outside 0..100."""
        places = _digit_count(digits, 0, "toExponential()")
        if not math.isfinite(self._value):
            return format_number(self._value)
        if digits is None:
            from decimal import Decimal

            shortest = Decimal(repr(float(self._value))).normalize()
            sign = "-" if self._value < 0 else ""
            return _exponential(
                sign, "".join(map(str, shortest.as_tuple().digits)), shortest.adjusted()
            )
        return _exponential(*_significant(self._value, places + 1))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _digit_count(digits: Any, least: int, what: str) -> int:
    count = to_integer(digits)
    if not least <= count <= 100:
        from .error import RangeError

        raise RangeError(f"{what} argument must be between {least} and 100")
    return int(count)


# `decimal` is imported where it is used: few programs ask for these notations, and every program starts.


def _rounded(value: float, places: int) -> Decimal:
    from decimal import ROUND_HALF_UP, Context, Decimal

    return Decimal(value).quantize(Decimal(1).scaleb(-places), context=Context(400, ROUND_HALF_UP))


def _significant(value: float, count: int) -> tuple[str, str, int]:
    """Sign, ``count`` digits and the exponent of the first of them."""
    from decimal import ROUND_HALF_UP, Context, Decimal

    if value == 0:
        return "", "0" * count, 0
    rounded = Context(count, ROUND_HALF_UP).plus(Decimal(value))
    digits = "".join(map(str, rounded.as_tuple().digits)).ljust(count, "0")
    return "-" if value < 0 else "", digits, rounded.adjusted()


def _exponential(sign: str, digits: str, exponent: int) -> str:
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{'+' if exponent >= 0 else '-'}{abs(exponent)}"


def _in_base(value: float, base: int) -> str:
    if not math.isfinite(value):
        return format_number(value)
    sign, magnitude = ("-" if value < 0 else ""), abs(value)
    digits = _whole_in_base(math.floor(magnitude), base)
    fraction = magnitude - math.floor(magnitude)
    if not fraction:
        return sign + digits
    # Digits of the fraction are given until they tell the number from its neighbours.
    step = max(0.5 * math.ulp(magnitude), 5e-324)
    decimals = ""
    while fraction >= step:
        fraction *= base
        step *= base
        digit = int(fraction)
        fraction -= digit
        above_half = fraction > 0.5 or (fraction == 0.5 and digit & 1)
        if above_half and fraction + step > 1:
            if digit + 1 < base:
                return f"{sign}{digits}.{decimals}{_DIGITS[digit + 1]}"
            return _carry(sign, digits, decimals, base)
        decimals += _DIGITS[digit]
    return f"{sign}{digits}.{decimals}"


def _whole_in_base(value: int, base: int) -> str:
    if value < 2**53:
        digits = ""
        while value:
            value, digit = divmod(value, base)
            digits = _DIGITS[digit] + digits
        return digits or "0"
    # As V8 does: digits beyond the number's precision are zeros, those before come by floating-point division.
    number = float(value)
    zeros = 0
    while number / base >= 2**53:
        number /= base
        zeros += 1
    digits = ""
    while number > 0:
        remainder = math.fmod(number, base)
        digits = _DIGITS[int(remainder)] + digits
        number = (number - remainder) / base
    return digits + "0" * zeros


def _carry(sign: str, digits: str, decimals: str, base: int) -> str:
    while decimals and decimals[-1] == _DIGITS[base - 1]:
        decimals = decimals[:-1]
    if decimals:
        return f"{sign}{digits}.{decimals[:-1]}{_DIGITS[_DIGITS.index(decimals[-1]) + 1]}"
    return sign + _in_base(int(digits, base) + 1, base)
