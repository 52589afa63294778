"""How values of SQLite reach a worker through D1.

D1 answers travel as JSON and are then converted by the Python runtime: a whole number inside
±(2^53-1) is an `int`, every other number a `float`, an infinite one None, a BLOB a list of bytes.
Source: https://developers.cloudflare.com/d1/worker-api/ (type conversion).

A large result is looked at column by column, with built-in functions that loop in C: most columns
need no change, and finding that out this way costs a tenth of looking at each value.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from math import isfinite
from operator import itemgetter
from typing import Any, TypeVar

from .results import StatementResult

Row = tuple[Any, ...]
FactoryT = TypeVar("FactoryT", bound=dict[str, Any])

MAX_SAFE_INTEGER = 2**53 - 1

_VALUES_PER_TURN = 30_000
_FEW_ROWS = 8
_MANY_ROWS = 500
_NONE = type(None)
_UNCHANGED = frozenset({str, _NONE})


def d1_value(value: Any) -> Any:
    """One value as a worker sees it."""
    kind = type(value)
    if kind is str or value is None:
        return value
    if kind is int:
        return value if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER else float(value)
    if kind is float:
        if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
            return int(value) if value.is_integer() else value
        return value if isfinite(value) else None
    return list(value)


def d1_values(result: StatementResult) -> list[Row]:
    """The rows of a result with their values as a worker sees them."""
    return list(_converted(result.rows))


def rows_as_dicts(
    result: StatementResult, factory: Callable[[dict[str, Any]], FactoryT]
) -> list[FactoryT]:
    """The rows of a result as objects, built by `factory` from a plain dict each.

    Where two columns share a name the last value wins, at the place of the first.
    """
    make = _row_maker(result.columns)
    if len(result.rows) < _MANY_ROWS:
        return make(_converted(result.rows), factory)
    # Rows in the making are no garbage, yet thousands of new objects make the collector look for
    # some over and over, which takes a quarter of the time.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return make(_converted(result.rows), factory)
    finally:
        if collecting:
            gc.enable()


async def rows_as_dicts_in_turns(
    result: StatementResult, factory: Callable[[dict[str, Any]], FactoryT]
) -> list[FactoryT]:
    """Like `rows_as_dicts`, letting other tasks run between pieces of a large result.

    A result of fewer than 30,000 values is made at once, without suspending the caller.
    """
    rows = result.rows
    piece = max(_VALUES_PER_TURN // max(len(result.columns), 1), 1)
    if len(rows) <= piece:
        return rows_as_dicts(result, factory)
    make = _row_maker(result.columns)
    made: list[FactoryT] = []
    for start in range(0, len(rows), piece):
        made += make(_converted(rows[start : start + piece]), factory)
        await asyncio.sleep(0)
    return made


def _converted(rows: list[Row]) -> Iterable[Row]:
    if len(rows) <= _FEW_ROWS:
        return [tuple(map(d1_value, row)) for row in rows]
    columns = [list(map(itemgetter(index), rows)) for index in range(len(rows[0]))]
    changed = False
    for index, column in enumerate(columns):
        converted = _converted_column(column)
        if converted is not column:
            columns[index] = converted
            changed = True
    return zip(*columns, strict=True) if changed else rows


def _converted_column(column: list[Any]) -> list[Any]:
    # Adding up numbers is the cheapest way to see that all of them are numbers of one type.
    first = type(column[0])
    if first is str:
        if list(map(type, column)).count(str) == len(column):
            return column
    elif first is int or first is float:
        try:
            total = sum(column)
        except TypeError:
            return _mixed_column(column)
        if type(total) is int:
            return _integers(column, total)
        if first is float:
            return _reals(column, total)
    return _mixed_column(column)


def _integers(column: list[int], total: int) -> list[Any]:
    return column if _all_safe(column, total) else list(map(d1_value, column))


def _all_safe(numbers: Sequence[float], total: float) -> bool:
    least = min(numbers)
    if least >= 0 and total <= MAX_SAFE_INTEGER:
        return True
    return least >= -MAX_SAFE_INTEGER and max(numbers) <= MAX_SAFE_INTEGER


def _reals(column: list[float], total: float) -> list[Any]:
    try:
        whole = list(map(float.is_integer, column))
    except TypeError:
        return _mixed_column(column)
    if isfinite(total):
        if True not in whole:
            return column
        if _all_safe(column, total):
            if False not in whole:
                return list(map(int, column))
            return [int(value) if value.is_integer() else value for value in column]
    return list(map(d1_value, column))


def _mixed_column(column: list[Any]) -> list[Any]:
    types = set(map(type, column))
    if _UNCHANGED.issuperset(types):
        return column
    if types == {int, _NONE}:
        numbers = [value for value in column if value is not None]
        if min(numbers) >= -MAX_SAFE_INTEGER and max(numbers) <= MAX_SAFE_INTEGER:
            return column
    return list(map(d1_value, column))


@lru_cache(maxsize=256)
def _row_maker(columns: tuple[str, ...]) -> Callable[[Iterable[Row], Any], list[Any]]:
    # A loop over a dict display is several times faster than dict(zip(...)) per row. The names
    # enter as literals made by repr and the variables are numbered, so no text of a user is code.
    variables = [f"v{index}" for index in range(len(columns))]
    pairs = ", ".join(
        f"{name!r}: {variable}" for name, variable in zip(columns, variables, strict=True)
    )
    target = f"({', '.join(variables)},)" if variables else "_"
    source = f"lambda rows, factory: [factory({{{pairs}}}) for {target} in rows]"
    maker: Callable[[Iterable[Row], Any], list[Any]] = eval(source, {})
    return maker
