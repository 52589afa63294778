"""Brings text into the form that the component of a parsed address has.

Each function takes text of one component and raises PatternError for what cannot stand there.

Source: https://urlpattern.spec.whatwg.org/#canon-encoding-callbacks
"""

from __future__ import annotations

import re
from typing import Final

from ..url import parse
from ..webidl import encode_text
from .tokens import PatternError

__all__ = [
    "SPECIAL_SCHEMES",
    "fragment",
    "hostname",
    "ipv6_hostname",
    "opaque_pathname",
    "pathname",
    "port",
    "protocol",
    "query",
    "userinfo",
]

#: Special schemes and their default ports.
SPECIAL_SCHEMES: Final = {
    "http": "80",
    "https": "443",
    "ws": "80",
    "wss": "443",
    "ftp": "21",
    "file": "",
}

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_IPV6: Final = re.compile(r"[0-9A-Fa-f\[\]:]*")
#: What only the parser of addresses can judge: forbidden characters, encoded names, numbers that may be addresses.
_UNUSUAL_HOST: Final = re.compile(
    r"[\0-\x20#/<>?@\[\\\]^`{}|%:\x7f]|xn--|(?:^|\.)[0-9][0-9a-fx]*\.?$"
)
_TAB_OR_NEWLINE: Final = re.compile(r"[\t\n\r]")
_CONTROLS: Final = "".join(map(chr, (*range(0x20), 0x7F)))
_FRAGMENT_SET: Final = frozenset(_CONTROLS + ' "<>`')
_QUERY_SET: Final = frozenset(_CONTROLS + ' "#<>')
_USERINFO_SET: Final = frozenset(_CONTROLS + ' "#<>?^`{}/:;=@[\\]|')


def _percent_encode(text: str, encoded: frozenset[str]) -> str:
    if text.isascii() and encoded.isdisjoint(text):
        return text
    return "".join(
        character
        if character.isascii() and character not in encoded
        else "".join(f"%{byte:02X}" for byte in encode_text(character))
        for character in text
    )


def protocol(text: str) -> str:
    if text and _SCHEME.fullmatch(text) is None:
        raise PatternError(f"{text!r} is no scheme")
    return text.lower()


def userinfo(text: str) -> str:
    return _percent_encode(text, _USERINFO_SET)


def hostname(text: str) -> str:
    """A host, or a part of one such as ``.example``."""
    lower = text.lower()
    if not text or (text.isascii() and _UNUSUAL_HOST.search(lower) is None):
        return lower
    from ada_url import URL

    dummy = URL("https://dummy.invalid")
    try:
        dummy.hostname = text
    except ValueError:
        raise PatternError(f"{text!r} is no host name") from None
    return str(dummy.hostname)


def ipv6_hostname(text: str) -> str:
    if _IPV6.fullmatch(text) is None:
        raise PatternError(f"{text!r} is no part of an IPv6 address")
    return text.lower()


def port(text: str, scheme: str | None = None) -> str:
    """Digits; the default port of the scheme becomes the empty string."""
    text = _TAB_OR_NEWLINE.sub("", text)
    if not text:
        return text
    digits = re.match("[0-9]*", text, re.ASCII)
    assert digits is not None
    if not digits[0] or int(digits[0]) > 65535:
        raise PatternError(f"{text!r} is no port")
    number = str(int(digits[0]))
    return "" if scheme and SPECIAL_SCHEMES.get(scheme) == number else number


def pathname(text: str) -> str:
    if not text:
        return text
    from ada_url import URL

    dummy = URL("fake://fake-url")
    if text[0] == "/":
        dummy.pathname = text
        return str(dummy.pathname)
    # A path gets a slash in front of it, which is not to be part of this text.
    dummy.pathname = f"/-{text}"
    return str(dummy.pathname)[2:]


def opaque_pathname(text: str) -> str:
    """The path of an address whose scheme is not special, which has no hierarchy unless it begins with a slash."""
    if not text:
        return text
    parsed = parse(f"fake:{text}")
    if parsed is None:
        raise PatternError(f"{text!r} is no path")
    return parsed.pathname


def query(text: str) -> str:
    return _percent_encode(_TAB_OR_NEWLINE.sub("", text), _QUERY_SET)


def fragment(text: str) -> str:
    return _percent_encode(_TAB_OR_NEWLINE.sub("", text), _FRAGMENT_SET)
