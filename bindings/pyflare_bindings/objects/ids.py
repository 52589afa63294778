"""Names and numbers of Durable Objects.

An id is 32 bytes. The second half is a code over the first, keyed by the namespace, so that an id
of another namespace is noticed.
Source: `src/workerd/server/actor-id-impl.c++` of workerd.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from typing import Final

from ..storage.sql_text import well_formed

INVALID_ID: Final = "Invalid Durable Object ID: must be 64 hex digits"
ID_OF_ANOTHER_NAMESPACE: Final = "Durable Object ID is not valid for this namespace."

_BASE_BYTES = 16
_HEX = re.compile(r"[0-9a-fA-F]{64}")


class ObjectIdError(TypeError):
    """A text that is no id of the namespace; `str()` is the platform's text."""


class ObjectId:
    """One id: `raw` has 32 bytes, `hex` is their text, `name` what the id was made from, if anything.

    Ids are equal when their bytes are; the name plays no part.
    """

    __slots__ = ("hex", "name", "raw")

    def __init__(self, raw: bytes, name: str | None = None) -> None:
        self.raw = raw
        self.name = name
        self.hex = raw.hex()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectId) and other.raw == self.raw

    def __hash__(self) -> int:
        return hash(self.raw)

    def __repr__(self) -> str:
        return f"ObjectId({self.hex}, name={self.name!r})"


class ObjectIds:
    """Makes and checks the ids of one namespace.

    In: `unique_key`, the name of the namespace: worker and class, joined by a hyphen.
    """

    __slots__ = ("_keyed", "unique_key")

    def __init__(self, unique_key: str) -> None:
        self.unique_key = unique_key
        key = hashlib.sha256(_utf8(unique_key)).digest()
        self._keyed = hmac.new(key, digestmod="sha256")

    def from_name(self, name: str) -> ObjectId:
        """The id of a name: always the same one."""
        return ObjectId(self._complete(self._code(_utf8(name))), name)

    def unique(self) -> ObjectId:
        """An id that nobody else has."""
        return ObjectId(self._complete(os.urandom(_BASE_BYTES)))

    def from_string(self, text: str) -> ObjectId:
        """The id that `ObjectId.hex` was the text of; upper case is accepted.

        Raises ObjectIdError for what is not an id, or one of another namespace.
        """
        if _HEX.fullmatch(text) is None:
            raise ObjectIdError(INVALID_ID)
        raw = bytes.fromhex(text)
        if not hmac.compare_digest(self._complete(raw[:_BASE_BYTES]), raw):
            raise ObjectIdError(ID_OF_ANOTHER_NAMESPACE)
        return ObjectId(raw)

    def _complete(self, base: bytes) -> bytes:
        return base + self._code(base)

    def _code(self, message: bytes) -> bytes:
        keyed = self._keyed.copy()
        keyed.update(message)
        return keyed.digest()[:_BASE_BYTES]


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return well_formed(text).encode()
