"""``FormData``.

Source: https://xhr.spec.whatwg.org/#interface-formdata and workerd ``api/form-data.c++``.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import Any

from .array import JsArray
from .blob import Blob, File
from .callbacks import supervise
from .error import TypeError_
from .iterator import JsIterator, iterate
from .mime import MediaType
from .multipart import Part, encode_multipart, parse_multipart
from .urlencoded import parse_pairs
from .value import JsInstance, is_nullish
from .webidl import encode_text, null, scalar_text, text

__all__ = ["FormData"]


def _entry_value(name: str, value: Any, filename: Any) -> str | File:
    if not isinstance(value, Blob):
        return scalar_text(value)
    if is_nullish(filename):
        if isinstance(value, File):
            return value
        return File.named(value._data, name, value.type)
    return File.named(value._data, text(filename), value.type)


class FormData(JsInstance, js_name="FormData"):
    """Names with values, in order: strings and files. Iterates as pairs.

    Subscripts are as those of ``Headers``.
    """

    _entries: list[tuple[str, str | File]]

    @classmethod
    def _construct(cls, *_: Any) -> Any:
        return cls.of([])

    @classmethod
    def of(cls, entries: list[tuple[str, str | File]]) -> FormData:
        """A form with these entries."""
        form: FormData = object.__new__(cls)
        form._entries = entries
        return form

    @classmethod
    def parse(cls, body: bytes | memoryview, content_type: str) -> FormData:
        """The form in a body. Raises: TypeError for another content type or a broken body."""
        media = MediaType.parse(content_type)
        match media and media.essence:
            case "multipart/form-data":
                boundary = media.parameters.get("boundary") if media else None
                if boundary is None:
                    raise TypeError_(
                        "No boundary string in Content-Type header. The multipart/form-data MIME type requires a "
                        "boundary parameter, e.g. 'Content-Type: multipart/form-data; boundary=\"abcd\"'. See RFC "
                        "7578, section 4."
                    )
                return cls.of([_entry(part) for part in parse_multipart(body, boundary)])
            case "application/x-www-form-urlencoded":
                charset = media.parameters.get("charset", "utf-8") if media else ""
                if charset.lower() not in ("utf-8", "utf8", "unicode-1-1-utf-8"):
                    raise TypeError_("Non-utf-8 application/x-www-form-urlencoded body.")
                return cls.of([*parse_pairs(str(body, "utf-8", "replace"))])
            case _:
                raise TypeError_(
                    "Unrecognized Content-Type header value. FormData can only parse the following MIME types: "
                    "multipart/form-data, application/x-www-form-urlencoded"
                )

    def _encode(self) -> tuple[bytes, str]:
        """The body for this form and its content type."""
        boundary = secrets.token_hex(16)
        return (
            encode_multipart(map(_part, self._entries), boundary),
            f"multipart/form-data; boundary={boundary}",
        )

    def append(self, name: Any, value: Any, filename: Any = None) -> None:
        """Add an entry. Values that are no blobs become text; ``filename`` renames a blob."""
        key = scalar_text(name)
        self._entries.append((key, _entry_value(key, value, filename)))

    def set(self, name: Any, value: Any, filename: Any = None) -> None:
        """Replace the first entry of that name and drop the others."""
        key = scalar_text(name)
        entry = (key, _entry_value(key, value, filename))
        places = [index for index, (held, _) in enumerate(self._entries) if held == key]
        if not places:
            self._entries.append(entry)
            return
        self._entries[places[0]] = entry
        for index in reversed(places[1:]):
            del self._entries[index]

    def delete(self, name: Any) -> None:
        key = scalar_text(name)
        self._entries[:] = [entry for entry in self._entries if entry[0] != key]

    def get(self, name: Any) -> Any:
        """The first value of that name, null when there is none."""
        key = scalar_text(name)
        for held, value in self._entries:
            if held == key:
                return value
        return null()

    def getAll(self, name: Any) -> Any:
        key = scalar_text(name)
        return JsArray.adopt([value for held, value in self._entries if held == key])

    def has(self, name: Any) -> bool:
        key = scalar_text(name)
        return any(held == key for held, _ in self._entries)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.entries())

    def entries(self) -> JsIterator:
        return iterate(JsArray.adopt(list(entry)) for entry in self._live())

    def keys(self) -> JsIterator:
        return iterate(name for name, _ in self._live())

    def values(self) -> JsIterator:
        return iterate(value for _, value in self._live())

    def _live(self) -> Iterator[tuple[str, str | File]]:
        index = 0
        while index < len(self._entries):
            yield self._entries[index]
            index += 1

    def forEach(self, callback: Callable[..., Any], this: Any = None) -> None:
        for name, value in self._live():
            supervise(callback(value, name, self))

    def __contains__(self, name: Any) -> bool:
        return self.has(name)

    def __getitem__(self, name: Any) -> Any:
        return self.get(name)

    def __setitem__(self, name: Any, value: Any) -> None:
        self.set(name, value)

    def __delitem__(self, name: Any) -> None:
        self.delete(name)
        # Pyodide takes what `delete` gives for whether the key was there, and here that is undefined.
        raise KeyError(name)


def _entry(part: Part) -> tuple[str, str | File]:
    if part.filename is None:
        return part.name, str(part.data, "utf-8", "replace")
    return part.name, File.named(part.data, part.filename, part.content_type)


def _part(entry: tuple[str, str | File]) -> Part:
    name, value = entry
    if isinstance(value, str):
        return Part(name, encode_text(value))
    return Part(name, value._data, value.name, value.type)
