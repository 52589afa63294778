"""``/cdn-cgi/local/email``: hand a message to a worker's ``email`` handler.

Source: https://developers.cloudflare.com/email-routing/email-workers/local-development/
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from pyflare.env.email.delivery import EmailError
from pyflare.env.email.incoming import EmailOutcome
from pyflare.server.contracts import ASGIApplication, Receive, Scope, Send
from pyflare.server.outbound import send_text

from .exchange import BodyTooLarge, query_of, read_body, send_json

__all__ = ["DeliverEmail", "email_endpoint"]

#: Hands a message to the worker that a request belongs to: (scope, sender, recipient, message).
DeliverEmail: TypeAlias = Callable[[Scope, str, str, bytes], Awaitable[EmailOutcome]]

_LOCAL_LIMIT: Final = 1 << 20
_PRODUCTION_LIMIT: Final = 25 << 20

_INCOMPLETE: Final = (
    "Invalid email. Your request must include URL parameters specifying the `from` and `to` addresses, as well as an "
    "email in the body"
)
_OVER_PRODUCTION: Final = (
    "Email message size is bigger than the production size limit of 25MiB. Local development has a "
    "lower limit of 1Mib."
)
_OVER_LOCAL: Final = (
    "Email message size is within the production size limit of 25MiB, but exceeds the lower 1Mib limit for testing "
    "locally."
)


def email_endpoint(deliver: DeliverEmail) -> ASGIApplication:
    """POST of a message (RFC 5322); query ``from``, ``to``, ``format=json``. The texts and statuses are wrangler's."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        query = query_of(scope)
        try:
            # A message between the limits is read, so that the answer can tell the two cases apart.
            raw = await read_body(scope, receive, _PRODUCTION_LIMIT)
        except BodyTooLarge:
            await send_text(send, 400, _OVER_PRODUCTION)
            return
        except ConnectionError:
            return
        sender, recipient = query.get("from"), query.get("to")
        if not sender or not recipient or not raw or scope["method"] != "POST":
            await send_text(send, 400, _INCOMPLETE)
            return
        if len(raw) > _LOCAL_LIMIT:
            await send_text(send, 400, _OVER_LOCAL)
            return
        try:
            outcome = await deliver(scope, sender, recipient, raw)
        except EmailError as error:
            await send_text(send, 400, str(error))
            return
        failed = outcome.outcome != "ok"
        if query.get("format") == "json":
            await send_json(send, 500 if failed else 200, outcome.to_json())
        elif failed:
            await send_text(send, 500, f"The email handler failed: {outcome.error}")
        elif outcome.reject_reason is not None:
            await send_text(
                send,
                400,
                f"Worker rejected email with the following reason: {outcome.reject_reason}",
            )
        else:
            await send_text(send, 200, "Worker successfully processed email")

    return answer
