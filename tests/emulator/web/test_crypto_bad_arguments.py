"""Arguments that ``crypto.subtle`` refuses, in the platform's words."""

from __future__ import annotations

from typing import Any

import pytest

from pyflare.js.crypto.subtle import subtle
from tests.emulator.web.crypto_samples import (
    PRIVATE_RSA_JWK,
    RSA_JWK,
    generate,
    load,
    refusal,
)


@pytest.mark.parametrize(
    ("attempt", "expected"),
    [
        (
            lambda: subtle.digest("SHA-256", "text"),
            "TypeError: Failed to execute 'digest' on 'SubtleCrypto': parameter 2 is not of type 'BufferSource'.",
        ),
        (
            lambda: subtle.sign("HMAC", {}, b""),
            "TypeError: Failed to execute 'sign' on 'SubtleCrypto': parameter 2 is not of type 'CryptoKey'.",
        ),
        (
            lambda: subtle.encrypt(),
            "TypeError: Failed to execute 'encrypt' on 'SubtleCrypto': parameter 2 is not of type 'CryptoKey'.",
        ),
        (
            lambda: subtle.generateKey({"name": "AES-GCM", "length": 128}, True, "encrypt"),
            "TypeError: Failed to execute 'generateKey' on 'SubtleCrypto': parameter 3 is not of type 'Array'.",
        ),
        (
            lambda: subtle.importKey("raw", "secret", "HKDF", False, ["deriveKey"]),
            "TypeError: Failed to execute 'importKey' on 'SubtleCrypto': parameter 2 is not of type "
            "'BufferSource or JsonWebKey'.",
        ),
        (
            lambda: subtle.encrypt({"name": "AES-GCM", "iv": "text"}, None, b""),
            "TypeError: Incorrect type for the 'iv' field on 'EncryptAlgorithm': the provided value is not of "
            "type 'BufferSource'.",
        ),
        (
            lambda: subtle.deriveBits({"name": "ECDH", "public": b""}, None, 8),
            "TypeError: Incorrect type for the 'public' field on 'DeriveKeyAlgorithm': the provided value is not "
            "of type 'CryptoKey'.",
        ),
        (
            generate({"name": "AES-GCM", "length": 2**40}, "encrypt"),
            "TypeError: Value out of range. Must be between -2147483648 and 2147483647 (inclusive).",
        ),
        (
            load("jwk", {"kty": "oct", "key_ops": "sign"}, {"name": "HMAC"}, "sign"),
            "TypeError: Incorrect type for the 'key_ops' field on 'JsonWebKey': the provided value is not of type "
            "'Array'.",
        ),
        (
            load("raw", {"kty": "oct"}, "HMAC", "sign"),
            'TypeError: Import data provided for "raw", "pkcs8", or "spki" import formats must be a buffer source.',
        ),
        (
            load("jwk", b"", "HMAC", "sign"),
            'TypeError: Import data provided for "jwk" import format must be a JsonWebKey.',
        ),
    ],
)
def test_arguments_of_a_wrong_type(attempt: Any, expected: str) -> None:
    assert refusal(attempt) == expected


UNKNOWN = "NotSupportedError: Unrecognized or unimplemented digest algorithm requested."


@pytest.mark.parametrize(
    ("attempt", "expected"),
    [
        (lambda: subtle.digest("SHA-3", b""), UNKNOWN),
        (lambda: subtle.digest({}, b""), UNKNOWN),
        (lambda: subtle.digest(None, b""), UNKNOWN),
        (lambda: subtle.digest(5, b""), UNKNOWN),
        (generate({"name": "HMAC", "hash": "SHA-3"}, "sign"), UNKNOWN),
        (
            generate("AES-ECB", "encrypt"),
            'NotSupportedError: Unrecognized key generation algorithm "AES-ECB" requested.',
        ),
        (
            generate("PBKDF2", "deriveKey"),
            'NotSupportedError: Unrecognized key generation algorithm "PBKDF2" requested.',
        ),
        (
            load("raw", b"", "AES-ECB", "encrypt"),
            'NotSupportedError: Unrecognized key import algorithm "AES-ECB" requested.',
        ),
        (
            load("pem", b"", "AES-CBC", "encrypt"),
            'NotSupportedError: Unrecognized key import format "pem".',
        ),
        (
            load("spki", b"", "AES-CBC", "encrypt"),
            'NotSupportedError: Unrecognized key import format "spki".',
        ),
        (
            load("spki", b"", {"name": "HMAC", "hash": "SHA-1"}, "sign"),
            'NotSupportedError: Unrecognized key import format "spki".',
        ),
        (
            load("raw", b"", {"name": "RSA-PSS", "hash": "SHA-1"}, "sign"),
            'NotSupportedError: Unrecognized key import format "raw".',
        ),
        (
            load("jwk", {}, "HKDF", "deriveKey", extractable=False),
            'NotSupportedError: HKDF key must be imported in "raw" format (requested "jwk")',
        ),
        (
            load("jwk", {}, "PBKDF2", "deriveKey", extractable=False),
            'NotSupportedError: PBKDF2 key must be imported in "raw" format (requested "jwk").',
        ),
        (
            generate({"name": "ECDSA", "namedCurve": "K-256"}, "sign"),
            'NotSupportedError: Unrecognized or unimplemented EC curve "K-256" requested.',
        ),
        (
            generate({"name": "NODE-ED25519", "namedCurve": "Ed448"}, "sign"),
            'NotSupportedError: EDDSA curve "Ed448" isn\'t supported.',
        ),
    ],
)
def test_algorithms_that_do_not_exist(attempt: Any, expected: str) -> None:
    assert refusal(attempt) == expected


