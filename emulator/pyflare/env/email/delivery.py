"""Giving a message to a worker's ``email`` handler."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from pyflare.js.rpc.errors import is_passing
from pyflare_bindings.registry import BindingRegistry

from .incoming import EmailOutcome, ForwardableEmailMessage
from .mime import MimeError, ParsedEmail, parse

__all__ = ["EmailError", "deliver", "read_email"]

NO_MESSAGE_ID = "invalid or no message id provided"


class EmailError(ValueError):
    """A message that cannot be delivered; `str()` says why."""


class EmailWorker(Protocol):
    """What is needed of a worker."""

    name: str

    def has_handler(self, name: str) -> bool: ...
    def handle(self, name: str, *arguments: Any) -> Coroutine[Any, Any, Any]: ...
    async def run(self, event: Coroutine[Any, Any, Any]) -> Any: ...


def read_email(raw: bytes) -> ParsedEmail:
    """The headers of a message that arrives. Raises EmailError with the text of the local endpoint."""
    try:
        parsed = parse(raw)
    except MimeError as error:
        raise EmailError(f"Email could not be parsed: Error: {error}") from error
    if parsed.message_id is None:
        raise EmailError(f"Email could not be parsed: {NO_MESSAGE_ID}")
    return parsed


async def deliver(
    worker: EmailWorker,
    registry: BindingRegistry,
    sender: str,
    recipient: str,
    raw: bytes,
    notice: Callable[[str], None] = lambda _: None,
) -> EmailOutcome:
    """Run the handler as one event of the worker, and tell what it did.

    In: the envelope's ``sender`` and ``recipient``, the message, and ``notice``, which is told of rejections, forwards
    and replies. What the handler raises is in the outcome. Raises EmailError for a message that is none.
    """
    parsed = read_email(raw)
    if parsed.sender != sender:
        notice(
            "Provided MAIL FROM address doesn't match the email message's \"From\" header:\n"
            f'  MAIL FROM: {sender}\n  "From" header: {parsed.sender}'
        )
    if recipient not in parsed.recipients:
        notice(
            'Provided RCPT TO address doesn\'t match any "To" header in the email message:\n'
            f'  RCPT TO: {recipient}\n  "To" header: {", ".join(parsed.recipients)}'
        )
    message = ForwardableEmailMessage._make(
        sender, recipient, raw, parsed, registry.email(), registry.clock, worker.name, notice
    )
    outcome: EmailOutcome = message._outcome
    if not worker.has_handler("email"):
        outcome.note("unhandled", registry.clock.now())
    try:
        await worker.run(worker.handle("email", message))
    except BaseException as error:
        if is_passing(error):
            raise
        outcome.outcome = "exception"
        outcome.error = error
    return outcome
