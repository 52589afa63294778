"""What all algorithms with a public and a private key share: the formats of keys and the checks of JWKs.

Source: https://w3c.github.io/webcrypto/#SubtleCrypto-method-importKey and workerd ``api/crypto/keys.c++``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_der_private_key,
    load_der_public_key,
)

from .der import holds_sequence, trailing_bytes
from .errors import data_error, invalid_access, not_supported
from .jwk import Jwk
from .key import ImportRequest, KeyMaterial
from .usages import PRIVATE, PUBLIC, Usages, checked, in_order

__all__ = ["AsymmetricKey", "Imported", "import_asymmetric", "public_usages"]


@dataclass(slots=True)
class Imported:
    """A key as the package ``cryptography`` holds it, its kind and its usages."""

    key: Any
    kind: str
    usages: Usages


class AsymmetricKey(KeyMaterial):
    """One half of a pair."""

    __slots__ = ("_key", "kind", "name")

    def __init__(self, name: str, kind: str, key: Any) -> None:
        self.name = name
        self.kind = kind
        self._key = key

    def export(self, format: str, usages: Usages) -> bytes | Jwk:
        match format:
            case "pkcs8":
                if self.kind != "private":
                    raise invalid_access(
                        f'Asymmetric pkcs8 export requires private key (not "{self.kind}").'
                    )
                return self._key.private_bytes(  # type: ignore[no-any-return]
                    Encoding.DER, PrivateFormat.PKCS8, NoEncryption()
                )
            case "spki":
                if self.kind != "public":
                    raise invalid_access(
                        f'Asymmetric spki export requires public key (not "{self.kind}").'
                    )
                return self._key.public_bytes(  # type: ignore[no-any-return]
                    Encoding.DER, PublicFormat.SubjectPublicKeyInfo
                )
            case "jwk":
                jwk = self._to_jwk()
                jwk.ext = True
                jwk.key_ops = in_order(usages)
                return jwk
            case "raw":
                return self._to_raw()
        raise self._no_export(format)

    def _no_export(self, format: str) -> Exception:
        return invalid_access(f'Cannot export "{self.name}" in "{format}" format.')

    def _to_jwk(self) -> Jwk:
        raise NotImplementedError

    def _to_raw(self) -> bytes:
        raise self._no_export("raw")

    def _require_private(self) -> None:
        if self.kind != "private":
            raise invalid_access("Asymmetric signing requires a private key.")

    def _require_public(self) -> None:
        if self.kind != "public":
            raise invalid_access("Asymmetric verification requires a public key.")

    def milliseconds(self, parameters: Any, size: int) -> float:
        return super().milliseconds(parameters, size) + 0.2


def public_usages(name: str, allowed: Usages) -> Usages:
    """What a public key of the algorithm may do: nothing in the algorithms that agree on a secret."""
    return frozenset() if name == "ECDH" else allowed & PUBLIC


def import_asymmetric(
    request: ImportRequest, allowed: Usages, read_jwk: Callable[[Jwk], Any]
) -> Imported:
    """Import a key in one of the formats ``jwk``, ``spki`` and ``pkcs8``.

    Args: ``read_jwk`` makes a key of a JWK whose general members are good.
    """
    name = request.name
    match request.format:
        case "jwk":
            return _from_jwk(request, allowed, read_jwk)
        case "spki":
            key = _load_spki(request.octets())
            usages = checked(name, "import public", request.usages, public_usages(name, allowed))
            return Imported(key, "public", usages)
        case "pkcs8":
            key = _load_pkcs8(request.octets())
            usages = checked(name, "import private", request.usages, allowed & PRIVATE)
            return Imported(key, "private", usages)
    raise request.unknown_format()


def _whole(data: bytes, what: str) -> bytes:
    trailing = trailing_bytes(data)
    if trailing:
        raise data_error(f"Invalid {trailing} trailing bytes after {what} input.")
    return data


def _load_spki(data: bytes) -> Any:
    # The package also takes a bare RSA key, which is no SPKI.
    if not holds_sequence(data):
        raise data_error("Invalid SPKI input.")
    try:
        return load_der_public_key(_whole(data, "SPKI"))
    except (ValueError, UnsupportedAlgorithm):
        raise data_error("Invalid SPKI input.") from None


def _load_pkcs8(data: bytes) -> Any:
    try:
        # The full validation tests the primes of an RSA key, which takes tens of milliseconds; the platform
        # does not either, see :func:`.rsa_keys.require_consistent`.
        return load_der_private_key(
            _whole(data, "PKCS8"), None, unsafe_skip_rsa_key_validation=True
        )
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise data_error("Invalid PKCS8 input.") from None


def _from_jwk(request: ImportRequest, allowed: Usages, read_jwk: Callable[[Jwk], Any]) -> Imported:
    jwk, name = request.jwk(), request.name
    if jwk.d is not None:
        kind = "private"
        usages = checked(name, "import private", request.usages, allowed & PRIVATE)
        if jwk.oth is not None:
            raise not_supported("Multi-prime private keys not supported.")
    else:
        kind = "public"
        usages = checked(name, "import public", request.usages, public_usages(name, allowed))
    _check_purpose(request, jwk)
    return Imported(read_jwk(jwk), kind, usages)


def _check_purpose(request: ImportRequest, jwk: Jwk) -> None:
    """The members ``use`` and ``key_ops`` must agree with each other and with the usages asked for."""
    name = request.name
    agrees = name in ("ECDH", "X25519")
    if name == "RSA-OAEP":
        use, operations = "enc", ("encrypt", "wrapKey")
    else:
        use, operations = "enc" if agrees else "sig", ("sign", "verify")
    if request.usages and jwk.use is not None and jwk.use != use:
        # The platform says "sig" for every algorithm.
        raise data_error(
            'Asymmetric "jwk" key import with usages requires a JSON Web Key with '
            f'Public Key Use parameter "use" ("{jwk.use}") equal to "sig".'
        )
    if jwk.key_ops is None:
        return
    if len(set(jwk.key_ops)) != len(jwk.key_ops):
        raise data_error(
            'A JSON Web Key\'s Key Operations parameter ("key_ops") must not contain duplicates.'
        )
    if jwk.use is not None:
        if jwk.use != use:
            raise data_error(
                f'Asymmetric "jwk" import requires a JSON Web Key with Public Key Use "use" ("{jwk.use}") '
                f'equal to "{use}".'
            )
        _check_operations(name, sorted(jwk.key_ops), operations, agrees)
    for usage in _first_two(request.usages):
        if usage not in jwk.key_ops:
            raise data_error(
                "All specified key usages must be present in the JSON Web Key's Key Operations parameter "
                '("key_ops").'
            )


_CONSISTENT = (
    'A JSON Web Key should have either a Public Key Use parameter ("use") or a Key Operations parameter '
    '("key_ops"); otherwise, the parameters must be consistent with each other. '
)


def _check_operations(
    name: str, present: list[str], operations: tuple[str, str], agrees: bool
) -> None:
    for operation in present:
        if agrees:
            raise data_error(
                f"{_CONSISTENT}For public {name} keys, there are no valid usages,"
                'so keys with a non-empty "key_ops" parameter are not allowed.'
            )
        if operation not in operations:
            raise data_error(
                f"{_CONSISTENT}A Public Key Use for {name} would allow a Key Operations array with only "
                f'"{operations[0]}" and/or "{operations[1]}" values (not "{operation}").'
            )


def _first_two(usages: list[str]) -> list[str]:
    """The usages that the platform looks at: the first, and what follows its last repetition."""
    if not usages:
        return []
    last = len(usages) - 1 - usages[::-1].index(usages[0])
    return [usages[0], *usages[last + 1 : last + 2]]
