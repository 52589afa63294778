"""JSON Web Keys, as ``importKey`` takes them and ``exportKey`` gives them.

Source: https://www.rfc-editor.org/rfc/rfc7517, https://www.rfc-editor.org/rfc/rfc7518#section-6 and
https://w3c.github.io/webcrypto/#JsonWebKey-dictionary
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Final

from ..array import JsArray
from ..equality import to_boolean
from ..error import JsException, TypeError_
from ..value import JsObject, get_property
from ..webidl import text

__all__ = ["Jwk", "decode", "encode", "encode_number", "read_jwk"]

_ALPHABET: Final = re.compile(r"[A-Za-z0-9+/]*={0,2}")
#: From the alphabet for URLs to the plain one; white space is left out.
_TO_PLAIN: Final = str.maketrans("-_", "+/", " \t\r\n\f")


@dataclass(slots=True)
class Jwk:
    """The members of a key in the order in which the platform exports them; absent ones are None."""

    kty: str
    use: str | None = None
    key_ops: list[str] | None = None
    alg: str | None = None
    ext: bool | None = None
    crv: str | None = None
    x: str | None = None
    y: str | None = None
    d: str | None = None
    n: str | None = None
    e: str | None = None
    p: str | None = None
    q: str | None = None
    dp: str | None = None
    dq: str | None = None
    qi: str | None = None
    oth: Any = None
    k: str | None = None

    def to_object(self) -> JsObject:
        """The key as JavaScript sees it."""
        members = {
            field.name: value
            for field in fields(self)
            if (value := getattr(self, field.name)) is not None
        }
        if self.key_ops is not None:
            members["key_ops"] = JsArray.adopt(self.key_ops)
        return JsObject.adopt(members)


_TEXTS: Final = tuple(
    field.name for field in fields(Jwk) if field.name not in ("kty", "key_ops", "ext", "oth")
)


def read_jwk(value: Any) -> Jwk:
    """Read a key from a JavaScript object or a dict. Raises: TypeError for operations that are no array."""
    jwk = Jwk(text(get_property(value, "kty")))
    for name in _TEXTS:
        found = get_property(value, name)
        if found is not None:
            setattr(jwk, name, text(found))
    operations = get_property(value, "key_ops")
    if operations is not None:
        if not isinstance(operations, JsArray | list | tuple):
            raise TypeError_(
                "Incorrect type for the 'key_ops' field on 'JsonWebKey': "
                "the provided value is not of type 'Array'."
            )
        jwk.key_ops = [text(operation) for operation in operations]
    extractable = get_property(value, "ext")
    if extractable is not None:
        jwk.ext = to_boolean(extractable)
    jwk.oth = get_property(value, "oth")
    return jwk


def encode(data: bytes) -> str:
    """Base64 for URLs without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def encode_number(number: int) -> str:
    """A number as the shortest big-endian bytes, in base64 for URLs."""
    return encode(number.to_bytes((number.bit_length() + 7) // 8, "big"))


def decode(value: str | None, failure: Callable[[str], JsException], message: str) -> bytes:
    """The bytes of a member in base64 for URLs; plain base64 is accepted too.

    Raises: what ``failure`` makes of the message, for a member that is absent or no base64.
    """
    if value is not None:
        plain = value.translate(_TO_PLAIN)
        if _ALPHABET.fullmatch(plain) is not None:
            plain = plain.rstrip("=")
            try:
                return binascii.a2b_base64(plain + "=" * (-len(plain) % 4))
            except binascii.Error:
                pass
    raise failure(message)
