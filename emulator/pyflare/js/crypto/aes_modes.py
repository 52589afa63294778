"""AES itself, by the package ``cryptography``. Keys, vectors and tags in bytes, checked by the caller."""

from __future__ import annotations

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.keywrap import InvalidUnwrap, aes_key_unwrap, aes_key_wrap
from cryptography.hazmat.primitives.padding import PKCS7

from .gcm_any_iv import GcmAnyIv

__all__ = [
    "apply_ctr",
    "decrypt_cbc",
    "encrypt_cbc",
    "open_gcm",
    "seal_gcm",
    "unwrap",
    "wrap",
]

Octets = bytes | memoryview


def _takes_iv(iv: bytes) -> bool:
    """Whether the package takes a vector of this size; GCM itself takes every size."""
    return 8 <= len(iv) <= 128


def seal_gcm(key: bytes, iv: bytes, data: Octets, additional: bytes | None, tag_size: int) -> bytes:
    """The ciphertext with its tag behind it."""
    if not _takes_iv(iv):
        return GcmAnyIv(key, iv).seal(bytes(data), additional or b"", tag_size)
    encryptor = Cipher(algorithms.AES(key), modes.GCM(iv)).encryptor()
    if additional:
        encryptor.authenticate_additional_data(additional)
    sealed = encryptor.update(data) + encryptor.finalize()
    return sealed + encryptor.tag[:tag_size]


def open_gcm(
    key: bytes, iv: bytes, data: Octets, tag: bytes, additional: bytes | None
) -> bytes | None:
    """The plaintext, None when the tag does not fit."""
    if not _takes_iv(iv):
        return GcmAnyIv(key, iv).open(bytes(data), tag, additional or b"")
    mode = modes.GCM(iv, tag, min_tag_length=len(tag))
    decryptor = Cipher(algorithms.AES(key), mode).decryptor()
    if additional:
        decryptor.authenticate_additional_data(additional)
    plain = decryptor.update(data)
    try:
        return plain + decryptor.finalize()
    except InvalidTag:
        return None


def encrypt_cbc(key: bytes, iv: bytes, data: Octets) -> bytes:
    padder = PKCS7(128).padder()
    encryptor = Cipher(algorithms.AES(key), modes.CBC(iv)).encryptor()
    return (
        encryptor.update(padder.update(bytes(data)))
        + encryptor.update(padder.finalize())
        + encryptor.finalize()
    )


def decrypt_cbc(key: bytes, iv: bytes, data: Octets) -> bytes | None:
    """The plaintext without its padding, None when that is not right."""
    if len(data) == 0 or len(data) % 16:
        return None
    decryptor = Cipher(algorithms.AES(key), modes.CBC(iv)).decryptor()
    unpadder = PKCS7(128).unpadder()
    padded = decryptor.update(data) + decryptor.finalize()
    try:
        return unpadder.update(padded) + unpadder.finalize()
    except ValueError:
        return None


def apply_ctr(key: bytes, counter: bytes, data: Octets) -> bytes:
    """Both directions: the data under the key stream that begins with this counter block."""
    encryptor = Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor()
    return encryptor.update(data) + encryptor.finalize()


def wrap(key: bytes, data: bytes) -> bytes:
    return aes_key_wrap(key, data)


def unwrap(key: bytes, data: bytes) -> bytes | None:
    """The key inside, None when the wrapping was made with another key or was changed."""
    try:
        return aes_key_unwrap(key, data)
    except InvalidUnwrap:
        return None
