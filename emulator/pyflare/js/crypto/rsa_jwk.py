"""RSA keys from JSON Web Keys.

Source: https://www.rfc-editor.org/rfc/rfc7518#section-6.3 and workerd ``api/crypto/rsa.c++``.
"""

from __future__ import annotations

from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric import rsa

from .errors import data_error, not_supported
from .hashing import Hash
from .jwk import Jwk, decode

__all__ = ["private_or_public", "read_rsa_jwk", "require_consistent"]

#: The hash that each value of ``alg`` stands for.
_ALGORITHMS: Final = {
    "RS1": "SHA-1",
    "RS256": "SHA-256",
    "RS384": "SHA-384",
    "RS512": "SHA-512",
    "PS1": "SHA-1",
    "PS256": "SHA-256",
    "PS384": "SHA-384",
    "PS512": "SHA-512",
    "RSA-OAEP": "SHA-1",
    "RSA-OAEP-256": "SHA-256",
    "RSA-OAEP-384": "SHA-384",
    "RSA-OAEP-512": "SHA-512",
}
_BROKEN: Final = "Invalid RSA key in JSON Web Key; "


def read_rsa_jwk(jwk: Jwk, requested: str, hash: Hash) -> Any:
    """The key of a JWK.

    Args: ``requested`` the name of the algorithm as it was asked for.
    Raises: DataError, NotSupportedError.
    """
    require_rsa(jwk)
    if jwk.alg is not None:
        if requested not in ("RSASSA-PKCS1-v1_5", "RSA-PSS", "RSA-OAEP"):
            # The platform takes names of algorithms in any case, but not beside this member.
            raise not_supported(f'Unrecognized RSA variant "{requested}".')
        named = _ALGORITHMS.get(jwk.alg)
        if named is None:
            raise unknown_algorithm(jwk.alg)
        if named != hash.name:
            # The platform names the JWK's algorithm twice.
            raise data_error(
                f'JSON Web Key Algorithm parameter "alg" ("{jwk.alg}") does not match requested hash '
                f'algorithm "{jwk.alg}".'
            )
    return private_or_public(jwk)


def require_rsa(jwk: Jwk) -> None:
    if jwk.kty != "RSA":
        raise data_error(
            'RSASSA-PKCS1-v1_5 "jwk" key import requires a JSON Web Key with Key Type parameter '
            f'"kty" ("{jwk.kty}") equal to "RSA".'
        )


def unknown_algorithm(algorithm: str) -> Exception:
    return not_supported(
        f'Unrecognized or unimplemented algorithm "{algorithm}" listed in JSON Web Key Algorithm parameter.'
    )


def _number(value: str | None, problem: str) -> int:
    return int.from_bytes(decode(value, data_error, _BROKEN + problem), "big")


def private_or_public(jwk: Jwk) -> Any:
    """The key that the numbers make. Raises: DataError for numbers that are missing or make none."""
    n = _number(jwk.n, 'missing or invalid Modulus parameter ("n").')
    e = _number(jwk.e, 'missing or invalid Exponent parameter ("e").')
    public = rsa.RSAPublicNumbers(e, n)
    try:
        if jwk.d is None:
            return public.public_key()
        return _private_numbers(jwk, public).private_key(unsafe_skip_rsa_key_validation=True)
    except ValueError:
        # The platform notices only when the key is used.
        raise data_error(f"{_BROKEN}the numbers do not belong together.") from None


def _private_numbers(jwk: Jwk, public: rsa.RSAPublicNumbers) -> rsa.RSAPrivateNumbers:
    d = _number(jwk.d, 'missing or invalid Private Exponent parameter ("d").')
    parts = (jwk.p, jwk.q, jwk.dp, jwk.dq, jwk.qi)
    if all(part is None for part in parts):
        p, q = rsa.rsa_recover_prime_factors(public.n, public.e, d)
        return rsa.RSAPrivateNumbers(
            p, q, d, rsa.rsa_crt_dmp1(d, p), rsa.rsa_crt_dmq1(d, q), rsa.rsa_crt_iqmp(p, q), public
        )
    if any(part is None for part in parts):
        raise data_error(
            "Invalid RSA private key in JSON Web Key; if one Prime Factor or CRT Exponent/Coefficient "
            'parameter is present, then they must all be present ("p", "q", "dp", "dq", "qi").'
        )
    return rsa.RSAPrivateNumbers(
        _number(jwk.p, 'invalid First Prime Factor parameter ("p").'),
        _number(jwk.q, 'invalid Second Prime Factor parameter ("q").'),
        d,
        _number(jwk.dp, 'invalid First Factor CRT Exponent parameter ("dp").'),
        _number(jwk.dq, 'invalid Second Factor CRT Exponent parameter ("dq").'),
        _number(jwk.qi, 'invalid First CRT Coefficient parameter ("qi").'),
        public,
    )


def require_consistent(numbers: rsa.RSAPrivateNumbers) -> None:
    """Check that the numbers of a private key belong together, without testing the primes.

    Raises: DataError.
    """
    p, q, d, e = numbers.p, numbers.q, numbers.d, numbers.public_numbers.e
    good = (
        p > 1
        and q > 1
        and p * q == numbers.public_numbers.n
        and d * e % (p - 1) == 1
        and d * e % (q - 1) == 1
        and numbers.dmp1 == d % (p - 1)
        and numbers.dmq1 == d % (q - 1)
        and numbers.iqmp * q % p == 1
    )
    if not good:
        raise data_error("Invalid PKCS8 input.")