@pytest.mark.parametrize(
    ("attempt", "field", "holder"),
    [
        (generate("AES-CBC", "encrypt"), "length", "algorithm"),
        (generate("HMAC", "sign"), "hash", "algorithm"),
        (generate("ECDSA", "sign"), "namedCurve", "algorithm"),
        (generate("NODE-ED25519", "sign"), "namedCurve", "algorithm"),
        (generate("RSA-PSS", "sign"), "publicExponent", "algorithm"),
        (generate({"name": "RSA-PSS", "publicExponent": b"\3"}, "sign"), "hash", "algorithm"),
        (
            generate({"name": "RSA-PSS", "publicExponent": b"\3", "hash": "SHA-1"}, "sign"),
            "modulusLength",
            "algorithm",
        ),
        (load("raw", b"1", "HMAC", "sign"), "hash", "algorithm"),
        (load("raw", b"1", "ECDH"), "namedCurve", "algorithm"),
        (load("raw", b"1", "NODE-ED25519", "verify"), "namedCurve", "algorithm"),
        (load("spki", b"1", "RSA-OAEP", "encrypt"), "hash", "algorithm"),
    ],
)
def test_members_that_are_missing(attempt: Any, field: str, holder: str) -> None:
    assert refusal(attempt) == f'TypeError: Missing field "{field}" in "{holder}".'


@pytest.mark.parametrize(
    ("attempt", "expected"),
    [
        (
            generate({"name": "AES-GCM", "length": 128}, "encrypt", "sign"),
            'SyntaxError: Attempt to generate AES-GCM key with invalid usage "sign".',
        ),
        (
            generate({"name": "AES-KW", "length": 128}, "encrypt"),
            'SyntaxError: Attempt to generate AES-KW key with invalid usage "encrypt".',
        ),
        (
            load("raw", bytes(16), "aes-gcm", "fly"),
            'SyntaxError: Attempt to import secret AES-GCM key with invalid usage "fly".',
        ),
        (
            load("jwk", RSA_JWK, {"name": "RSA-PSS", "hash": "SHA-1"}, "sign"),
            'SyntaxError: Attempt to import public RSA-PSS key with invalid usage "sign".',
        ),
        (
            load("jwk", PRIVATE_RSA_JWK, {"name": "RSA-PSS", "hash": "SHA-1"}, "verify"),
            'SyntaxError: Attempt to import private RSA-PSS key with invalid usage "verify".',
        ),
        (
            load("raw", b"\4", {"name": "ECDH", "namedCurve": "P-256"}, "deriveBits"),
            'SyntaxError: Attempt to import public ECDH key with invalid usage "deriveBits".',
        ),
        (
            load("raw", bytes(16), "AES-CBC"),
            "SyntaxError: Secret/private CryptoKeys must have at least one usage.",
        ),
        (
            generate({"name": "AES-CBC", "length": 256}),
            "SyntaxError: Secret/private CryptoKeys must have at least one usage.",
        ),
        (
            load("jwk", PRIVATE_RSA_JWK, {"name": "RSA-PSS", "hash": "SHA-1"}),
            "SyntaxError: Secret/private CryptoKeys must have at least one usage.",
        ),
        (
            generate({"name": "ECDSA", "namedCurve": "P-256"}, "verify"),
            "SyntaxError: Attempt to generate asymmetric keys with no valid private key usages.",
        ),
        (
            load("raw", b"1", "HKDF", "deriveKey"),
            "SyntaxError: HKDF key cannot be extractable.",
        ),
        (
            load("raw", b"1", "PBKDF2", "deriveKey"),
            "SyntaxError: PBKDF2 key cannot be extractable.",
        ),
    ],
)
def test_usages_and_extractability(attempt: Any, expected: str) -> None:
    assert refusal(attempt) == expected


def rsa_parameters(**changes: Any) -> dict[str, Any]:
    return {
        "name": "RSA-PSS",
        "hash": "SHA-256",
        "modulusLength": 2048,
        "publicExponent": b"\1\0\1",
        **changes,
    }


@pytest.mark.parametrize(
    ("attempt", "expected"),
    [
        (
            generate({"name": "AES-GCM", "length": 64}, "encrypt"),
            "OperationError: Generated AES key length must be 128, 192, or 256 bits but requested 64.",
        ),
        (
            generate({"name": "HMAC", "hash": "SHA-1", "length": 0}, "sign"),
            "OperationError: HMAC key length must be a non-zero unsigned long integer (requested 0).",
        ),
        (
            generate(rsa_parameters(modulusLength=0), "sign"),
            "OperationError: modulusLength must be greater than zero (requested 0).",
        ),
        (
            generate(rsa_parameters(modulusLength=2047), "sign"),
            "OperationError: The modulus length must be a multiple of 8 and between 256 and 16k, but 2047 was "
            "requested.",
        ),
        (
            generate(rsa_parameters(modulusLength=2056), "sign"),
            "OperationError: Can't generate key: RSA key size is required to be a multiple of 128",
        ),
        (
            generate(rsa_parameters(modulusLength=512), "sign"),
            "OperationError: RSA key size is too small.",
        ),
        (
            generate(rsa_parameters(publicExponent=b"\5"), "sign"),
            'OperationError: The "publicExponent" must be either 3 or 65537, but got 5.',
        ),
        (
            generate(rsa_parameters(publicExponent=bytes([1] * 5)), "sign"),
            'OperationError: The "publicExponent" must be either 3 or 65537, but got a number larger than 2^32.',
        ),
    ],
)
def test_keys_that_cannot_be_made(attempt: Any, expected: str) -> None:
    assert refusal(attempt) == expected
