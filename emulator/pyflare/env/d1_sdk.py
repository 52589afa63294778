"""``env.DB`` as a Python Worker sees it: the SDK's wrapper of the D1 binding, without its detours.

The SDK wraps a binding in ``_BindingWrapper``, which converts every argument to JavaScript and every result
back. For D1 both conversions are known in advance, so these subclasses go straight to the owner and build the
Python values that the SDK would have arrived at: dicts with attribute access, lists, None. A test runs the same
programs through both and compares. Everything unusual (values that are not plain) takes the SDK's own way.

As in production an operation starts when it is called, not when it is awaited, and what it returns is a coroutine.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from workers.rpc import JsDict, _BindingWrapper, python_to_rpc

from pyflare.js.departure import begin
from pyflare.js.value import MAX_SAFE_INTEGER, get_property
from pyflare_bindings.d1 import (
    Bindable,
    Statement,
    StatementResult,
    d1_values,
    rows_as_dicts_in_turns,
)

from .conversion import MISSING, folded
from .d1 import D1PreparedStatement
from .d1_requests import Connection, first_row, first_value
from .d1_values import bindable

__all__ = ["D1DatabaseWrapper"]


class _PreparingWrapper(_BindingWrapper):  # type: ignore[misc]
    def __init__(self, binding: Any) -> None:
        if binding is self:
            return
        self._binding = binding
        self._connection: Connection = binding._connection

    def prepare(self, query: Any = MISSING, /, *_: Any, **named: Any) -> D1StatementWrapper:
        sql = query if type(query) is str else _converted(query, named)
        return D1StatementWrapper(self._connection, sql, ())

    def batch(
        self, statements: Any = MISSING, /, *surplus: Any, **named: Any
    ) -> Coroutine[Any, Any, Any]:
        # The same refusals as the SDK's conversion of a list, then without copying it.
        if type(statements) is not list or any(
            type(item) is not D1StatementWrapper for item in statements
        ):
            given = () if statements is MISSING else (statements,)
            return self._getattr_helper("batch")(*given, *surplus, **named)  # type: ignore[no-any-return]
        try:
            wanted = [item._statement() for item in statements]
        except Exception as error:
            return _raise(error)
        return _batch_result(begin(self._connection.query(wanted)))


class D1DatabaseWrapper(_PreparingWrapper):
    """The SDK's wrapper of :class:`pyflare.env.d1.D1Database`."""

    def exec(
        self, query: Any = MISSING, /, *surplus: Any, **named: Any
    ) -> Coroutine[Any, Any, Any]:
        if type(query) is not str:
            given = () if query is MISSING else (query,)
            return self._getattr_helper("exec")(*given, *surplus, **named)  # type: ignore[no-any-return]
        return _exec_result(begin(self._connection.exec(query)))

    def withSession(self, constraint: Any = MISSING, /, *_: Any, **named: Any) -> D1SessionWrapper:
        return D1SessionWrapper(self._binding.withSession(_converted(constraint, named)))


class D1SessionWrapper(_PreparingWrapper):
    """The SDK's wrapper of a session."""

    def getBookmark(self, *_: Any) -> str | None:
        return self._connection.bookmark


class D1StatementWrapper(_BindingWrapper):  # type: ignore[misc]
    """The SDK's wrapper of a prepared statement."""

    def __new__(cls, *_: Any) -> D1StatementWrapper:
        return object.__new__(cls)

    def __init__(self, connection: Connection, sql: Any, values: tuple[Bindable, ...]) -> None:
        self._connection = connection
        self._sql = sql
        self._values = values

    @property
    def _binding(self) -> D1PreparedStatement:
        return D1PreparedStatement._make(self._connection, self._sql, self._values)  # type: ignore[no-any-return]

    def bind(self, *values: Any, **named: Any) -> D1StatementWrapper:
        if named:
            values = (*values, named)
        return D1StatementWrapper(
            self._connection, self._sql, tuple([_python_bindable(value) for value in values])
        )

    def all(self, *_: Any) -> Coroutine[Any, Any, Any]:
        try:
            statement = self._statement()
        except Exception as error:
            return _raise(error)
        return _all_result(begin(self._connection.query((statement,))))

    run = all

    def first(self, column: Any = MISSING, /, *_: Any, **named: Any) -> Coroutine[Any, Any, Any]:
        try:
            statement = self._statement()
        except Exception as error:
            return _raise(error)
        if column is MISSING and not named:
            column = None
        elif type(column) is not str:
            column = _converted(column, named)
        return _first_result(begin(self._connection.query((statement,))), column)

    def raw(self, options: Any = None, /, *_: Any, **named: Any) -> Coroutine[Any, Any, Any]:
        try:
            statement = self._statement()
        except Exception as error:
            return _raise(error)
        names = bool(get_property(options if options is not None else named, "columnNames"))
        return _raw_result(begin(self._connection.query((statement,))), names)

    def _statement(self) -> Statement:
        if type(self._sql) is not str:
            return self._binding.to_statement()
        return Statement(self._sql, self._values)


def _converted(given: Any, named: dict[str, Any]) -> Any:
    """What the SDK sends for the last argument of a call, undefined for none."""
    if given is not MISSING:
        return python_to_rpc(given)
    return folded(MISSING, {name: python_to_rpc(value) for name, value in named.items()})


def _python_bindable(value: Any) -> Bindable:
    kind = type(value)
    if kind is str or kind is bytes or value is None:
        return value  # type: ignore[no-any-return]
    if kind is int and -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
        return float(value)
    if kind is float or kind is bool:
        return bindable(value)
    return bindable(python_to_rpc(value))


async def _raise(error: Exception) -> Any:
    raise error


async def _all_result(begun: Any) -> JsDict:
    (result,) = await begun
    return await _result(result)


async def _batch_result(begun: Any) -> list[JsDict]:
    return [
        await _result(result) if result.rows else _without_rows(result) for result in await begun
    ]


async def _exec_result(begun: Any) -> JsDict:
    count, duration = await begun
    return JsDict(count=count, duration=int(duration) if float(duration).is_integer() else duration)


async def _first_result(begun: Any, column: Any) -> Any:
    (result,) = await begun
    if not result.rows:
        return None
    if column is None:
        return JsDict(zip(result.columns, first_row(result), strict=True))
    return first_value(result, column)


async def _raw_result(begun: Any, names: bool) -> list[list[Any]]:
    (result,) = await begun
    rows = list(map(list, d1_values(result)))
    if names:
        rows.insert(0, list(result.columns))
    return rows


async def _result(result: StatementResult) -> JsDict:
    return JsDict(
        success=True,
        meta=JsDict(result.meta.as_dict(JsDict)),
        results=await rows_as_dicts_in_turns(result, JsDict),
    )


for _function, _shown in (
    (_all_result, "D1PreparedStatement.run"),
    (_first_result, "D1PreparedStatement.first"),
    (_raw_result, "D1PreparedStatement.raw"),
    (_batch_result, "D1Database.batch"),
    (_exec_result, "D1Database.exec"),
):
    # What a person meets in "coroutine ... was never awaited".
    _function.__qualname__ = _shown


def _without_rows(result: StatementResult) -> JsDict:
    return JsDict(success=True, meta=JsDict(result.meta.as_dict(JsDict)), results=[])
