"""Media types, as in a ``Content-Type`` header.

Source: https://mimesniff.spec.whatwg.org/#parsing-a-mime-type
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["MediaType"]

_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~\w]+", re.ASCII)
_QUOTED: Final = re.compile(r'[\\"]')
_BETWEEN_COMMAS: Final = re.compile(r'(?:"(?:[^"\\]|\\.)*(?:"|\\?$)|[^,"])+')
_ESSENCE: Final = re.compile(r"[\s]*([!#$%&'*+\-.^_`|~\w]+/[!#$%&'*+\-.^_`|~\w]+)[\s]*", re.ASCII)
_PARAMETER: Final = re.compile(
    r';\s*(?:([!#$%&\'*+\-.^_`|~\w]+)=(?:"((?:[^"\\]|\\.)*)(?:"|\\?$)[^;]*|([^;]*)))?[^;]*',
    re.ASCII,
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
            value = re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else token.rstrip()
            if value or quoted is not None:
                parameters.setdefault(name.lower(), value)
        return cls(essence[1].lower(), parameters)

    @classmethod
    def of_header(cls, value: str) -> MediaType | None:
        """What a whole header says, whose lines are joined by commas: the last media type in it, None without any.

        Source: https://fetch.spec.whatwg.org/#concept-header-extract-mime-type
        """
        found: MediaType | None = None
        for part in _BETWEEN_COMMAS.findall(value):
            essence = _ESSENCE.match(part)
            if essence is None or part[essence.end() : essence.end() + 1] not in ("", ";"):
                continue
            media = cls.parse(part)
            if media is None or media.essence == "*/*":
                continue
            if found is not None and found.essence == media.essence:
                charset = found.parameters.get("charset")
                if charset is not None:
                    media.parameters.setdefault("charset", charset)
            found = media
        return found

    def __str__(self) -> str:
        """The media type as workerd writes it: without spaces, but before ``boundary``."""
        text = self.essence
        for name, value in self.parameters.items():
            if _TOKEN.fullmatch(value) is None:
                value = f'"{_QUOTED.sub(_escaped, value)}"'
            text += f"{'; ' if name == 'boundary' else ';'}{name}={value}"
        return text


def _escaped(found: re.Match[str]) -> str:
    return "\\" + found[0]
