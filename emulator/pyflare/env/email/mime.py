"""What of a message's headers decides whether it may be sent, received or replied with."""

from __future__ import annotations

import secrets
import string
from dataclasses import dataclass
from email.errors import MessageError
from email.message import EmailMessage
from email.parser import BytesHeaderParser
from email.policy import SMTP
from email.utils import getaddresses, parseaddr
from typing import Final

__all__ = ["MimeError", "ParsedEmail", "bare_address", "new_message_id", "parse"]

_ALPHABET: Final = string.ascii_letters + string.digits
_ID_LENGTH: Final = 36


class MimeError(ValueError):
    """A message that cannot be parsed."""


@dataclass(slots=True)
class ParsedEmail:
    """The headers of a message in the order in which they stand in it, and those that rules look at.

    ``references`` and the ids are as written, None where the header is absent; ``sender`` and ``recipients`` are bare
    addresses of ``From`` and ``To``.
    """

    headers: list[tuple[str, str]]
    sender: str
    recipients: tuple[str, ...]
    message_id: str | None
    in_reply_to: str | None
    references: str | None

    def header(self, name: str) -> str | None:
        """The first header of a lower-case name."""
        return next((value for key, value in self.headers if key.lower() == name), None)


def parse(raw: bytes) -> ParsedEmail:
    """Read the headers of a message. Raises MimeError."""
    try:
        message: EmailMessage = BytesHeaderParser(policy=SMTP).parsebytes(raw)
        return _parsed([(name, _unfolded(str(value))) for name, value in message.items()])
    except RecursionError as error:
        raise MimeError("its headers are nested too deeply") from error
    except (MessageError, ValueError, LookupError, IndexError, AttributeError, TypeError) as error:
        # The standard library's parser fails on some malformed headers in ways of its own.
        raise MimeError(str(error) or type(error).__name__) from error


def _parsed(headers: list[tuple[str, str]]) -> ParsedEmail:
    parsed = ParsedEmail(headers, "", (), None, None, None)
    parsed.sender = bare_address(parsed.header("from") or "")
    to = [value for name, value in headers if name.lower() == "to"]
    parsed.recipients = tuple(address for _, address in getaddresses(to) if address)
    parsed.message_id = parsed.header("message-id") or None
    parsed.in_reply_to = parsed.header("in-reply-to") or None
    parsed.references = parsed.header("references") or None
    return parsed


def bare_address(text: str) -> str:
    """``a@b`` of ``Name <a@b>``; empty where there is no address."""
    return parseaddr(text)[1]


def new_message_id(sender: str) -> str:
    """An id as production gives it: 36 letters and digits at the sender's domain."""
    token = "".join(secrets.choice(_ALPHABET) for _ in range(_ID_LENGTH))
    return f"<{token}@{sender.rpartition('@')[2]}>"


def _unfolded(value: str) -> str:
    return " ".join(value.split("\r\n")).replace("\n", " ").strip()
