"""The NIST curves: keys from points and from JSON Web Keys.

Source: https://www.rfc-editor.org/rfc/rfc7518#section-6.2 and workerd ``api/crypto/ec.c++``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric import ec

from .errors import data_error, not_supported, operation_error
from .jwk import Jwk, decode

__all__ = ["Curve", "find_curve", "key_from_jwk", "key_from_raw"]


@dataclass(frozen=True, slots=True)
class Curve:
    """``size`` is that of a coordinate in bytes; ``modulus`` of the field, ``order`` of the group."""

    name: str
    library: ec.EllipticCurve
    size: int
    jwk_algorithm: str
    modulus: int
    order: int


# https://csrc.nist.gov/pubs/sp/800/186/final, section 3.2.1
_CURVES: Final = {
    curve.name: curve
    for curve in (
        Curve(
            "P-256",
            ec.SECP256R1(),
            32,
            "ES256",
            2**256 - 2**224 + 2**192 + 2**96 - 1,
            0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551,
        ),
        Curve(
            "P-384",
            ec.SECP384R1(),
            48,
            "ES384",
            2**384 - 2**128 - 2**96 + 2**32 - 1,
            int(
                "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFC7634D81F4372DDF"
                "581A0DB248B0A77AECEC196ACCC52973",
                16,
            ),
        ),
        Curve(
            "P-521",
            ec.SECP521R1(),
            66,
            "ES512",
            2**521 - 1,
            int(
                "01FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFA"
                "51868783BF2F966B7FCC0148F709A5D03BB5C9B8899C47AEBB6FB71E91386409",
                16,
            ),
        ),
    )
}


def find_curve(name: str) -> Curve:
    """A curve by name, in any case. Raises: NotSupportedError."""
    curve = _CURVES.get(name.upper())
    if curve is None:
        raise not_supported(f'Unrecognized or unimplemented EC curve "{name}" requested.')
    return curve


def key_from_raw(curve: Curve, data: bytes) -> Any:
    """The public key at a point in the form of X9.62, compressed or not. Raises: DataError."""
    try:
        if data[:1] in (b"\x02", b"\x03", b"\x04"):
            return ec.EllipticCurvePublicKey.from_encoded_point(curve.library, data)
    except ValueError:
        pass
    raise data_error(f"Failed to import raw EC key data{_point_problem(curve, data)}")


def _point_problem(curve: Curve, data: bytes) -> str:
    """What is wrong with a point, as the platform's library says it."""
    if not data:
        return "."
    compressed = data[0] in (2, 3)
    if (data[0] != 4 and not compressed) or len(data) != 1 + curve.size * (2 - compressed):
        return ": Invalid point encoding."
    if compressed:
        return ": Invalid compressed point."
    x, y = data[1 : 1 + curve.size], data[1 + curve.size :]
    return _coordinates_problem(curve, int.from_bytes(x, "big"), int.from_bytes(y, "big"))


def _coordinates_problem(curve: Curve, x: int, y: int) -> str:
    return ": Point is not on curve." if max(x, y) < curve.modulus else "."


def key_from_jwk(curve: Curve, jwk: Jwk, algorithm: str) -> Any:
    """The key of a JWK whose general members are good. Raises: DataError, NotSupportedError, OperationError."""
    if jwk.kty != "EC":
        raise data_error(
            'Elliptic curve "jwk" key import requires a JSON Web Key with Key Type parameter '
            f'"kty" ("{jwk.kty}") equal to "EC".'
        )
    if algorithm == "ECDSA" and jwk.alg is not None:
        if all(jwk.alg != known.jwk_algorithm for known in _CURVES.values()):
            raise not_supported(
                f'Unrecognized or unimplemented algorithm "{jwk.alg}" listed in JSON Web Key Algorithm '
                "parameter."
            )
        if jwk.alg != curve.jwk_algorithm:
            raise data_error(
                f'JSON Web Key Algorithm parameter "alg" ("{jwk.alg}") does not match requested curve.'
            )
    x = decode(jwk.x, data_error, 'Invalid EC key in JSON Web Key; missing "x".')
    y = decode(jwk.y, data_error, 'Invalid EC key in JSON Web Key; missing "y".')
    point = ec.EllipticCurvePublicNumbers(
        int.from_bytes(x, "big"), int.from_bytes(y, "big"), curve.library
    )
    try:
        public = point.public_key()
    except ValueError:
        raise operation_error(
            'Invalid EC key; public key coordinates "x" and "y" are invalid'
            + _coordinates_problem(curve, point.x, point.y)
        ) from None
    return public if jwk.d is None else _private_key(curve, jwk, point)


def _private_key(curve: Curve, jwk: Jwk, point: ec.EllipticCurvePublicNumbers) -> Any:
    secret = decode(
        jwk.d,
        data_error,
        'Invalid EC key in JSON Web Key; missing or invalid private key component ("d").',
    )
    number = int.from_bytes(secret, "big")
    if not 0 < number < curve.order:
        raise operation_error('Invalid EC key; private key component "d" is invalid.')
    try:
        return ec.EllipticCurvePrivateNumbers(number, point).private_key()
    except ValueError:
        raise data_error("Invalid EC key in JSON Web Key.") from None
