"""What ``_headers`` and ``_redirects`` have in common: addresses with ``*`` and ``:names``, matched and filled in.

Sources: https://developers.cloudflare.com/workers/static-assets/headers/ and
https://developers.cloudflare.com/workers/static-assets/redirects/
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

__all__ = [
    "MAX_LINE",
    "BadRule",
    "Complaint",
    "Pattern",
    "fill_in",
    "has_host",
    "is_dynamic",
    "normal",
]

#: The longest line of either file that counts, in characters.
MAX_LINE: Final = 2000

_ABSOLUTE: Final = re.compile(r"https://+(?P<host>[^/]+)/?(?P<path>.*)", re.DOTALL)
_PORT: Final = re.compile(r".*:\d+")
_NAME: Final = re.compile(r":([A-Za-z][A-Za-z0-9_]*)")
_MARK: Final = re.compile(r"\*|:[A-Za-z][A-Za-z0-9_]*")


class BadRule(ValueError):
    """An address, or a line, that does not count; the text says why."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """A line that was left out. ``line`` and ``number`` are absent where the whole file is meant."""

    problem: str
    line: str = ""
    number: int = 0


def has_host(address: str) -> bool:
    """Whether an address names a host, as opposed to a path alone."""
    return _ABSOLUTE.match(address) is not None


def is_dynamic(address: str) -> bool:
    """Whether an address has a splat or placeholders."""
    return _MARK.search(address) is not None


def normal(text: str, *, relative: bool, ports: bool, tail: bool) -> str:
    """An address as the rest of the rules expects it: resolved and percent-encoded.

    Args: ``relative`` whether only paths are allowed, ``ports`` whether a host may have a port, ``tail`` whether
    query and fragment are kept. Raises :class:`BadRule`.
    """
    absolute = _ABSOLUTE.match(text)
    if absolute is not None:
        if relative:
            raise BadRule(f"Only relative URLs are allowed. Skipping absolute URL {text}.")
        host = absolute["host"]
        if not ports and _PORT.fullmatch(host):
            raise BadRule(f"Specifying ports is not supported. Skipping absolute URL {text}.")
        return f"https://{host}{_path('/' + absolute['path'], tail=tail)}"
    if relative and not text.startswith("/"):
        text = "/" + text
    if not text.startswith("/"):
        raise BadRule(
            "URLs should begin with a forward-slash."
            if relative
            else "URLs should either be relative (e.g. begin with a forward-slash), or use HTTPS "
            '(e.g. begin with "https://").'
        )
    return _path(text, tail=tail)


def _path(text: str, *, tail: bool) -> str:
    import ada_url

    try:
        url = ada_url.URL(f"https://host{text}")
    except ValueError:
        raise BadRule(f"Error parsing URL segment {text}. Skipping.") from None
    return f"{url.pathname}{url.search}{url.hash}" if tail else url.pathname


class Pattern:
    """An address of a rule, ready to be compared with requests.

    Raises :class:`BadRule` for two splats or two placeholders of one name.
    """

    __slots__ = ("_crosses_hosts", "_expression")

    def __init__(self, address: str) -> None:
        self._crosses_hosts = address.startswith("https://")
        if address.count("*") > 1:
            raise BadRule("Only one splat (*) is allowed in a rule.")
        try:
            self._expression = re.compile(_expression(address), re.DOTALL)
        except re.error:
            raise BadRule("A placeholder may be used only once in a rule.") from None

    def match(self, host: str, path: str) -> Mapping[str, str] | None:
        """What the splat and the placeholders stand for in a request; ``None`` when it does not match.

        ``host`` is the name without a port: the scheme and the port of a request do not count.
        """
        text = f"https://{host}{path}" if self._crosses_hosts else path
        found = self._expression.fullmatch(text)
        return None if found is None else found.groupdict()


def _expression(address: str) -> str:
    made: list[str] = []
    position = 0
    host_end = address.find("/", 8) if address.startswith("https://") else 0
    for mark in _MARK.finditer(address):
        made.append(re.escape(address[position : mark.start()]))
        if mark[0] == "*":
            made.append("(?P<splat>.*)")
        else:
            kept_out = "/." if mark.start() < host_end else "/"
            made.append(f"(?P<{mark[0][1:]}>[^{kept_out}]+)")
        position = mark.end()
    made.append(re.escape(address[position:]))
    return "".join(made)


def fill_in(text: str, values: Mapping[str, str]) -> str:
    """A value or a target with its placeholders replaced; unknown ones stay as they are."""
    if not values or ":" not in text:
        return text
    return _NAME.sub(lambda match: values.get(match[1], match[0]), text)
