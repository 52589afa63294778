"""Queues: sending, looking at what waits, and emptying."""

from __future__ import annotations

import base64
from typing import Any

from pyflare_bindings.queues import Outgoing, QueueError
from pyflare_bindings.registry import BindingRegistry

from . import Answer, Body, Refusal

_PAGE = 100


async def send(registry: BindingRegistry, arguments: dict[str, Any], _body: Body) -> Answer:
    """Send a message. Arguments: ``id``, the name of the queue; the ``content`` in base64; ``content_type``; ``delay``
    in seconds. Answer: how many messages waited before it."""
    message = Outgoing(
        base64.b64decode(arguments["content"]),
        arguments.get("content_type", "json"),
        arguments.get("delay", 0),
    )
    try:
        before = await registry.queue(arguments["id"]).send(message)
    except QueueError as error:
        raise Refusal(str(error)) from error
    return Answer({"backlog": before.backlog_count})


async def list_queues(registry: BindingRegistry, arguments: dict[str, Any], _body: Body) -> Answer:
    """Every queue that has been used, and those named. Arguments: ``names``. Answer: (name, messages, bytes, when the
    oldest was sent in milliseconds since the epoch or None)."""
    store = registry.queues()
    names = {stored.name for stored in await store.queues()} | set(arguments.get("names") or ())
    found = []
    for name in sorted(names):
        metrics = await store.queue(name).metrics()
        found.append((name, metrics.backlog_count, metrics.backlog_bytes, metrics.oldest_at))
    return Answer(found)


async def messages(registry: BindingRegistry, arguments: dict[str, Any], _body: Body) -> Answer:
    """The first messages of a queue. Arguments: ``id``, ``limit``. Answer: one object for each."""
    found = await registry.queue(arguments["id"]).list(arguments.get("limit", _PAGE))
    return Answer(
        [
            {
                "id": each.id,
                "sent_at": each.sent_at,
                "visible_at": each.visible_at,
                "attempts": each.attempts,
                "in_flight": each.in_flight,
                "content_type": each.content_type,
                "body": base64.b64encode(each.body).decode(),
            }
            for each in found
        ]
    )


async def purge(registry: BindingRegistry, arguments: dict[str, Any], _body: Body) -> Answer:
    """Delete all messages of a queue. Arguments: ``id``. Answer: how many."""
    return Answer(await registry.queue(arguments["id"]).purge())
