"""D1 databases: SQL, what is in them, and all of it as SQL."""

from __future__ import annotations

from typing import Any

from pyflare_bindings.d1 import Statement, StatementResult
from pyflare_bindings.d1.export import export_lines
from pyflare_bindings.d1.values import d1_values
from pyflare_bindings.registry import BindingRegistry

from . import Answer, Body


async def query(registry: BindingRegistry, arguments: dict[str, Any], _body: Body) -> Answer:
    """Run statements in one transaction.

    Arguments: ``id`` of the database; ``statements``, SQL texts or pairs of a text and its parameters. Answer: for
    each statement ``columns``, ``rows`` and ``meta``; a BLOB is a list of its bytes, as a worker sees it.
    """
    statements = [
        Statement(each) if isinstance(each, str) else Statement(each[0], tuple(each[1]))
        for each in arguments["statements"]
    ]
    results = await registry.d1(arguments["id"]).query(statements)
    return Answer([_shown(each) for each in results])


def _shown(result: StatementResult) -> dict[str, Any]:
    return {
        "columns": result.columns,
        "rows": d1_values(result),
        "meta": result.meta.as_dict(),
    }


async def export(registry: BindingRegistry, arguments: dict[str, Any], _body: Body) -> Answer:
    """All of a database as SQL, in one consistent state.

    Arguments: ``id``; ``tables`` to keep to, all where it is empty; ``schema`` and ``data``, whether to write them.
    Answer: the bytes of the file in them as ``size``, and the text as the body.
    """
    size, lines = await export_lines(
        registry.d1(arguments["id"]),
        tables=frozenset(arguments.get("tables") or ()),
        schema=arguments.get("schema", True),
        data=arguments.get("data", True),
    )
    return Answer({"size": size}, lines)


async def info(registry: BindingRegistry, arguments: dict[str, Any], _body: Body) -> Answer:
    """What a database is made of.

    Arguments: ``id``. Answer: ``size`` in bytes, ``tables`` as pairs of a name and the number of its rows.
    """
    database = registry.d1(arguments["id"])
    names = await database.query(
        [
            Statement(
                "SELECT name FROM sqlite_schema WHERE type = 'table'"
                " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE '\\_cf\\_%' ESCAPE '\\'"
                " ORDER BY name"
            )
        ]
    )
    tables = [row[0] for row in names[0].rows]
    if not tables:
        return Answer({"size": names[0].meta.size_after, "tables": []})
    counts = await database.query(
        [Statement(f"SELECT count(*) FROM {_quoted(table)}") for table in tables]
    )
    return Answer(
        {
            "size": counts[0].meta.size_after,
            "tables": [
                (table, result.rows[0][0]) for table, result in zip(tables, counts, strict=True)
            ],
        }
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
