"""``EmailMessage`` of ``cloudflare:email``: a message that is made, to be sent or to reply with.

Source: https://developers.cloudflare.com/email-routing/email-workers/runtime-api/ and workerd
``types/defines/email.d.ts``
"""

from __future__ import annotations

from typing import Any

from .body import Content, extract
from .error import TypeError_
from .readable import ReadableStream
from .value import JsInstance
from .webidl import scalar_text

__all__ = ["EmailMessage", "EmailModule"]


class EmailMessage(JsInstance, js_name="EmailMessage"):
    """``EmailMessage.new(from, to, raw)``: an envelope, and the message as text, bytes or a stream."""

    def __init__(self, sender: str, recipient: str, content: Content | ReadableStream) -> None:
        self._sender = sender
        self._recipient = recipient
        self._content = content

    @classmethod
    def _construct(cls, *arguments: Any) -> EmailMessage:
        if len(arguments) < 3:
            raise TypeError_(
                "Failed to construct 'EmailMessage': 3 arguments required, "
                f"but only {len(arguments)} present."
            )
        sender, recipient, raw = arguments[:3]
        content, _ = extract(raw)
        return cls._make(scalar_text(sender), scalar_text(recipient), content)  # type: ignore[no-any-return]

    @property
    def from_(self) -> str:
        """The sender of the envelope."""
        return self._sender

    @property
    def to(self) -> str:
        """The recipient of the envelope."""
        return self._recipient


class EmailModule(JsInstance, js_name="Module"):
    """``cloudflare:email``."""

    EmailMessage = EmailMessage
