"""``CryptoKey``, and what stands behind one.

Source: https://w3c.github.io/webcrypto/#cryptokey-interface and workerd ``api/crypto/crypto.h``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..array import JsArray
from ..value import JsInstance, JsObject
from .errors import invalid_access, not_supported
from .hashing import milliseconds
from .jwk import Jwk
from .parameters import Parameters
from .usages import Usages, in_order

__all__ = ["CryptoKey", "ImportRequest", "KeyMaterial", "key_pair"]

Octets = bytes | memoryview


class KeyMaterial:
    """What one algorithm does with one key. An operation that it has not raises NotSupportedError.

    ``name`` is the algorithm's canonical name, ``kind`` one of ``secret``, ``public``, ``private``.
    """

    __slots__ = ()

    name: str
    kind: str = "secret"

    def algorithm(self) -> dict[str, Any]:
        """The members of ``key.algorithm``."""
        return {"name": self.name}

    def encrypt(self, parameters: Parameters, data: Octets) -> bytes:
        raise self._lacks("encrypt")

    def decrypt(self, parameters: Parameters, data: Octets) -> bytes:
        raise self._lacks("decrypt")

    def sign(self, parameters: Parameters, data: Octets) -> bytes:
        raise self._lacks("sign")

    def verify(self, parameters: Parameters, signature: Octets, data: Octets) -> bool:
        raise self._lacks("verify")

    def derive_bits(self, parameters: Parameters, length: int | None) -> bytes:
        """Key material of ``length`` bits, all there is when None."""
        raise not_supported(
            f'The deriveKey and deriveBits operations are not implemented for "{self.name}".'
        )

    def wrap(self, parameters: Parameters, data: Octets) -> bytes:
        return self.encrypt(parameters, data)

    def unwrap(self, parameters: Parameters, data: Octets) -> bytes:
        return self.decrypt(parameters, data)

    def export(self, format: str, usages: Usages) -> bytes | Jwk:
        raise not_supported(f'Unrecognized or unsupported export of "{self.name}" requested.')

    def milliseconds(self, parameters: Parameters, size: int) -> float:
        """About how long an operation on ``size`` bytes takes, or a derivation of ``size`` bits."""
        return milliseconds(size)

    def _lacks(self, operation: str) -> Exception:
        return not_supported(f'The {operation} operation is not implemented for "{self.name}".')


class CryptoKey(JsInstance, js_name="CryptoKey"):
    """A key as workers hold it. Only ``crypto.subtle`` makes one."""

    def __init__(self, material: KeyMaterial, extractable: bool, usages: Usages) -> None:
        self._material = material
        self._extractable = extractable
        self._usages = usages

    @property
    def type(self) -> str:
        return self._material.kind

    @property
    def extractable(self) -> bool:
        return self._extractable

    @property
    def algorithm(self) -> JsObject:
        return JsObject.adopt(self._material.algorithm())

    @property
    def usages(self) -> JsArray:
        return JsArray.adopt(in_order(self._usages))

    def _own_items(self) -> Iterator[tuple[str, Any]]:
        for name in ("type", "extractable", "algorithm", "usages"):
            yield name, getattr(self, name)

    def require(self, requested: str, usage: str) -> None:
        """Raises: InvalidAccessError unless the key is of the requested algorithm and has the usage."""
        name = self._material.name
        if requested != name and requested.lower() != name.lower():
            raise invalid_access(
                f'Requested algorithm "{requested}" does not match this CryptoKey\'s algorithm "{name}".'
            )
        if usage not in self._usages:
            raise invalid_access(
                f'Requested key usage "{usage}" does not match any usage listed in this CryptoKey.'
            )

    def export(self, format: str) -> bytes | Jwk:
        """Raises: InvalidAccessError for a key that must not leave, and what the format lacks."""
        if not self._extractable:
            raise invalid_access(f"Attempt to export non-extractable {self._material.name} key.")
        return self._material.export(format, self._usages)


@dataclass(slots=True)
class ImportRequest:
    """What ``importKey`` was asked for; ``name`` canonical, ``data`` of the kind that ``format`` says."""

    name: str
    format: str
    data: bytes | Jwk
    parameters: Parameters
    extractable: bool
    usages: list[str]

    def octets(self) -> bytes:
        """The data of the formats that carry bytes."""
        assert isinstance(self.data, bytes)
        return self.data

    def jwk(self) -> Jwk:
        """The data of the format ``jwk``."""
        assert isinstance(self.data, Jwk)
        return self.data

    def unknown_format(self) -> Exception:
        return not_supported(f'Unrecognized key import format "{self.format}".')


def key_pair(
    public: KeyMaterial,
    private: KeyMaterial,
    extractable: bool,
    public_usages: Usages,
    private_usages: Usages,
) -> JsObject:
    """A pair as ``generateKey`` gives it; its public half can always be exported."""
    return JsObject.adopt(
        {
            "publicKey": CryptoKey._make(public, True, public_usages),
            "privateKey": CryptoKey._make(private, extractable, private_usages),
        }
    )
