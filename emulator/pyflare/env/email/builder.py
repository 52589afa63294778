"""A message composed of fields, ``send({from, to, subject, text, ...})``, as MIME.

Source: https://developers.cloudflare.com/email-service/api/send-emails/workers-api/
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import Any, Final

from pyflare.js.buffer import as_bytes
from pyflare.js.error import Error
from pyflare.js.value import get_property, is_nullish, own_items
from pyflare.js.webidl import scalar_text

from .mime import bare_address, new_message_id

__all__ = ["Composed", "compose"]

MAX_RECIPIENTS: Final = 50

_OF_THE_SYSTEM: Final = frozenset(
    {"from", "to", "cc", "bcc", "subject", "reply-to", "mime-version", "content-type", "received"}
)


@dataclass(slots=True)
class Composed:
    """A message, and its envelope with bare addresses."""

    raw: bytes
    message_id: str
    sender: str
    to: list[str]
    others: list[str]


def compose(
    fields: Any, now: float, *, to: list[str] | None = None, headers: dict[str, str] | None = None
) -> Composed:
    """Build a message.

    In: ``fields``, an object or dict; ``now`` in seconds since the epoch, for the Date header; ``to``, which takes
    the place of the recipients in ``fields``; ``headers`` that come before those in ``fields``.
    Raises Error that names the field at fault.
    """
    message = EmailMessage(policy=SMTP)
    sender = _addresses(fields, "from")
    if len(sender) != 1:
        raise Error('An email needs exactly one sender: set "from".')
    recipients = [Address(addr_spec=each) for each in to] if to else _addresses(fields, "to")
    cc, bcc = ([], []) if to else (_addresses(fields, "cc"), _addresses(fields, "bcc"))
    count = len(recipients) + len(cc) + len(bcc)
    if count == 0:
        raise Error('An email needs at least one recipient: set "to", "cc" or "bcc".')
    if count > MAX_RECIPIENTS:
        raise Error(f"An email has at most {MAX_RECIPIENTS} recipients; this one has {count}.")
    message["From"] = sender[0]
    for name, addresses in (("To", recipients), ("Cc", cc), ("Reply-To", _reply_to(fields))):
        if addresses:
            message[name] = addresses
    subject = get_property(fields, "subject")
    if is_nullish(subject):
        raise Error('An email needs a "subject".')
    message["Subject"] = _line("subject", scalar_text(subject))
    _add_headers(message, headers or {}, get_property(fields, "headers"))
    if "Message-ID" not in message:
        message["Message-ID"] = new_message_id(sender[0].addr_spec)
    if "Date" not in message:
        message["Date"] = format_datetime(datetime.fromtimestamp(now, UTC))
    _add_content(message, fields)
    return Composed(
        message.as_bytes(),
        str(message["Message-ID"]),
        sender[0].addr_spec,
        [each.addr_spec for each in recipients],
        [each.addr_spec for each in (*cc, *bcc)],
    )


def _reply_to(fields: Any) -> list[Address]:
    return _addresses(fields, "replyTo")


def _addresses(fields: Any, name: str) -> list[Address]:
    """The addresses of a field that holds a text, ``{email, name}``, or a list of either."""
    value = get_property(fields, name)
    if value is None:
        value = get_property(fields, f"{name}_")
    if is_nullish(value):
        return []
    several = not isinstance(value, str | dict) and isinstance(value, Iterable)
    return [_address(name, each) for each in (value if several else [value])]


def _address(field: str, value: Any) -> Address:
    if isinstance(value, str):
        text, display = value, ""
        if "<" in value:
            display = value.rpartition("<")[0].strip().strip('"')
            text = bare_address(value)
    else:
        text = scalar_text(get_property(value, "email") or "")
        given = get_property(value, "name")
        display = "" if is_nullish(given) else scalar_text(given)
    try:
        return Address(_line(field, display), addr_spec=text.strip())
    except (ValueError, IndexError) as error:
        raise Error(f'"{field}" has {text!r}, which is no email address.') from error


def _line(field: str, text: str) -> str:
    if any(ord(character) < 32 or ord(character) == 127 for character in text):
        raise Error(f'"{field}" holds a line break or another control character.')
    return text


def _add_headers(message: EmailMessage, own: dict[str, str], given: Any) -> None:
    for name, value in own.items():
        message[name] = value
    if is_nullish(given):
        return
    for name, value in own_items(given):
        if name.lower() in _OF_THE_SYSTEM:
            raise Error(f'The header "{name}" cannot be set in "headers".')
        if not name.isascii() or not name.isprintable() or not name or set(name) & {":", " "}:
            raise Error(f'"headers" has {name!r}, which is no header name.')
        del message[name]
        message[name] = _line(f"headers.{name}", scalar_text(value))


def _add_content(message: EmailMessage, fields: Any) -> None:
    text, html = get_property(fields, "text"), get_property(fields, "html")
    if is_nullish(text) and is_nullish(html):
        raise Error('An email needs a body: set "text" or "html".')
    if not is_nullish(text):
        message.set_content(scalar_text(text))
    if not is_nullish(html):
        add = message.set_content if is_nullish(text) else message.add_alternative
        add(scalar_text(html), subtype="html")
    attachments = get_property(fields, "attachments")
    for index, attachment in enumerate(() if is_nullish(attachments) else attachments):
        _attach(message, f"attachments[{index}]", attachment)


def _attach(message: EmailMessage, field: str, attachment: Any) -> None:
    type_ = scalar_text(get_property(attachment, "type") or "application/octet-stream")
    kind, slash, subtype = type_.partition("/")
    if not (kind and slash and subtype) or not type_.isascii() or " " in type_:
        raise Error(f'"{field}.type" is {type_!r}, which is no media type.')
    disposition = get_property(attachment, "disposition") or "attachment"
    if disposition not in ("attachment", "inline"):
        raise Error(f'"{field}.disposition" must be "attachment" or "inline".')
    name = get_property(attachment, "filename")
    content_id = get_property(attachment, "contentId")
    message.add_attachment(
        _attached_bytes(field, get_property(attachment, "content")),
        maintype=kind,
        subtype=subtype,
        disposition=disposition,
        filename=None if is_nullish(name) else _line(f"{field}.filename", scalar_text(name)),
        cid=None if is_nullish(content_id) else f"<{_line(field, scalar_text(content_id))}>",
    )


def _attached_bytes(field: str, content: Any) -> bytes:
    """Bytes as they are, and a text as the Base64 that production takes it for."""
    data = as_bytes(content)
    if data is not None:
        return bytes(data)
    if isinstance(content, str):
        try:
            return base64.b64decode("".join(content.split()), validate=True)
        except binascii.Error:
            pass
    raise Error(f'"{field}.content" must be bytes, or text in Base64.')
