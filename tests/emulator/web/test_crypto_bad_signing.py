"""Asymmetric operations and exports that fail, in the platform's words."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pyflare.js.crypto.subtle import subtle
from tests.emulator.web.crypto_samples import (
    pair,
    refusal,
    rsa_key,
)


def sign(name: str, hash: str = "SHA-256", **parameters: Any) -> Callable[[], Awaitable[Any]]:
    async def attempt() -> None:
        key = await rsa_key(name, "sign", hash=hash, private=True)
        await subtle.sign({"name": name, **parameters}, key, b"")

    return attempt


def verify_pss(**parameters: Any) -> Callable[[], Awaitable[Any]]:
    async def attempt() -> None:
        key = await rsa_key("RSA-PSS", "verify")
        await subtle.verify({"name": "RSA-PSS", **parameters}, key, b"", b"")

    return attempt


def oaep(operation: str, size: int, hash: str = "SHA-256") -> Callable[[], Awaitable[Any]]:
    async def attempt() -> None:
        key = await rsa_key("RSA-OAEP", operation, hash=hash, private=operation == "decrypt")
        await getattr(subtle, operation)("RSA-OAEP", key, bytes(size))

    return attempt


async def ecdsa_without_hash() -> None:
    await subtle.sign("ECDSA", (await pair("ECDSA")).privateKey, b"")


async def ed25519_with_a_short_signature() -> None:
    await subtle.verify("Ed25519", (await pair("Ed25519")).publicKey, bytes(63), b"")


def export(name: str, half: str, format: str) -> Callable[[], Awaitable[Any]]:
    async def attempt() -> None:
        if name.startswith("RSA"):
            usage = "sign" if half == "privateKey" else "verify"
            key = await rsa_key(name, usage, private=half == "privateKey")
        else:
            key = getattr(await pair(name), half)
        await subtle.exportKey(format, key)

    return attempt


async def jwk_of_an_md5_key() -> None:
    await subtle.exportKey("jwk", await rsa_key("RSA-PSS", "verify", hash="MD5"))


async def jwk_of_an_md5_hmac_key() -> None:
    key = await subtle.generateKey({"name": "HMAC", "hash": "MD5"}, True, ["sign"])
    await subtle.exportKey("jwk", key)


async def aes_key_as_spki() -> None:
    key = await subtle.generateKey({"name": "AES-CBC", "length": 128}, True, ["encrypt"])
    await subtle.exportKey("spki", key)


async def hmac_key_as_spki() -> None:
    key = await subtle.generateKey({"name": "HMAC", "hash": "SHA-1"}, True, ["sign"])
    await subtle.exportKey("spki", key)


SALT = "Failed to provide salt for RSA-PSS key operation which requires a salt"


@pytest.mark.parametrize(
    ("attempt", "expected"),
    [
        (sign("RSA-PSS"), f"DataError: {SALT}"),
        (verify_pss(), f"TypeError: {SALT}"),
        (
            sign("RSA-PSS", saltLength=-1),
            "DataError: SaltLength for RSA-PSS must be non-negative (provided -1).",
        ),
        (
            verify_pss(saltLength=-1),
            "DataError: SaltLength for RSA-PSS must be non-negative (provided -1).",
        ),
        (
            sign("RSA-PSS", saltLength=223),
            "OperationError: key too small for signing with given digest and salt length",
        ),
        (oaep("encrypt", 191), "OperationError: RSA-OAEP failed encrypt/decrypt."),
        (oaep("decrypt", 256), "OperationError: RSA-OAEP failed encrypt/decrypt."),
        (
            oaep("decrypt", 255),
            "OperationError: RSA-OAEP failed encrypt/decrypt: Invalid RSA signature.",
        ),
        (
            oaep("encrypt", 1, hash="MD5"),
            "NotSupportedError: RSA-OAEP with MD5 is not supported.",
        ),
        (
            ecdsa_without_hash,
            'TypeError: Missing "hash" in AlgorithmIdentifier. (ECDSA requires that the hash algorithm be specified '
            "at call time rather than on the key. This differs from other WebCrypto algorithms for historical "
            "reasons.)",
        ),
        (
            ed25519_with_a_short_signature,
            "OperationError: Invalid Ed25519 signature length 63",
        ),
        (
            export("ECDSA", "publicKey", "pkcs8"),
            'InvalidAccessError: Asymmetric pkcs8 export requires private key (not "public").',
        ),
        (
            export("ECDSA", "privateKey", "spki"),
            'InvalidAccessError: Asymmetric spki export requires public key (not "private").',
        ),
        (
            export("ECDSA", "privateKey", "raw"),
            "InvalidAccessError: Raw export of elliptic curve keys is only allowed for public keys.",
        ),
        (
            export("Ed25519", "privateKey", "raw"),
            "InvalidAccessError: Raw export of Ed25519 keys is only allowed for public keys.",
        ),
        (
            export("ECDH", "publicKey", "pem"),
            'InvalidAccessError: Cannot export "ECDH" in "pem" format.',
        ),
        (
            export("RSA-PSS", "publicKey", "raw"),
            'InvalidAccessError: Cannot export "RSA-PSS" in "raw" format.',
        ),
        (
            jwk_of_an_md5_key,
            'NotSupportedError: JWK export not supported for hash algorithm "MD5".',
        ),
        (
            jwk_of_an_md5_hmac_key,
            'NotSupportedError: Unimplemented JWK key export format for key algorithm "MD5".',
        ),
        (
            aes_key_as_spki,
            'NotSupportedError: AES-CBC key only supports exporting "raw" & "jwk", not "spki".',
        ),
        (hmac_key_as_spki, 'NotSupportedError: Unimplemented key export format "spki".'),
    ],
)
def test_asymmetric_operations_and_exports(attempt: Any, expected: str) -> None:
    assert refusal(attempt) == expected


SMALL_JWK = {
    "kty": "RSA",
    "n": "s26Mcr58tMv5JSLmhY0X5RIn4FjPHrGXOmoZHIEvKDKXdJQjdlLdx6Q3NIBHOQ_JOlSawr-LlLK-3mTmQO4GyQ",
    "e": "AQAB",
    "d": "FR9ncz6Paa01aDTClGg2ruXDQfrSbxeS6PKCgEOI7J9NhgJbe99iDAJvEeNtiW_4KUFnilDiQzPkuqld6_WtPQ",
}


@pytest.mark.parametrize(
    ("name", "hash", "salt", "reason"),
    [
        (
            "RSASSA-PKCS1-v1_5",
            "SHA-512",
            0,
            "key too small for signing with given digest, need at least 768bits.",
        ),
        ("RSA-PSS", "SHA-512", 0, "key too small for signing with given digest"),
        (
            "RSA-PSS",
            "SHA-256",
            31,
            "key too small for signing with given digest and salt length",
        ),
    ],
)
def test_a_key_that_is_too_small(name: str, hash: str, salt: int, reason: str) -> None:
    async def attempt() -> None:
        key = await subtle.importKey("jwk", SMALL_JWK, {"name": name, "hash": hash}, True, ["sign"])
        await subtle.sign({"name": name, "saltLength": salt}, key, b"")

    assert refusal(attempt) == f"OperationError: {reason}"
