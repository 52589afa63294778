"""Key data that ``importKey`` refuses, in the platform's words."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from tests.emulator.web.crypto_samples import (
    PRIVATE_RSA_JWK,
    RSA_JWK,
    load,
    refusal,
    url64,
)

P256_X, P256_Y = bytes([7]) * 32, bytes([9]) * 32
EC = {"name": "ECDSA", "namedCurve": "P-256"}
EC_JWK = {"kty": "EC", "crv": "P-256", "x": url64(P256_X), "y": url64(P256_Y)}
RSA = {"name": "RSA-PSS", "hash": "SHA-256"}
OKP_JWK = {"kty": "OKP", "crv": "Ed25519", "x": url64(bytes(32))}
BAD_POINT = 'OperationError: Invalid EC key; public key coordinates "x" and "y" are invalid: Point is not on curve.'


def spki(key: Any) -> bytes:
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)  # type: ignore[no-any-return]


P384 = ec.generate_private_key(ec.SECP384R1())
P384_SPKI = spki(P384.public_key())
P384_PKCS8 = P384.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())


@pytest.mark.parametrize(
    ("attempt", "expected"),
    [
        (
            load("raw", bytes(15), "AES-CBC", "encrypt"),
            "Imported AES key length must be 128, 192, or 256 bits but provided 120.",
        ),
        (
            load("jwk", {"kty": "RSA"}, "AES-CBC", "encrypt"),
            'Symmetric "jwk" key import requires a JSON Web Key with Key Type parameter "kty" equal to "oct" '
            '(encountered "RSA").',
        ),
        (
            load("jwk", {}, "AES-CBC", "encrypt"),
            'Symmetric "jwk" key import requires a JSON Web Key with Key Type parameter "kty" equal to "oct" '
            '(encountered "undefined").',
        ),
        (
            load("jwk", {"kty": "oct", "k": "!"}, "AES-CBC", "encrypt"),
            'Symmetric "jwk" key import requires a base64Url encoding of the key.',
        ),
        (
            load("jwk", {"kty": "oct", "k": "A"}, "AES-CBC", "encrypt"),
            'Symmetric "jwk" key import requires a base64Url encoding of the key.',
        ),
        (
            load("jwk", {"kty": "oct", "k": "AAAA"}, "AES-CBC", "encrypt"),
            "Imported AES key length must be 128, 192, or 256 bits but provided 24.",
        ),
        (
            load(
                "jwk",
                {"kty": "oct", "k": url64(bytes(16)), "alg": "A256CBC"},
                "AES-CBC",
                "encrypt",
            ),
            'Symmetric "jwk" key contains invalid "alg" value "A256CBC", expected "A128CBC".',
        ),
        (
            load("jwk", {"kty": "oct", "k": url64(bytes(16)), "use": "sig"}, "AES-CBC", "encrypt"),
            'Symmetric "jwk" key must have a "use" of "enc", not "sig".',
        ),
        (
            load(
                "jwk",
                {"kty": "oct", "k": url64(bytes(16)), "key_ops": ["encrypt", "encrypt"]},
                "AES-CBC",
                "encrypt",
            ),
            'Symmetric "jwk" key contains duplicate value "encrypt", in "key_op".',
        ),
        (
            load(
                "jwk",
                {"kty": "oct", "k": url64(bytes(16)), "key_ops": ["encrypt"]},
                "AES-CBC",
                "decrypt",
            ),
            '"jwk" key missing usage "decrypt", in "key_ops".',
        ),
        (
            load("jwk", {"kty": "oct", "k": url64(bytes(16)), "ext": False}, "AES-CBC", "encrypt"),
            'JWK ext field for "AES-CBC" is set to false but extractable is true',
        ),
        (
            load("raw", b"", {"name": "HMAC", "hash": "SHA-1"}, "sign"),
            "Imported HMAC key length (0) must be a non-zero value up to 7 bits less than, and no greater than, "
            "the bit length of the raw key data (0).",
        ),
        (
            load("raw", b"12", {"name": "HMAC", "hash": "SHA-1", "length": 8}, "sign"),
            "Imported HMAC key length (8) must be a non-zero value up to 7 bits less than, and no greater than, "
            "the bit length of the raw key data (16).",
        ),
        (
            load("jwk", {"kty": "EC"}, {"name": "HMAC", "hash": "SHA-1"}, "sign"),
            'HMAC "jwk" key import requires a JSON Web Key with Key Type parameter ("kty") equal to "oct" '
            '(encountered "EC").',
        ),
        (
            load("jwk", {"kty": "oct"}, {"name": "HMAC", "hash": "SHA-1"}, "sign"),
            'HMAC "jwk" key import requires a base64Url encoding of the key',
        ),
        (
            load(
                "jwk",
                {"kty": "oct", "k": "AA", "alg": "HS256"},
                {"name": "HMAC", "hash": "SHA-1"},
                "sign",
            ),
            'HMAC "jwk" key import specifies "alg" that is incompatible with the hash name (encountered "HS256", '
            'expected "HS1").',
        ),
        (load("spki", b"", EC, "verify"), "Invalid SPKI input."),
        (load("spki", P384_SPKI[:-1], EC, "verify"), "Invalid SPKI input."),
        (
            load("spki", P384_SPKI + b"123", EC, "verify"),
            "Invalid 3 trailing bytes after SPKI input.",
        ),
        (load("pkcs8", b"\x30\x80", EC, "sign"), "Invalid PKCS8 input."),
        (
            load("pkcs8", P384_PKCS8 + b"1", EC, "sign"),
            "Invalid 1 trailing bytes after PKCS8 input.",
        ),
        (
            load("spki", P384_SPKI, EC, "verify"),
            '"algorithm.namedCurve" "P-256" does not match the curve specified by the input key data.',
        ),
        (
            load("pkcs8", P384_PKCS8, {"name": "ECDH", "namedCurve": "p-256"}, "deriveKey"),
            '"algorithm.namedCurve" "p-256", does not match the curve specified by the input key data.',
        ),
        (load("spki", P384_SPKI, RSA, "verify"), "Input was not an RSA key."),
        (load("spki", P384_SPKI, "Ed25519", "verify"), "Input was not an Ed25519 key."),
        (load("spki", P384_SPKI, "X25519"), "Input was not an X25519 key."),
        (
            load("raw", b"", EC, "verify"),
            "Failed to import raw EC key data.",
        ),
        (
            load("raw", b"\4" + P256_X, EC, "verify"),
            "Failed to import raw EC key data: Invalid point encoding.",
        ),
        (
            load("raw", b"\5" + P256_X + P256_Y, EC, "verify"),
            "Failed to import raw EC key data: Invalid point encoding.",
        ),
        (
            load("raw", b"\4" + P256_X + P256_Y, EC, "verify"),
            "Failed to import raw EC key data: Point is not on curve.",
        ),
        (
            load("raw", b"\2" + b"\xff" * 32, EC, "verify"),
            "Failed to import raw EC key data: Invalid compressed point.",
        ),
        (
            load("raw", bytes(31), "Ed25519", "verify"),
            "Ed25519 raw keys must be exactly 32-bytes (provided 31).",
        ),
        (
            load("jwk", {**EC_JWK, "kty": "OKP"}, EC, "verify"),
            'Elliptic curve "jwk" key import requires a JSON Web Key with Key Type parameter "kty" ("OKP") equal '
            'to "EC".',
        ),
        (
            load("jwk", {**EC_JWK, "alg": "ES384"}, EC, "verify"),
            'JSON Web Key Algorithm parameter "alg" ("ES384") does not match requested curve.',
        ),
        (
            load("jwk", {"kty": "EC", "y": "AA"}, EC, "verify"),
            'Invalid EC key in JSON Web Key; missing "x".',
        ),
        (
            load("jwk", {"kty": "EC", "x": "AA"}, EC, "verify"),
            'Invalid EC key in JSON Web Key; missing "y".',
        ),
        (
            load("jwk", {**OKP_JWK, "kty": "EC"}, "Ed25519", "verify"),
            'Ed25519 "jwk" key imports requires a JSON Web Key with Key Type parameter "kty" ("EC") equal to '
            '"OKP".',
        ),
        (load("jwk", {"kty": "OKP"}, "Ed25519"), 'Missing field "crv" for Ed25519 key.'),
        (
            load("jwk", {**OKP_JWK, "alg": "Ed25519"}, "Ed25519", "verify"),
            'JSON Web Key Algorithm parameter "alg" ("Ed25519") does not match requested Ed25519 curve.',
        ),
        (
            load("jwk", {"kty": "OKP", "crv": "Ed25519"}, "Ed25519"),
            'Invalid Ed25519 key in JSON WebKey; missing or invalid public key component ("x").',
        ),
        (
            load("jwk", {**OKP_JWK, "x": "AAAA"}, "Ed25519", "verify"),
            "Invalid length 3 for public key",
        ),
        (
            load("jwk", {**OKP_JWK, "d": "AAAA"}, "Ed25519", "sign"),
            "Invalid length 3 for private key",
        ),
        (
            load("jwk", {**OKP_JWK, "d": "?"}, "Ed25519", "sign"),
            'Invalid Ed25519 key in JSON Web Key; missing or invalid private key component ("d").',
        ),
        (
            load("jwk", {**RSA_JWK, "kty": "EC"}, RSA, "verify"),
            'RSASSA-PKCS1-v1_5 "jwk" key import requires a JSON Web Key with Key Type parameter "kty" ("EC") '
            'equal to "RSA".',
        ),
        (
            load("jwk", {**RSA_JWK, "alg": "PS512"}, RSA, "verify"),
            'JSON Web Key Algorithm parameter "alg" ("PS512") does not match requested hash algorithm "PS512".',
        ),
        (
            load("jwk", {"kty": "RSA", "e": "AQAB"}, RSA, "verify"),
            'Invalid RSA key in JSON Web Key; missing or invalid Modulus parameter ("n").',
        ),
        (
            load("jwk", {"kty": "RSA", "n": RSA_JWK["n"]}, RSA, "verify"),
            'Invalid RSA key in JSON Web Key; missing or invalid Exponent parameter ("e").',
        ),
        (
            load("jwk", {**PRIVATE_RSA_JWK, "d": "?"}, RSA, "sign"),
            'Invalid RSA key in JSON Web Key; missing or invalid Private Exponent parameter ("d").',
        ),
        (
            load("jwk", {**PRIVATE_RSA_JWK, "p": "AA"}, RSA, "sign"),
            "Invalid RSA private key in JSON Web Key; if one Prime Factor or CRT Exponent/Coefficient parameter "
            'is present, then they must all be present ("p", "q", "dp", "dq", "qi").',
        ),
        (
            load(
                "jwk",
                {**PRIVATE_RSA_JWK, "p": "?", "q": "AA", "dp": "AA", "dq": "AA", "qi": "AA"},
                RSA,
                "sign",
            ),
            'Invalid RSA key in JSON Web Key; invalid First Prime Factor parameter ("p").',
        ),
        (
            load(
                "jwk",
                {**PRIVATE_RSA_JWK, "p": "AA", "q": "AA", "dp": "AA", "dq": "AA", "qi": "AA"},
                RSA,
                "sign",
            ),
            "Invalid RSA key in JSON Web Key; the numbers do not belong together.",
        ),
        (
            load("jwk", {**RSA_JWK, "use": "enc"}, RSA, "verify"),
            'Asymmetric "jwk" key import with usages requires a JSON Web Key with Public Key Use parameter "use" '
            '("enc") equal to "sig".',
        ),
        (
            load("jwk", {**RSA_JWK, "key_ops": ["verify", "verify"]}, RSA, "verify"),
            'A JSON Web Key\'s Key Operations parameter ("key_ops") must not contain duplicates.',
        ),
        (
            load("jwk", {**RSA_JWK, "key_ops": [], "use": "enc"}, RSA),
            'Asymmetric "jwk" import requires a JSON Web Key with Public Key Use "use" ("enc") equal to "sig".',
        ),
        (
            load("jwk", {**RSA_JWK, "key_ops": ["encrypt"], "use": "sig"}, RSA),
            'A JSON Web Key should have either a Public Key Use parameter ("use") or a Key Operations parameter '
            '("key_ops"); otherwise, the parameters must be consistent with each other. A Public Key Use for '
            'RSA-PSS would allow a Key Operations array with only "sign" and/or "verify" values (not "encrypt").',
        ),
        (
            load(
                "jwk",
                {**EC_JWK, "key_ops": ["deriveKey"], "use": "enc"},
                {"name": "ECDH", "namedCurve": "P-256"},
            ),
            'A JSON Web Key should have either a Public Key Use parameter ("use") or a Key Operations parameter '
            '("key_ops"); otherwise, the parameters must be consistent with each other. For public ECDH keys, '
            'there are no valid usages,so keys with a non-empty "key_ops" parameter are not allowed.',
        ),
        (
            load("jwk", {**RSA_JWK, "key_ops": ["sign"]}, RSA, "verify"),
            "All specified key usages must be present in the JSON Web Key's Key Operations parameter "
            '("key_ops").',
        ),
        (
            load("jwk", RSA_JWK, {"name": "RSA-RAW"}, "verify"),
            'RSA-RAW only supports private keys but requested "public".',
        ),
    ],
)
def test_key_data_that_cannot_be_used(attempt: Any, expected: str) -> None:
    assert refusal(attempt) == f"DataError: {expected}"


@pytest.mark.parametrize(
    ("attempt", "expected"),
    [
        (load("jwk", EC_JWK, EC, "verify"), BAD_POINT),
        (
            load("jwk", {**EC_JWK, "x": url64(b"\xff" * 32)}, EC, "verify"),
            BAD_POINT.replace(": Point is not on curve", ""),
        ),
        (
            load("jwk", {**EC_JWK, "alg": "ES257"}, EC, "verify"),
            'NotSupportedError: Unrecognized or unimplemented algorithm "ES257" listed in JSON Web Key Algorithm '
            "parameter.",
        ),
        (
            load("jwk", {**OKP_JWK, "crv": "Ed448"}, "Ed25519", "verify"),
            'NotSupportedError: Only Ed25519 is supported but "Ed448" was requested.',
        ),
        (
            load("jwk", {**RSA_JWK, "alg": "none"}, RSA, "verify"),
            'NotSupportedError: Unrecognized or unimplemented algorithm "none" listed in JSON Web Key Algorithm '
            "parameter.",
        ),
        (
            load("jwk", {**RSA_JWK, "alg": "none"}, {"name": "RSA-RAW"}),
            'NotSupportedError: Unrecognized or unimplemented algorithm "none" listed in JSON Web Key Algorithm '
            "parameter.",
        ),
        (
            load(
                "jwk", {**RSA_JWK, "alg": "PS256"}, {"name": "rsa-pss", "hash": "SHA-256"}, "verify"
            ),
            'NotSupportedError: Unrecognized RSA variant "rsa-pss".',
        ),
        (
            load("jwk", {**PRIVATE_RSA_JWK, "oth": []}, RSA, "sign"),
            "NotSupportedError: Multi-prime private keys not supported.",
        ),
        (
            load(
                "jwk",
                {"kty": "oct", "k": "AA", "alg": "HMD5"},
                {"name": "HMAC", "hash": "MD5"},
                "sign",
            ),
            "NotSupportedError: Unrecognized or unimplemented hash algorithm requestedHMD5",
        ),
        (
            load("jwk", {**RSA_JWK, "e": "Iw"}, RSA, "verify"),
            "OperationError: Imported RSA key has invalid publicExponent 35.",
        ),
        (
            load("jwk", {**RSA_JWK, "e": "AQAAAAE"}, RSA, "verify"),
            'OperationError: The "publicExponent" must be either 3 or 65537, but got a number larger than 2^32.',
        ),
    ],
)
def test_key_data_that_is_refused_for_other_reasons(attempt: Any, expected: str) -> None:
    assert refusal(attempt) == expected


def test_a_private_value_that_does_not_fit_its_point() -> None:
    numbers = ec.generate_private_key(ec.SECP256R1()).public_key().public_numbers()
    jwk = {
        "kty": "EC",
        "x": url64(numbers.x.to_bytes(32, "big")),
        "y": url64(numbers.y.to_bytes(32, "big")),
    }
    assert refusal(load("jwk", {**jwk, "d": "Bw"}, EC, "sign")) == (
        "DataError: Invalid EC key in JSON Web Key."
    )
    for value in (bytes(32), b"\xff" * 32):
        assert refusal(load("jwk", {**jwk, "d": url64(value)}, EC, "sign")) == (
            'OperationError: Invalid EC key; private key component "d" is invalid.'
        )
    assert refusal(load("jwk", {**jwk, "d": "?"}, EC, "sign")) == (
        'DataError: Invalid EC key in JSON Web Key; missing or invalid private key component ("d").'
    )


def test_an_rsa_key_whose_numbers_do_not_belong_together() -> None:
    numbers = rsa.generate_private_key(65537, 1024).private_numbers()
    wrong = rsa.RSAPrivateNumbers(
        numbers.p,
        numbers.q,
        numbers.d - 2,
        numbers.dmp1,
        numbers.dmq1,
        numbers.iqmp,
        numbers.public_numbers,
    ).private_key(unsafe_skip_rsa_key_validation=True)
    data = wrong.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    assert refusal(load("pkcs8", data, RSA, "sign")) == "DataError: Invalid PKCS8 input."


def test_a_bare_rsa_key_is_no_spki() -> None:
    key = rsa.generate_private_key(65537, 1024).public_key()
    data = key.public_bytes(Encoding.DER, PublicFormat.PKCS1)
    assert refusal(load("spki", data, RSA, "verify")) == "DataError: Invalid SPKI input."
