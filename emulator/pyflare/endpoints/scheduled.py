"""``/cdn-cgi/local/scheduled`` and ``/__scheduled``: run a worker's ``scheduled`` handler now.

Source: https://developers.cloudflare.com/workers/configuration/cron-triggers/#test-cron-triggers-locally
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from pyflare.cron.event import ScheduledResult
from pyflare.server.contracts import ASGIApplication, Receive, Scope, Send
from pyflare.server.outbound import send_text

from .exchange import query_of, send_json

__all__ = ["Fire", "scheduled_endpoint", "test_scheduled_endpoint"]

#: Runs the handler of the worker that a request belongs to: (scope, cron, time in milliseconds or None for now).
Fire: TypeAlias = Callable[[Scope, str, float | None], Awaitable[ScheduledResult]]

#: The last time that a Date can hold.
_LATEST: Final = 8_640_000_000_000_000
_MILLISECONDS: Final = re.compile(r"\s*(-?\d{1,16})(?!\d)")


def scheduled_endpoint(fire: Fire) -> ASGIApplication:
    """Any method; query ``cron``, ``time`` in milliseconds, ``format=json``. The outcome, 200 for ``ok``, else 500."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        query = query_of(scope)
        given = query.get("time", "")
        match = _MILLISECONDS.match(given)
        if given and (match is None or abs(int(match[1])) > _LATEST):
            await send_text(
                send, 400, f'"time" is a number of milliseconds since 1970, not "{given}".'
            )
            return
        result = await fire(scope, query.get("cron", ""), float(match[1]) if match else None)
        status = 200 if result.outcome == "ok" else 500
        if query.get("format") == "json":
            outcome = {"outcome": result.outcome, "noRetry": result.no_retry}
            await send_json(send, status, outcome)
        else:
            await send_text(send, status, result.outcome)

    return answer


def test_scheduled_endpoint(fire: Fire) -> ASGIApplication:
    """The address of ``--test-scheduled``: runs the handler as ``cron`` says. A failure is a 500 with its text."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        result = await fire(scope, query_of(scope).get("cron", ""), None)
        if result.outcome == "ok":
            await send_text(send, 200, "Ran scheduled event")
        else:
            await send_text(send, 500, "The scheduled event failed; the log says why.")

    return answer
