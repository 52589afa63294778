"""Derivations that fail, in the platform's words."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pyflare.js.crypto.subtle import subtle
from tests.emulator.web.crypto_samples import (
    pair,
    refusal,
    secret,
)


def derive(
    name: str, length: Any, *, size: int = 16, **parameters: Any
) -> Callable[[], Awaitable[Any]]:
    async def attempt() -> None:
        key = await secret(name, "deriveBits", size=size)
        await subtle.deriveBits({"name": name, **parameters}, key, length)

    return attempt


def derive_key(derived: Any) -> Callable[[], Awaitable[Any]]:
    async def attempt() -> None:
        key = await secret("HKDF", "deriveKey")
        algorithm = {"name": "HKDF", "hash": "SHA-256", "salt": b"", "info": b""}
        await subtle.deriveKey(algorithm, key, derived, True, ["sign"])

    return attempt


def agree(
    own: str, peer: str, half: str = "publicKey", curve: str = "P-256", length: Any = None
) -> Callable[[], Awaitable[Any]]:
    async def attempt() -> None:
        private = (await pair(own)).privateKey
        public = getattr(await pair(peer, "NODE-ED25519" if peer[0] == "N" else curve), half)
        await subtle.deriveBits({"name": own, "public": public}, private, length)

    return attempt


async def agreement_alone() -> None:
    await subtle.deriveBits("ECDH", (await pair("ECDH")).privateKey, 8)


async def agreement_with_a_point_of_small_order() -> None:
    public = await subtle.importKey("raw", bytes(32), "X25519", True, [])
    private = (await pair("X25519")).privateKey
    await subtle.deriveBits({"name": "X25519", "public": public}, private, 256)


GOOD = {"hash": "SHA-256", "salt": b"s"}


@pytest.mark.parametrize(
    ("attempt", "expected"),
    [
        (derive("HKDF", 8), 'TypeError: Missing field "hash" in "algorithm".'),
        (derive("HKDF", 8, hash="SHA-1"), 'TypeError: Missing field "salt" in "algorithm".'),
        (derive("HKDF", 8, **GOOD), 'TypeError: Missing field "info" in "algorithm".'),
        (
            derive("HKDF", None, **GOOD, info=b""),
            "OperationError: HKDF cannot derive a key with null length.",
        ),
        (
            derive("HKDF", 7, **GOOD, info=b""),
            "OperationError: HKDF requires a derived key length that is a multiple of eight (requested 7).",
        ),
        (
            derive("HKDF", 8 * 255 * 32 + 8, **GOOD, info=b""),
            "OperationError: HKDF deriveBits failed.",
        ),
        (
            derive("HKDF", -8, **GOOD, info=b""),
            "TypeError: deriveBits length must be an unsigned long integer.",
        ),
        (derive("PBKDF2", 8, hash="SHA-1"), 'TypeError: Missing field "salt" in "algorithm".'),
        (derive("PBKDF2", 8, **GOOD), 'TypeError: Missing field "iterations" in "algorithm".'),
        (
            derive("PBKDF2", None, **GOOD, iterations=1),
            "OperationError: PBKDF2 cannot derive a key with null length.",
        ),
        (
            derive("PBKDF2", 12, **GOOD, iterations=1),
            "OperationError: PBKDF2 requires a derived key length that is a multiple of eight (requested 12).",
        ),
        (
            derive("PBKDF2", 8, **GOOD, iterations=0),
            "OperationError: PBKDF2 requires a positive iteration count (requested 0).",
        ),
        (
            derive("PBKDF2", 8, **GOOD, iterations=100_001),
            "NotSupportedError: Pbkdf2 failed: iteration counts above 100000 are not supported (requested 100001).",
        ),
        (
            derive("PBKDF2", 8 * 255 * 32 + 8, **GOOD, iterations=1),
            "OperationError: Pbkdf2 failed: derived key length exceeds maximum for this hash",
        ),
        (derive_key("AES-GCM"), 'TypeError: Missing field "length" in "derivedKeyParams".'),
        (
            derive_key({"name": "AES-GCM", "length": 100}),
            "OperationError: Derived AES key must be 128, 192, or 256 bits in length but provided 100.",
        ),
        (derive_key("HMAC"), 'TypeError: Missing field "hash" in "derivedKeyParams".'),
        (
            derive_key({"name": "HMAC", "length": 0}),
            "TypeError: HMAC key length must be a non-zero unsigned long integer.",
        ),
        (derive_key("HKDF"), "OperationError: HKDF cannot derive a key with null length."),
        (
            derive_key("ECDSA"),
            'NotSupportedError: Unrecognized derived key type "ECDSA" requested.',
        ),
        (agreement_alone, 'TypeError: Missing field "public" in "derivedKeyParams".'),
        (
            agree("ECDH", "ECDH", "privateKey"),
            'InvalidAccessError: The provided key has type "private", not "public"',
        ),
        (
            agree("ECDH", "X25519"),
            "InvalidAccessError: Base ECDH private key cannot be used to derive a key from a peer X25519 public key",
        ),
        (
            agree("ECDH", "ECDSA"),
            'InvalidAccessError: Private key for derivation is using "ECDH" while public key is using "ECDSA".',
        ),
        (
            agree("ECDH", "NODE-ED25519"),
            'InvalidAccessError: Private key for derivation is using "ECDH" while public key is using '
            '"NODE-ED25519".',
        ),
        (
            agree("X25519", "Ed25519"),
            'InvalidAccessError: Private key for derivation is using "X25519" while public key is using "Ed25519".',
        ),
        (
            agree("ECDH", "ECDH", curve="P-384"),
            'InvalidAccessError: Private key for derivation is using curve "P-256" while public key is using '
            '"P-384".',
        ),
        (
            agree("ECDH", "ECDH", length=257),
            "OperationError: Derived key length (257 bits) is too long (should be at most 256 bits).",
        ),
        (
            agree("X25519", "X25519", length=257),
            "OperationError: Derived key length (257 bits) is too long (should be at most 256 bits).",
        ),
        (
            agreement_with_a_point_of_small_order,
            "OperationError: Failed to derive EDDH key: public key routines INVALID_PEER_KEY.",
        ),
    ],
)
def test_derivation(attempt: Any, expected: str) -> None:
    assert refusal(attempt) == expected
