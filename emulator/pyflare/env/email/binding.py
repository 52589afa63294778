"""``env.EMAIL`` of a ``send_email`` block. What is sent is kept in the state directory.

Source: https://developers.cloudflare.com/email-service/api/send-emails/workers-api/ and the local emulation of
``packages/miniflare``
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pyflare.js.departure import start
from pyflare.js.email_message import EmailMessage
from pyflare.js.error import Error
from pyflare.js.promise import JsPromise
from pyflare.js.readable import ReadableStream
from pyflare.js.readers import collect
from pyflare.js.value import JsInstance, JsObject
from pyflare_bindings.clock import Clock
from pyflare_bindings.email import EmailKind, EmailOutbox
from pyflare_bindings.storage.errors import ClosedError, StateError

from .builder import compose
from .mime import MimeError, ParsedEmail, bare_address, new_message_id, parse

__all__ = ["SendEmail", "SendRules", "content_of", "keep", "parse_sent"]

MAX_BYTES: Final = 25 * 1024 * 1024


@dataclass(slots=True, frozen=True)
class SendRules:
    """To and from whom a binding may send; None allows everybody."""

    destination: str | None = None
    destinations: Collection[str] | None = None
    senders: Collection[str] | None = None

    def check(self, sender: str, recipients: Collection[str]) -> None:
        """Raise Error with the platform's text. Only ``to`` is meant by the lists, not copies."""
        if self.senders is not None and bare_address(sender) not in self.senders:
            raise Error(f"email from {sender} not allowed")
        for recipient in recipients:
            address = bare_address(recipient)
            refused = self.destination is not None and address != self.destination
            if refused or (self.destinations is not None and address not in self.destinations):
                raise Error(f"email to {recipient} not allowed")


class SendEmail(JsInstance, js_name="SendEmail"):
    """The binding.

    In: ``outbox``; ``rules``; ``clock``, for the Date of composed messages; ``worker``, its name; ``notice``, what is
    told of each message.
    """

    def __init__(
        self,
        outbox: EmailOutbox,
        rules: SendRules,
        clock: Clock,
        worker: str,
        notice: Callable[[str], None],
    ) -> None:
        self._outbox = outbox
        self._rules = rules
        self._clock = clock
        self._worker = worker
        self._notice = notice

    def send(self, message: Any = None, *_: Any, **fields: Any) -> JsPromise:
        """A promise of ``{messageId}``. Takes an ``EmailMessage`` or the fields of a message."""
        given = fields if message is None else message
        if isinstance(given, EmailMessage):
            return start(self._send_message(given))
        return start(self._send_fields(given))

    async def _send_message(self, message: EmailMessage) -> JsObject:
        self._rules.check(message.from_, [message.to])
        raw = await content_of(message)
        parse_sent(raw, message.from_)
        message_id = new_message_id(bare_address(message.from_))
        path = await self._store(raw, message_id, message.from_, [message.to])
        self._notice(f"send_email binding called with the following message:\n  {path}")
        return JsObject.adopt({"messageId": message_id})

    async def _send_fields(self, fields: Any) -> JsObject:
        composed = compose(fields, self._clock.now())
        self._rules.check(composed.sender, composed.to)
        recipients = [*composed.to, *composed.others]
        path = await self._store(composed.raw, composed.message_id, composed.sender, recipients)
        self._notice(
            "send_email binding called with MessageBuilder:\n"
            f"From: {composed.sender}\nTo: {', '.join(recipients)}\n  {path}"
        )
        return JsObject.adopt({"messageId": composed.message_id})

    async def _store(self, raw: bytes, message_id: str, sender: str, recipients: list[str]) -> str:
        return str(
            await keep(
                self._outbox,
                "sent",
                raw,
                sender=sender,
                recipients=recipients,
                message_id=message_id,
                worker=self._worker,
            )
        )


async def keep(outbox: EmailOutbox, kind: EmailKind, raw: bytes, **envelope: Any) -> Path:
    """Store a message: the path of its file. Raises Error when that fails."""
    try:
        return (await outbox.store(kind, raw, **envelope)).path
    except (StateError, ClosedError) as error:
        raise Error(f"The email could not be stored: {error}") from None


async def content_of(message: EmailMessage) -> bytes:
    """The bytes of a message. Raises Error for one over the size that production takes."""
    content = message._content
    if isinstance(content, ReadableStream):
        content = await collect(content)
    raw = content.encode() if isinstance(content, str) else bytes(content)
    if len(raw) > MAX_BYTES:
        raise Error(f"The email has {len(raw)} bytes; at most {MAX_BYTES} (25 MiB) are allowed.")
    return raw


def parse_sent(raw: bytes, sender: str) -> ParsedEmail:
    """A message that a worker wants to send, with the checks of production. Raises Error with its texts."""
    parsed = parse_or_refuse(raw)
    if parsed.message_id is None:
        raise Error("invalid message-id")
    check_sender(parsed, sender)
    check_headers(parsed)
    return parsed


def parse_or_refuse(raw: bytes) -> ParsedEmail:
    try:
        return parse(raw)
    except MimeError as error:
        raise Error(f"could not parse email: {error}") from error


def check_sender(parsed: ParsedEmail, sender: str) -> None:
    if parsed.sender.lower() != bare_address(sender).lower():
        raise Error("From: header does not match mail from")


def check_headers(parsed: ParsedEmail) -> None:
    if parsed.header("received") is not None:
        raise Error("invalid headers set")
