"""Durable Objects: which there are, SQL on one of them, and their alarms."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyflare_bindings.objects import ObjectNamespace
from pyflare_bindings.objects.ids import ObjectId, ObjectIdError
from pyflare_bindings.objects.storage import ObjectStorage
from pyflare_bindings.registry import BindingRegistry

from . import Answer, Body, Refusal


async def list_objects(registry: BindingRegistry, arguments: dict[str, Any], _body: Body) -> Answer:
    """The objects of a class that have stored something. Arguments: ``id`` of the namespace. Answer: (id, name or
    None, bytes)."""
    namespace = _namespace(registry, arguments)
    found = []
    for id in namespace.stored_ids():
        closed: list[asyncio.Future[None]] = []
        with _opened(namespace, id, closed) as storage:
            found.append((id.hex, storage.name, storage.database_size))
        # Also gives everybody else a turn.
        await asyncio.gather(asyncio.sleep(0), *closed)
    return Answer(found)


async def sql(registry: BindingRegistry, arguments: dict[str, Any], _body: Body) -> Answer:
    """Run SQL on the storage of one object. Arguments: ``id`` of the namespace; ``object``, an id of 64 hexadecimal
    digits, or ``name``; ``sql``. Answer: ``columns``, ``rows``, ``rows_read`` and ``rows_written`` of the last
    statement."""
    namespace = _namespace(registry, arguments)
    id = _chosen(namespace, arguments)
    if id not in namespace.stored_ids():
        raise Refusal(f"There is no object {arguments.get('name') or id.hex} with stored data.")
    waiting: list[asyncio.Future[None]] = []
    # In one turn of the loop: an instance that comes up sees all of it or nothing, and has a storage of its own.
    with _opened(namespace, id, waiting) as storage:
        began = storage.in_transaction
        try:
            cursor = storage.exec(arguments["sql"])
            rows = cursor.fetch_all()
        except BaseException:
            if not began:
                storage.roll_back_all()
            raise
        if storage.in_transaction:
            waiting.append(storage.commit())
    await asyncio.gather(*waiting)
    return Answer(
        {
            "columns": cursor.columns,
            "rows": [
                [list(each) if isinstance(each, bytes) else each for each in row] for row in rows
            ],
            "rows_read": cursor.rows_read,
            "rows_written": cursor.rows_written,
        }
    )


async def alarms(registry: BindingRegistry, arguments: dict[str, Any], _body: Body) -> Answer:
    """The alarms of a class. Arguments: ``id`` of the namespace. Answer: (id, milliseconds since the epoch, name or
    None), the earliest first."""
    namespace = _namespace(registry, arguments)
    found = []
    for id, time in namespace.stored_alarms():
        if time is None:
            continue
        closed: list[asyncio.Future[None]] = []
        with _opened(namespace, id, closed) as storage:
            found.append((id.hex, time, storage.name))
        # Also gives everybody else a turn.
        await asyncio.gather(asyncio.sleep(0), *closed)
    return Answer(sorted(found, key=lambda each: each[1]))


def _namespace(registry: BindingRegistry, arguments: dict[str, Any]) -> ObjectNamespace:
    return registry.objects(registry.renamed_objects().kept_as(arguments["id"]))


def _chosen(namespace: ObjectNamespace, arguments: dict[str, Any]) -> ObjectId:
    name = arguments.get("name")
    if name is not None:
        return namespace.ids.from_name(name)
    try:
        return namespace.ids.from_string(arguments["object"])
    except ObjectIdError as error:
        raise Refusal(str(error)) from error


@contextmanager
def _opened(
    namespace: ObjectNamespace, id: ObjectId, waiting: list[asyncio.Future[None]]
) -> Iterator[ObjectStorage]:
    """The storage of an object: that of its live instance, or one of its own.

    The latter is closed at the end; its end is added to ``waiting``.
    """
    live = namespace.live(id)
    if live is not None:
        yield live
        return
    own = namespace.open(id)
    try:
        yield own
    finally:
        waiting.append(own.close())
