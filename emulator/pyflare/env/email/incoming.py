"""A message as an ``email`` handler receives it, and what became of it.

Source: https://developers.cloudflare.com/email-routing/email-workers/runtime-api/ and
https://developers.cloudflare.com/email-routing/email-workers/reply-email-workers/
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from pyflare.js.departure import start
from pyflare.js.email_message import EmailMessage
from pyflare.js.error import Error
from pyflare.js.headers import Headers
from pyflare.js.promise import JsPromise
from pyflare.js.readable import ReadableStream
from pyflare.js.value import JsInstance, JsObject, is_nullish
from pyflare_bindings.clock import Clock
from pyflare_bindings.email import EmailKind, EmailOutbox

from ..conversion import MISSING, TEXT, Parameter
from .binding import check_headers, check_sender, content_of, keep, parse_or_refuse
from .builder import compose
from .mime import ParsedEmail

__all__ = ["EmailOutcome", "ForwardableEmailMessage", "is_replyable"]

_MOST_REFERENCES: Final = 100
_REASON: Final = Parameter("ForwardableEmailMessage", "setReject", 1, TEXT)
_RECIPIENT: Final = Parameter("ForwardableEmailMessage", "forward", 1, TEXT)


@dataclass(slots=True)
class EmailOutcome:
    """What a handler did with a message, in order.

    ``outcome`` is ``ok`` or ``exception``, and ``error`` what it raised. The rest has the shape of the answer that
    the local endpoint gives with ``format=json``.
    """

    outcome: str = "ok"
    reject_reason: str | None = None
    forwards: list[dict[str, Any]] = field(default_factory=list)
    replies: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, str]] = field(default_factory=list)
    error: BaseException | None = None

    def note(self, type_: str, at: float, message_id: str | None = None) -> None:
        """Add to ``events``; ``at`` in seconds since the epoch."""
        time = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
        event = {"type": type_, "timestamp": time.replace("+00:00", "Z")}
        self.events.append(event if message_id is None else {**event, "messageId": message_id})

    def to_json(self) -> dict[str, Any]:
        """The answer with ``format=json``."""
        answer: dict[str, Any] = {"outcome": self.outcome}
        if self.reject_reason is not None:
            answer["rejectReason"] = self.reject_reason
        return {
            **answer,
            "forwards": self.forwards,
            "replies": self.replies,
            "events": self.events,
        }


class ForwardableEmailMessage(JsInstance, js_name="ForwardableEmailMessage"):
    """The handler's argument.

    In: the envelope's ``sender`` and ``recipient``; ``content``, the whole message, and ``parsed``, its headers; the
    ``outbox`` that keeps what is forwarded and replied; ``worker``, its name; ``notice``, what is told of each act.
    """

    def __init__(
        self,
        sender: str,
        recipient: str,
        content: bytes,
        parsed: ParsedEmail,
        outbox: EmailOutbox,
        clock: Clock,
        worker: str,
        notice: Callable[[str], None],
    ) -> None:
        self._sender = sender
        self._recipient = recipient
        self._content = content
        self._parsed = parsed
        self._outbox = outbox
        self._clock = clock
        self._worker = worker
        self._notice = notice
        self._raw: ReadableStream | None = None
        self._headers: Headers | None = None
        self._has_replied = False
        self._outcome = EmailOutcome()
        self._outcome.note("received", clock.now())

    @property
    def from_(self) -> str:
        """The sender of the envelope."""
        return self._sender

    @property
    def to(self) -> str:
        """The recipient of the envelope."""
        return self._recipient

    @property
    def headers(self) -> Headers:
        """The headers of the message."""
        if self._headers is None:
            self._headers = _headers(self._parsed)
        return self._headers

    @property
    def raw(self) -> ReadableStream:
        """The whole message; a stream that can be read once."""
        if self._raw is None:
            self._raw = ReadableStream.from_bytes(self._content)
        return self._raw

    @property
    def rawSize(self) -> int:
        """Bytes of the whole message."""
        return len(self._content)

    def setReject(self, reason: Any = MISSING, *_: Any) -> None:
        """Refuse the message: the sender is told the reason."""
        given = _REASON.read(reason)
        self._outcome.reject_reason = given
        self._outcome.note("reject", self._clock.now())
        self._notice(f'Email handler rejected message with the following reason: "{given}"')

    def forward(self, recipient: Any = MISSING, headers: Any = None, *_: Any) -> JsPromise:
        """Pass the message on, with headers ``X-*`` added. A promise of ``{messageId}``."""
        return start(self._forward(recipient, headers))

    def reply(self, message: Any = None, *_: Any, **fields: Any) -> JsPromise:
        """Answer the sender with an ``EmailMessage`` or the fields of one. A promise of ``{messageId}``."""
        return start(self._reply(fields if message is None else message))

    async def _forward(self, to: Any, headers: Any) -> JsObject:
        recipient = _RECIPIENT.read(to)
        added = [] if is_nullish(headers) else [(n, v) for n, v in Headers.new(headers)]
        for name, _ in added:
            if not name.startswith("x-"):
                raise Error(f'Only headers that begin with "X-" can be added, not "{name}".')
        lines = "".join(f"{name}: {value}\r\n" for name, value in added)
        message_id = await self._store("forwarded", lines.encode() + self._content, recipient)
        self._outcome.forwards.append(
            {
                "messageId": message_id,
                "recipient": recipient,
                "headers": [[name, value] for name, value in added],
            }
        )
        self._outcome.note("forward", self._clock.now(), message_id)
        shown = "".join(f"\n    {name}: {value}" for name, value in added)
        self._notice(
            f"Email handler forwarded message with\n  rcptTo: {recipient}"
            + (f"\n  headers:{shown}" if shown else "")
        )
        return JsObject.adopt({"messageId": message_id})

    async def _reply(self, message: Any) -> JsObject:
        if not is_replyable(self._parsed):
            raise Error("Original email is not replyable")
        if isinstance(message, EmailMessage):
            if message.to.casefold() != self._sender.casefold():
                raise Error(
                    f"The recipient of the reply, {message.to}, must be the sender of the email, {self._sender}."
                )
            sender = message.from_
            raw = self._checked_reply(await content_of(message), sender)
        else:
            composed = compose(
                message,
                self._clock.now(),
                to=[self._sender],
                headers={
                    "In-Reply-To": self._parsed.message_id or "",
                    "References": _references(self._parsed),
                },
            )
            sender, raw = composed.sender, composed.raw
        # Production's rules; its texts are not documented.
        if self._has_replied:
            raise Error("The email can only be replied to once in the same event.")
        self._has_replied = True
        message_id = await self._store("replied", raw, self._sender, sender)
        self._outcome.replies.append(
            {
                "messageId": message_id,
                "sender": sender,
                "raw": raw.decode("utf-8", "replace"),
                "rawBase64": base64.b64encode(raw).decode(),
            }
        )
        self._outcome.note("reply", self._clock.now(), message_id)
        return JsObject.adopt({"messageId": message_id})

    def _checked_reply(self, raw: bytes, sender: str) -> bytes:
        """The reply as it is sent: with a References header. Raises Error with the platform's texts."""
        reply, original = parse_or_refuse(raw), self._parsed
        check_sender(reply, sender)
        if reply.message_id is None:
            raise Error("invalid message-id")
        check_headers(reply)
        if reply.in_reply_to is None:
            raise Error("no In-Reply-To header found in reply message")
        if reply.in_reply_to != original.message_id:
            raise Error("In-Reply-To does not match original Message-ID")
        if reply.references is None:
            return f"References: {_references(original)}\r\n".encode() + raw
        ids = reply.references.split()
        if not {original.message_id, *(original.references or "").split()} <= set(ids):
            raise Error("provided References header is invalid")
        return raw

    async def _store(self, kind: EmailKind, raw: bytes, recipient: str, sender: str = "") -> str:
        message_id = f"{secrets.token_hex(16)}@example.com"
        path = await keep(
            self._outbox,
            kind,
            raw,
            sender=sender or self._sender,
            recipients=[recipient],
            message_id=message_id,
            worker=self._worker,
        )
        if kind == "replied":
            self._notice(f"Email handler replied to sender with the following message:\n  {path}")
        return message_id


def is_replyable(email: ParsedEmail) -> bool:
    """Whether production lets a worker reply: not to machines, nor into a broken or endless thread."""
    automatic = (email.header("auto-submitted") or "no").lower()
    suppressed = (email.header("x-auto-response-suppress") or "none").lower()
    if automatic != "no" or suppressed != "none":
        return False
    if (email.in_reply_to is None) != (email.references is None):
        return False
    return (email.references or "").count("@") < _MOST_REFERENCES


def _references(email: ParsedEmail) -> str:
    # RFC 5322 3.6.4: those of the original, then the original's own.
    return " ".join(filter(None, (email.references, email.message_id)))


def _headers(email: ParsedEmail) -> Headers:
    headers = Headers.empty()
    for name, value in email.headers:
        # Web headers have fewer names and values than mail; what has none is passed over.
        if name.isascii() and name.replace("-", "").replace("_", "").isalnum():
            headers.append(name, value.replace("\0", ""))
    return headers
