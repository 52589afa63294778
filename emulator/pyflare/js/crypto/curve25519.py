"""Ed25519 signatures, also under the old name NODE-ED25519, and X25519 key agreement.

Source: https://w3c.github.io/webcrypto/#ed25519, #x25519 and workerd ``api/crypto/ec.c++``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from ..value import JsObject
from .agreement import first_bits, peer_of
from .asymmetric import AsymmetricKey, Imported, import_asymmetric
from .errors import data_error, invalid_access, missing, not_supported, operation_error
from .jwk import Jwk, decode, encode
from .key import CryptoKey, ImportRequest, Octets, key_pair
from .parameters import Parameters
from .usages import DERIVATION, PRIVATE, PUBLIC, Usages, checked

__all__ = ["generate", "import_key"]

_SIGNING: Final[Usages] = frozenset({"sign", "verify"})
_OLD_NAME: Final = "NODE-ED25519"


class _Curve25519Key(AsymmetricKey):
    __slots__ = ()

    def algorithm(self) -> dict[str, Any]:
        if self.name == _OLD_NAME:
            return {"name": self.name, "namedCurve": self.name}
        return {"name": self.name}

    def _raw_public(self) -> bytes:
        public = self._key if self.kind == "public" else self._key.public_key()
        return public.public_bytes_raw()  # type: ignore[no-any-return]

    def _to_raw(self) -> bytes:
        if self.kind != "public":
            raise invalid_access(f"Raw export of {self.name} keys is only allowed for public keys.")
        return self._raw_public()

    def _to_jwk(self) -> Jwk:
        jwk = Jwk("OKP", crv=_curve(self.name), x=encode(self._raw_public()))
        if self.name == "Ed25519":
            jwk.alg = "EdDSA"
        if self.kind == "private":
            jwk.d = encode(self._key.private_bytes_raw())
        return jwk


class _EdwardsKey(_Curve25519Key):
    __slots__ = ()

    def sign(self, parameters: Parameters, data: Octets) -> bytes:
        self._require_private()
        return self._key.sign(data)  # type: ignore[no-any-return]

    def verify(self, parameters: Parameters, signature: Octets, data: Octets) -> bool:
        self._require_public()
        if len(signature) != 64:
            raise operation_error(f"Invalid {self.name} signature length {len(signature)}")
        try:
            self._key.verify(bytes(signature), data)
        except InvalidSignature:
            return False
        return True

    def derive_bits(self, parameters: Parameters, length: int | None) -> bytes:
        raise not_supported(f'The deriveBits operation is not implemented for "{self.name}".')


class _MontgomeryKey(_Curve25519Key):
    __slots__ = ()

    def derive_bits(self, parameters: Parameters, length: int | None) -> bytes:
        peer = peer_of(self, parameters)
        first_bits(bytes(32), length)
        try:
            secret = self._key.exchange(peer._key)
        except ValueError:
            # The other side's point has a small order: the secret would be zero.
            raise operation_error(
                "Failed to derive EDDH key: public key routines INVALID_PEER_KEY."
            ) from None
        return first_bits(secret, length)


def _curve(name: str) -> str:
    return "X25519" if name == "X25519" else "Ed25519"


def _allowed(name: str) -> Usages:
    return DERIVATION if name == "X25519" else _SIGNING


def _kind(name: str) -> type[_Curve25519Key]:
    return _MontgomeryKey if name == "X25519" else _EdwardsKey


def _check_old_name(name: str, parameters: Parameters) -> None:
    if name != _OLD_NAME:
        return
    if parameters.namedCurve is None:
        raise missing("namedCurve")
    if parameters.namedCurve != _OLD_NAME:
        raise not_supported(f'EDDSA curve "{parameters.namedCurve}" isn\'t supported.')


def generate(
    name: str, parameters: Parameters, extractable: bool, usages: list[str]
) -> Callable[[], JsObject]:
    allowed = checked(name, "generate", usages, _allowed(name))
    _check_old_name(name, parameters)
    kind = _kind(name)

    def make() -> JsObject:
        key: Any = (X25519PrivateKey if name == "X25519" else Ed25519PrivateKey).generate()
        return key_pair(
            kind(name, "public", key.public_key()),
            kind(name, "private", key),
            extractable,
            allowed & PUBLIC,
            allowed & PRIVATE,
        )

    return make


def import_key(request: ImportRequest) -> CryptoKey:
    name = request.name
    _check_old_name(name, request.parameters)
    if request.format == "raw":
        usages = checked(name, "import public", request.usages, _allowed(name) & PUBLIC)
        imported = Imported(_public_from_raw(name, request.octets()), "public", usages)
    else:
        imported = import_asymmetric(request, _allowed(name), lambda jwk: _from_jwk(name, jwk))
    wanted = (
        (X25519PublicKey, X25519PrivateKey)
        if name == "X25519"
        else (Ed25519PublicKey, Ed25519PrivateKey)
    )
    if not isinstance(imported.key, wanted):
        # The platform notices only when the key is used.
        raise data_error(f"Input was not an {_curve(name)} key.")
    material = _kind(name)(name, imported.kind, imported.key)
    made: CryptoKey = CryptoKey._make(material, request.extractable, imported.usages)
    return made


def _public_from_raw(name: str, data: bytes) -> Any:
    if len(data) != 32:
        raise data_error(
            f"{_curve(name)} raw keys must be exactly 32-bytes (provided {len(data)})."
        )
    return _public_class(name).from_public_bytes(data)


def _public_class(name: str) -> Any:
    return X25519PublicKey if name == "X25519" else Ed25519PublicKey


def _from_jwk(name: str, jwk: Jwk) -> Any:
    curve = _curve(name)
    if jwk.kty != "OKP":
        raise data_error(
            f'{curve} "jwk" key imports requires a JSON Web Key with Key Type parameter '
            f'"kty" ("{jwk.kty}") equal to "OKP".'
        )
    if jwk.crv is None:
        raise data_error(f'Missing field "crv" for {curve} key.')
    if jwk.crv != curve:
        raise not_supported(f'Only {curve} is supported but "{jwk.crv}" was requested.')
    if curve == "Ed25519" and jwk.alg is not None and jwk.alg != "EdDSA":
        raise data_error(
            f'JSON Web Key Algorithm parameter "alg" ("{jwk.alg}") does not match requested Ed25519 curve.'
        )
    public = decode(
        jwk.x,
        data_error,
        f'Invalid {curve} key in JSON WebKey; missing or invalid public key component ("x").',
    )
    if len(public) != 32:
        raise data_error(f"Invalid length {len(public)} for public key")
    if jwk.d is None:
        return _public_class(name).from_public_bytes(public)
    private = decode(
        jwk.d,
        data_error,
        f'Invalid {curve} key in JSON Web Key; missing or invalid private key component ("d").',
    )
    if len(private) != 32:
        raise data_error(f"Invalid length {len(private)} for private key")
    kind: Any = X25519PrivateKey if name == "X25519" else Ed25519PrivateKey
    return kind.from_private_bytes(private)
