"""``env.DB`` as JavaScript sees it: the D1 binding's classes over the one owner of the database.

Worker code normally reaches these through the SDK, whose wrapper is :mod:`pyflare.env.d1_sdk`; legacy handlers and
code that unwraps ``env`` get them directly.

Source: https://developers.cloudflare.com/d1/worker-api/ and workerd ``src/cloudflare/internal/d1-api.ts``
"""

from __future__ import annotations

from typing import Any

from pyflare.js.array import JsArray
from pyflare.js.departure import start
from pyflare.js.error import Error, TypeError_
from pyflare.js.number import to_string
from pyflare.js.options import options_or_keywords
from pyflare.js.promise import JsPromise, rejected
from pyflare.js.value import JsInstance, JsObject, get_property, is_nullish, jsnull
from pyflare_bindings.d1 import Bindable, Statement, StatementResult, d1_values

from .conversion import MISSING, folded
from .d1_requests import Connection, first_row, first_value
from .d1_values import bindable, failure

__all__ = ["D1Database", "D1DatabaseSession", "D1PreparedStatement"]


class _Preparing(JsInstance, js_name="Object"):
    """What a database and a session have in common."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def prepare(self, query: Any = MISSING, /, *_: Any, **named: Any) -> D1PreparedStatement:
        """A statement without bindings; nothing is checked before it runs."""
        return D1PreparedStatement._make(self._connection, folded(query, named), ())  # type: ignore[no-any-return]

    def batch(self, statements: Any = MISSING, /, *_: Any, **named: Any) -> JsPromise:
        """Run statements in one transaction; the results in the same order."""
        return start(_batch(self._connection, folded(statements, named)))


class D1Database(_Preparing, js_name="D1Database"):
    """The binding itself."""

    def exec(self, query: Any = MISSING, /, *_: Any, **named: Any) -> JsPromise:
        """Run each line as one statement: ``{count, duration}``."""
        return start(_exec(self._connection, folded(query, named)))

    def _direct_wrapper(self) -> Any:
        """What the SDK's environment shows for this binding; see :mod:`pyflare.env.sdk`."""
        from .d1_sdk import D1DatabaseWrapper

        return D1DatabaseWrapper(self)

    def withSession(self, constraint: Any = MISSING, /, *_: Any, **named: Any) -> D1DatabaseSession:
        """A session from a constraint or a bookmark. Raises: TypeError for what is no text."""
        session = self._connection.session(folded(constraint, named))
        return D1DatabaseSession._make(session)  # type: ignore[no-any-return]

    def query(self, *_: Any, **__: Any) -> JsPromise:
        """Needs an experimental flag in production, and is not emulated."""
        return rejected(
            Error(
                "D1_ERROR: D1Database.query() requires the d1_binding_jsrpc compatibility flag. "
                "Enable d1_binding_jsrpc before calling query()."
            )
        )

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

    def bind(self, *values: Any, **named: Any) -> D1PreparedStatement:
        """A new statement with exactly these values. Raises ``D1_TYPE_ERROR`` at once."""
        if named:
            values = (*values, JsObject.adopt(named))
        bound = tuple(map(bindable, values))
        return D1PreparedStatement._make(self._connection, self.statement, bound)  # type: ignore[no-any-return]

    def all(self, *_: Any) -> JsPromise:
        return start(self._all())

    def run(self, *_: Any) -> JsPromise:
        return start(self._all())

    def first(self, column: Any = MISSING, /, *_: Any, **named: Any) -> JsPromise:
        """The first row, or its value in a column; null is the column of that name."""
        return start(self._first(folded(column, named)))

    def raw(self, options: Any = None, /, *_: Any, **named: Any) -> JsPromise:
        return start(self._raw(options_or_keywords(options, named)))

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
        if column is None:
            return _row(result.columns, first_row(result))
        return _to_js(first_value(result, column))

    async def _raw(self, options: Any) -> JsArray:
        result = await self._run()
        rows = [JsArray.adopt([_to_js(value) for value in row]) for row in d1_values(result)]
        if not is_nullish(options) and get_property(options, "columnNames"):
            rows.insert(0, JsArray.adopt(list(result.columns)))
        return JsArray.adopt(rows)


async def _batch(connection: Connection, statements: Any) -> JsArray:
    if is_nullish(statements):
        raise TypeError_(f"Cannot read properties of {to_string(statements)} (reading 'map')")
    if not isinstance(statements, JsArray | list | tuple):
        raise TypeError_("statements.map is not a function")
    prepared = [_prepared(item) for item in statements]
    results = await connection.query([item.to_statement() for item in prepared])
    return JsArray.adopt([_result(result) for result in results])


def _prepared(item: Any) -> D1PreparedStatement:
    """A statement, or the SDK's wrapper of one, which stays in an array that ``to_js`` makes."""
    unwrapped = getattr(item, "_binding", item)
    if not isinstance(unwrapped, D1PreparedStatement):
        raise TypeError_(f"batch() takes prepared statements, not {item!r}.")
    return unwrapped


async def _exec(connection: Connection, query: Any) -> JsObject:
    if is_nullish(query):
        raise TypeError_(f"Cannot read properties of {to_string(query)} (reading 'trim')")
    if not isinstance(query, str):
        raise TypeError_("query.trim is not a function")
    count, duration = await connection.exec(query)
    return JsObject.adopt({"count": count, "duration": duration})


def _result(result: StatementResult) -> JsObject:
    columns = result.columns
    rows = [_row(columns, row) for row in d1_values(result)]
    return JsObject.adopt(
        {
            "success": True,
            "meta": JsObject.adopt(result.meta.as_dict(JsObject.adopt)),
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
