"""Symmetric operations that fail, in the platform's words."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pyflare.js.crypto.subtle import subtle
from tests.emulator.web.crypto_samples import (
    refusal,
    secret,
)


async def use_of_wrong_key() -> None:
    await subtle.sign("HMAC", await secret("AES-CBC", "encrypt"), b"")


async def use_without_usage() -> None:
    await subtle.verify("hmac", await secret("HMAC", "sign"), b"", b"")


async def export_of_a_secret() -> None:
    await subtle.exportKey("raw", await secret("AES-CBC", "encrypt"))


async def wrapping_of_a_secret() -> None:
    key = await secret("AES-KW", "wrapKey")
    await subtle.wrapKey("raw", await secret("HMAC", "sign"), key, "AES-KW")


async def decryption_with_odd_padding() -> None:
    key = await secret("AES-CBC", "decrypt")
    await subtle.decrypt({"name": "AES-CBC", "iv": bytes(16)}, key, bytes(32))


async def decryption_of_a_part_of_a_block() -> None:
    key = await secret("AES-CBC", "decrypt")
    await subtle.decrypt({"name": "AES-CBC", "iv": bytes(16)}, key, bytes(20))


async def decryption_with_a_wrong_tag() -> None:
    key = await secret("AES-GCM", "decrypt")
    await subtle.decrypt({"name": "AES-GCM", "iv": bytes(12)}, key, bytes(40))


async def decryption_with_a_wrong_tag_and_an_odd_vector() -> None:
    key = await secret("AES-GCM", "decrypt")
    await subtle.decrypt({"name": "AES-GCM", "iv": bytes(1)}, key, bytes(40))


async def decryption_of_less_than_a_tag() -> None:
    key = await secret("AES-GCM", "decrypt")
    await subtle.decrypt({"name": "AES-GCM", "iv": bytes(12)}, key, bytes(15))


def gcm(**parameters: Any) -> Callable[[], Awaitable[Any]]:
    async def attempt() -> None:
        key = await secret("AES-GCM", "encrypt")
        await subtle.encrypt({"name": "AES-GCM", **parameters}, key, b"")

    return attempt


def cbc(operation: str, **parameters: Any) -> Callable[[], Awaitable[Any]]:
    async def attempt() -> None:
        key = await secret("AES-CBC", operation)
        await getattr(subtle, operation)({"name": "AES-CBC", **parameters}, key, bytes(16))

    return attempt


def ctr(size: int = 16, **parameters: Any) -> Callable[[], Awaitable[Any]]:
    async def attempt() -> None:
        key = await secret("AES-CTR", "encrypt")
        await subtle.encrypt({"name": "AES-CTR", **parameters}, key, bytes(size))

    return attempt


def unwrap(size: int) -> Callable[[], Awaitable[Any]]:
    async def attempt() -> None:
        key = await secret("AES-KW", "unwrapKey")
        await subtle.unwrapKey("raw", bytes(size), key, "AES-KW", "AES-CBC", True, ["encrypt"])

    return attempt


def wrap(size: int) -> Callable[[], Awaitable[Any]]:
    async def attempt() -> None:
        key = await secret("AES-KW", "wrapKey")
        inner = await subtle.importKey(
            "raw", bytes(size), {"name": "HMAC", "hash": "SHA-1"}, True, ["sign"]
        )
        await subtle.wrapKey("raw", inner, key, "AES-KW")

    return attempt


DECRYPTION = (
    "OperationError: Decryption failed. This could be due to a ciphertext authentication failure, bad padding, "
    "incorrect CryptoKey, or another algorithm-specific reason. Input length was {}, output length expected to "
    "be {} for {}"
)


@pytest.mark.parametrize(
    ("attempt", "expected"),
    [
        (
            use_of_wrong_key,
            'InvalidAccessError: Requested algorithm "HMAC" does not match this CryptoKey\'s algorithm "AES-CBC".',
        ),
        (
            use_without_usage,
            'InvalidAccessError: Requested key usage "verify" does not match any usage listed in this CryptoKey.',
        ),
        (
            export_of_a_secret,
            "InvalidAccessError: Attempt to export non-extractable AES-CBC key.",
        ),
        (wrapping_of_a_secret, "InvalidAccessError: Attempt to export non-extractable HMAC key."),
        (decryption_with_odd_padding, DECRYPTION.format(32, 16, "AES-CBC")),
        (decryption_of_a_part_of_a_block, DECRYPTION.format(20, 16, "AES-CBC")),
        (decryption_with_a_wrong_tag, DECRYPTION.format(24, 24, "AES-GCM")),
        (decryption_with_a_wrong_tag_and_an_odd_vector, DECRYPTION.format(24, 24, "AES-GCM")),
        (
            decryption_of_less_than_a_tag,
            "OperationError: Ciphertext length of 120 bits must be greater than or equal to the size of the "
            "AES-GCM tag length of 128 bits.",
        ),
        (gcm(), 'TypeError: Missing field "iv" in "algorithm".'),
        (gcm(iv=b""), "OperationError: AES-GCM IV must not be empty."),
        (gcm(iv=b"1", tagLength=33), "OperationError: Invalid AES-GCM tag length 33."),
        (cbc("encrypt"), 'TypeError: Missing field "iv" in "algorithm".'),
        (
            cbc("encrypt", iv=b"1"),
            "OperationError: AES-CBC IV must be 16 bytes long (provided 1 bytes).",
        ),
        (
            cbc("decrypt", iv=b"1"),
            "OperationError: AES-CBC IV must be 16 bytes long (provided 1).",
        ),
        (ctr(), 'TypeError: Missing "counter" member in "algorithm".'),
        (ctr(counter=bytes(16)), 'TypeError: Missing "length" member in "algorithm".'),
        (
            ctr(counter=bytes(15), length=64),
            "OperationError: Counter must have length of 16 bytes (provided 15).",
        ),
        (
            ctr(counter=bytes(16), length=129),
            "OperationError: Invalid counter of 129 bits length provided.",
        ),
        (
            ctr(counter=bytes(16), length=0),
            "OperationError: Invalid counter of 0 bits length provided.",
        ),
        (
            ctr(33, counter=bytes(16), length=1),
            "OperationError: Counter block values will repeat.",
        ),
        (
            wrap(17),
            "OperationError: Unwrapped key bit length must be a multiple of 64 bits but unwrapped key has a length "
            "of 136 bits.",
        ),
        (
            wrap(8),
            "OperationError: Unwrapped key has length 8 bytes but it should be greater than or equal to 16 and less "
            "than or equal to 18446744073709551607",
        ),
        (
            unwrap(25),
            "OperationError: Provided a wrapped key to unwrap that is 200 bits which isn't a multiple of 64 bits.",
        ),
        (
            unwrap(16),
            "OperationError: Provided a wrapped key to unwrap this is 128 bits that is less than the minimal length "
            "of 192 bits.",
        ),
        (unwrap(24), "OperationError: AES-KW key unwrapping failed."),
    ],
)
def test_symmetric_operations(attempt: Any, expected: str) -> None:
    assert refusal(attempt) == expected


def unwrapped(text: str) -> Callable[[], Awaitable[Any]]:
    async def attempt() -> None:
        key = await subtle.importKey("raw", bytes(16), "AES-CBC", True, ["unwrapKey", "encrypt"])
        algorithm = {"name": "AES-CBC", "iv": bytes(16)}
        wrapped = await subtle.encrypt(algorithm, key, text.encode())
        await subtle.unwrapKey("jwk", wrapped, key, algorithm, "AES-CBC", True, ["encrypt"])

    return attempt


def test_unwrapping_what_is_no_key() -> None:
    assert refusal(unwrapped("{")).startswith("SyntaxError: ")
    assert refusal(unwrapped("1")) == (
        'DataError: Missing "kty" field or corrupt JSON unwrapping key?'
    )
    assert 'encountered "undefined"' in refusal(unwrapped("{}"))
