"""``env.DB`` as JavaScript sees it: the D1 binding's classes over the one owner of the database.

Worker code normally reaches these through the SDK, whose wrapper is :mod:`pyflare.env.d1_sdk`; legacy handlers and
code that unwraps ``env`` get them directly.

Source: https://developers.cloudflare.com/d1/worker-api/ and workerd ``src/cloudflare/internal/d1-api.ts``
"""

from __future__ import annotations

from typing import Any

from pyflare.js.array import JsArray
from pyflare.js.departure import start
from pyflare.js.error import TypeError_
from pyflare.js.promise import JsPromise, rejected
from pyflare.js.value import JsInstance, JsObject, get_property, is_nullish, jsnull
from pyflare_bindings.d1 import Bindable, Statement, StatementResult, d1_values

from .d1_requests import Connection, first_row, first_value
from .d1_values import bindable, failure

__all__ = ["D1Database", "D1DatabaseSession", "D1PreparedStatement"]


class _Preparing(JsInstance, js_name="Object"):
    """What a database and a session have in common."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def prepare(self, query: Any = None, *_: Any) -> D1PreparedStatement:
        """A statement without bindings; nothing is checked before it runs."""
        return D1PreparedStatement._make(self._connection, query, ())  # type: ignore[no-any-return]

    def batch(self, statements: Any = None, *_: Any) -> JsPromise:
        """Run statements in one transaction; the results in the same order."""
        return start(_batch(self._connection, statements))


class D1Database(_Preparing, js_name="D1Database"):
    """The binding itself."""

    def exec(self, query: Any = "", *_: Any) -> JsPromise:
        """Run each line as one statement: ``{count, duration}``."""
        return start(_exec(self._connection, query))

    def _direct_wrapper(self) -> Any:
        """What the SDK's environment shows for this binding; see :mod:`pyflare.env.sdk`."""
        from .d1_sdk import D1DatabaseWrapper

        return D1DatabaseWrapper(self)

    def withSession(self, constraint: Any = None, *_: Any) -> D1DatabaseSession:
        return D1DatabaseSession._make(self._connection.session(constraint))  # type: ignore[no-any-return]

    def dump(self, *_: Any) -> JsPromise:
        """Deprecated; fails as it does locally in production's own tool."""
        return rejected(failure("D1_DUMP_ERROR", "Status + 404", "Status 404"))


class D1DatabaseSession(_Preparing, js_name="D1DatabaseSession"):
    """``withSession``'s result."""

    def getBookmark(self, *_: Any) -> Any:
        bookmark = self._connection.bookmark
        return jsnull if bookmark is None else bookmark


class D1PreparedStatement(JsInstance, js_name="D1PreparedStatement"):
    """A statement and its bindings; immutable."""

    def __init__(
        self, connection: Connection, statement: Any, values: tuple[Bindable, ...]
    ) -> None:
        self._connection = connection
        self._values = values
        self.statement = statement

    @property
    def params(self) -> Any:
        """The bindings as they are sent."""
        return JsArray.adopt([_to_js(value) for value in self._values])

    def bind(self, *values: Any) -> D1PreparedStatement:
        """A new statement with exactly these values. Raises ``D1_TYPE_ERROR`` at once."""
        bound = tuple(map(bindable, values))
        return D1PreparedStatement._make(self._connection, self.statement, bound)  # type: ignore[no-any-return]

    def all(self, *_: Any) -> JsPromise:
        return start(self._all())

    def run(self, *_: Any) -> JsPromise:
        return start(self._all())

    def first(self, column: Any = None, *_: Any) -> JsPromise:
        return start(self._first(column))

    def raw(self, options: Any = None, *_: Any, **named: Any) -> JsPromise:
        return start(self._raw(options if options is not None else named))

    def to_statement(self) -> Statement:
        """What the owner takes. Raises ``D1_ERROR`` when the SQL is no text."""
        if not isinstance(self.statement, str):
            raise failure("D1_ERROR", f"The SQL is not a text but {self.statement!r}.")
        return Statement(self.statement, self._values)

    async def _run(self) -> StatementResult:
        (result,) = await self._connection.query((self.to_statement(),))
        return result

    async def _all(self) -> JsObject:
        return _result(await self._run())

    async def _first(self, column: Any) -> Any:
        result = await self._run()
        if not result.rows:
            return jsnull
        if is_nullish(column):
            return _row(result.columns, first_row(result))
        return _to_js(first_value(result, column))

    async def _raw(self, options: Any) -> JsArray:
        result = await self._run()
        rows = [JsArray.adopt([_to_js(value) for value in row]) for row in d1_values(result)]
        if not is_nullish(options) and get_property(options, "columnNames"):
            rows.insert(0, JsArray.adopt(list(result.columns)))
        return JsArray.adopt(rows)


async def _batch(connection: Connection, statements: Any) -> JsArray:
    prepared = list(statements) if not is_nullish(statements) else []
    for item in prepared:
        if not isinstance(item, D1PreparedStatement):
            raise TypeError_(f"batch() takes prepared statements, not {item!r}.")
    results = await connection.query([item.to_statement() for item in prepared])
    return JsArray.adopt([_result(result) for result in results])


async def _exec(connection: Connection, query: Any) -> JsObject:
    count, duration = await connection.exec(str(query))
    return JsObject.adopt({"count": count, "duration": duration})


def _result(result: StatementResult) -> JsObject:
    columns = result.columns
    rows = [_row(columns, row) for row in d1_values(result)]
    return JsObject.adopt(
        {
            "success": True,
            "meta": JsObject.adopt(result.meta.as_dict()),
            "results": JsArray.adopt(rows),
        }
    )


def _row(columns: tuple[str, ...], row: tuple[Any, ...]) -> JsObject:
    return JsObject.adopt(dict(zip(columns, map(_to_js, row), strict=True)))


def _to_js(value: Any) -> Any:
    if value is None:
        return jsnull
    if isinstance(value, list):
        return JsArray.adopt(value)
    if isinstance(value, bytes):
        return JsArray.adopt(list(value))
    return value
