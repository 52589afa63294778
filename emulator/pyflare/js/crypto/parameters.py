"""The algorithm arguments of ``crypto.subtle``: a name, or an object with a name and further members.

Source: https://w3c.github.io/webcrypto/#algorithm-dictionary; members and conversions of workerd
``api/crypto/crypto.h``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ..array_buffer import as_bytes
from ..error import JsException, TypeError_
from ..number import to_number
from ..value import get_property
from ..webidl import text
from .errors import missing
from .hashing import Hash, find_hash

if TYPE_CHECKING:
    from .key import CryptoKey

__all__ = [
    "DERIVE_KEY",
    "ENCRYPT",
    "GENERATE_KEY",
    "HASH",
    "IMPORT_KEY",
    "SIGN",
    "Dictionary",
    "Parameters",
    "integer",
    "read",
]


@dataclass(slots=True)
class Parameters:
    """What an algorithm argument says. A member that is absent is None; lengths in bits, ``saltLength`` in bytes."""

    name: str
    hash: str | None = None
    length: int | None = None
    iv: bytes | None = None
    additionalData: bytes | None = None
    tagLength: int | None = None
    counter: bytes | None = None
    label: bytes | None = None
    saltLength: int | None = None
    salt: bytes | None = None
    info: bytes | None = None
    iterations: int | None = None
    public: CryptoKey | None = None
    namedCurve: str | None = None
    modulusLength: int | None = None
    publicExponent: bytes | None = None

    def required_hash(self, holder: str = "algorithm") -> Hash:
        """The hash member. Raises: TypeError when there is none, NotSupportedError for an unknown one."""
        if self.hash is None:
            raise missing("hash", holder)
        return find_hash(self.hash)


#: Converts a member that is there; the rest of the arguments name it for the error text.
Convert = Callable[[Any, str, str], Any]


@dataclass(frozen=True, slots=True)
class Dictionary:
    """The members that one kind of argument may have; ``name`` as error texts call it."""

    name: str
    members: tuple[tuple[str, Convert], ...]


def _wrong_member(member: str, holder: str, expected: str) -> JsException:
    return TypeError_(
        f"Incorrect type for the '{member}' field on '{holder}': the provided value is not of type '{expected}'."
    )


def _bytes(value: Any, member: str, holder: str) -> bytes:
    data = as_bytes(value)
    if data is None:
        raise _wrong_member(member, holder, "BufferSource")
    return bytes(data)


def integer(value: Any, *_: Any) -> int:
    """A whole number of 32 bits, cut towards zero; what is no finite number is 0. Raises: TypeError out of range."""
    if type(value) is int:
        number: int | float = value
    else:
        number = to_number(value)
        if number != number or number in (float("inf"), float("-inf")):
            return 0
    if not -(2**31) <= number <= 2**31 - 1:
        raise TypeError_(
            f"Value out of range. Must be between {-(2**31)} and {2**31 - 1} (inclusive)."
        )
    return int(number)


def _text(value: Any, *_: Any) -> str:
    return text(value)


def _hash(value: Any, *_: Any) -> str:
    return _name(value)


def _public_key(value: Any, member: str, holder: str) -> CryptoKey:
    from .key import CryptoKey

    if not isinstance(value, CryptoKey):
        raise _wrong_member(member, holder, "CryptoKey")
    return value


HASH: Final = Dictionary("HashAlgorithm", ())
ENCRYPT: Final = Dictionary(
    "EncryptAlgorithm",
    (
        ("iv", _bytes),
        ("additionalData", _bytes),
        ("tagLength", integer),
        ("counter", _bytes),
        ("length", integer),
        ("label", _bytes),
    ),
)
SIGN: Final = Dictionary("SignAlgorithm", (("hash", _hash), ("saltLength", integer)))
GENERATE_KEY: Final = Dictionary(
    "GenerateKeyAlgorithm",
    (
        ("hash", _hash),
        ("modulusLength", integer),
        ("publicExponent", _bytes),
        ("length", integer),
        ("namedCurve", _text),
    ),
)
IMPORT_KEY: Final = Dictionary(
    "ImportKeyAlgorithm", (("hash", _hash), ("length", integer), ("namedCurve", _text))
)
DERIVE_KEY: Final = Dictionary(
    "DeriveKeyAlgorithm",
    (
        ("salt", _bytes),
        ("iterations", integer),
        ("hash", _hash),
        ("public", _public_key),
        ("info", _bytes),
    ),
)


def _is_object(value: Any) -> bool:
    return not (value is None or isinstance(value, str | int | float)) and value is not False


def _name(value: Any) -> str:
    return text(get_property(value, "name")) if _is_object(value) else text(value)


def read(value: Any, dictionary: Dictionary) -> Parameters:
    """Read an algorithm argument: a string, a JavaScript object, a dict.

    Raises: TypeError for a member of the wrong type.
    """
    if type(value) is str:
        return Parameters(value)
    made = Parameters(_name(value))
    if _is_object(value):
        for member, convert in dictionary.members:
            found = get_property(value, member)
            if found is not None:
                setattr(made, member, convert(found, member, dictionary.name))
    return made
