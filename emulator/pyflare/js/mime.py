"""Media types, as in a ``Content-Type`` header.

Source: https://mimesniff.spec.whatwg.org/#parsing-a-mime-type
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["MediaType"]

_ESSENCE: Final = re.compile(r"[\s]*([!#$%&'*+\-.^_`|~\w]+/[!#$%&'*+\-.^_`|~\w]+)[\s]*", re.ASCII)
_PARAMETER: Final = re.compile(
    r';\s*(?:([!#$%&\'*+\-.^_`|~\w]+)=(?:"((?:[^"\\]|\\.)*)"[^;]*|([^;]*)))?[^;]*', re.ASCII
)


@dataclass(frozen=True, slots=True)
class MediaType:
    """``essence`` is ``type/subtype`` in lower case; names of parameters are in lower case, their values as given."""

    essence: str
    parameters: dict[str, str]

    @classmethod
    def parse(cls, text: str) -> MediaType | None:
        """The media type in a header value, None when there is none."""
        essence = _ESSENCE.match(text)
        if essence is None:
            return None
        parameters: dict[str, str] = {}
        for found in _PARAMETER.finditer(text, essence.end()):
            name, quoted, token = found.groups()
            if name is None:
                continue
            value = re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else token.strip()
            if value or quoted is not None:
                parameters.setdefault(name.lower(), value)
        return cls(essence[1].lower(), parameters)
