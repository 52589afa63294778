"""AES keys in the modes CBC, CTR, GCM and KW. The ciphers themselves are in :mod:`.aes_modes`.

Source: https://w3c.github.io/webcrypto/#aes-ctr and the sections after it, workerd ``api/crypto/aes.c++``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

from . import aes_modes
from .errors import data_error, missing, not_supported, operation_error
from .jwk import Jwk, decode, encode
from .key import CryptoKey, ImportRequest, KeyMaterial, Octets
from .parameters import Parameters
from .usages import Usages, checked, in_order

__all__ = ["generate", "import_key"]

_SIZES: Final = (128, 192, 256)
_WRAPPING: Final[Usages] = frozenset({"wrapKey", "unwrapKey"})
_ENCRYPTING: Final[Usages] = _WRAPPING | {"encrypt", "decrypt"}


class _AesKey(KeyMaterial):
    """A key that has no mode yet."""

    __slots__ = ("_data", "name")

    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        self._data = data

    def algorithm(self) -> dict[str, Any]:
        return {"name": self.name, "length": len(self._data) * 8}

    def export(self, format: str, usages: Usages) -> bytes | Jwk:
        if format == "raw":
            return self._data
        if format != "jwk":
            raise not_supported(
                f'{self.name} key only supports exporting "raw" & "jwk", not "{format}".'
            )
        return Jwk(
            "oct",
            k=encode(self._data),
            alg=_jwk_algorithm(self.name, self._data),
            key_ops=in_order(usages),
            ext=True,
        )

    def _failed(self, size: int, expected: int) -> Exception:
        return operation_error(
            "Decryption failed. This could be due to a ciphertext authentication failure, bad padding, "
            "incorrect CryptoKey, or another algorithm-specific reason. "
            f"Input length was {size}, output length expected to be {expected} for {self.name}"
        )


class _GcmKey(_AesKey):
    __slots__ = ()

    def encrypt(self, parameters: Parameters, data: Octets) -> bytes:
        iv = self._iv(parameters)
        tag_length = self._tag_length(parameters)
        return aes_modes.seal_gcm(self._data, iv, data, parameters.additionalData, tag_length // 8)

    def decrypt(self, parameters: Parameters, data: Octets) -> bytes:
        iv = self._iv(parameters)
        tag_length = self._tag_length(parameters)
        size = len(data) - tag_length // 8
        if size < 0:
            raise operation_error(
                f"Ciphertext length of {len(data) * 8} bits must be greater than or equal to "
                f"the size of the AES-GCM tag length of {tag_length} bits."
            )
        view = memoryview(data)
        plain = aes_modes.open_gcm(
            self._data, iv, view[:size], bytes(view[size:]), parameters.additionalData
        )
        if plain is None:
            raise self._failed(size, size)
        return plain

    @staticmethod
    def _iv(parameters: Parameters) -> bytes:
        if parameters.iv is None:
            raise missing("iv")
        if not parameters.iv:
            raise operation_error("AES-GCM IV must not be empty.")
        return parameters.iv

    @staticmethod
    def _tag_length(parameters: Parameters) -> int:
        length = 128 if parameters.tagLength is None else parameters.tagLength
        if length not in (32, 64, 96, 104, 112, 120, 128):
            raise operation_error(f"Invalid AES-GCM tag length {length}.")
        return length


class _CbcKey(_AesKey):
    __slots__ = ()

    def encrypt(self, parameters: Parameters, data: Octets) -> bytes:
        iv = self._iv(parameters, " bytes")
        return aes_modes.encrypt_cbc(self._data, iv, data)

    def decrypt(self, parameters: Parameters, data: Octets) -> bytes:
        iv = self._iv(parameters, "")
        plain = aes_modes.decrypt_cbc(self._data, iv, data)
        if plain is None:
            size = len(data)
            # What comes out before the last block, which holds the padding.
            raise self._failed(size, size - (size % 16 or min(size, 16)))
        return plain

    @staticmethod
    def _iv(parameters: Parameters, unit: str) -> bytes:
        if parameters.iv is None:
            raise missing("iv")
        size = len(parameters.iv)
        if size != 16:
            raise operation_error(f"AES-CBC IV must be 16 bytes long (provided {size}{unit}).")
        return parameters.iv


class _CtrKey(_AesKey):
    __slots__ = ()

    def encrypt(self, parameters: Parameters, data: Octets) -> bytes:
        counter, bits = parameters.counter, parameters.length
        if counter is None:
            raise _missing_member("counter")
        if len(counter) != 16:
            raise operation_error(
                f"Counter must have length of 16 bytes (provided {len(counter)})."
            )
        if bits is None:
            raise _missing_member("length")
        if not 0 < bits <= 128:
            raise operation_error(f"Invalid counter of {bits} bits length provided.")
        blocks = -(-len(data) // 16)
        if blocks > 1 << bits:
            raise operation_error("Counter block values will repeat.")
        # The counter is the last bits of the block; when they overflow, the rest must not change.
        start = int.from_bytes(counter, "big")
        mask = (1 << bits) - 1
        before_overflow = (mask + 1 - (start & mask)) * 16
        if len(data) <= before_overflow:
            return aes_modes.apply_ctr(self._data, counter, data)
        view = memoryview(data)
        restarted = (start & ~mask).to_bytes(16, "big")
        return aes_modes.apply_ctr(
            self._data, counter, view[:before_overflow]
        ) + aes_modes.apply_ctr(self._data, restarted, view[before_overflow:])

    decrypt = encrypt


def _missing_member(name: str) -> Exception:
    from ..error import TypeError_

    return TypeError_(f'Missing "{name}" member in "algorithm".')


class _KwKey(_AesKey):
    """A key that wraps other keys: https://www.rfc-editor.org/rfc/rfc3394"""

    __slots__ = ()

    def wrap(self, parameters: Parameters, data: Octets) -> bytes:
        size = len(data)
        if size % 8:
            raise operation_error(
                "Unwrapped key bit length must be a multiple of 64 bits but unwrapped key has a length of "
                f"{size * 8} bits."
            )
        if size < 16:
            raise operation_error(
                f"Unwrapped key has length {size} bytes but it should be greater than or equal to 16 and "
                f"less than or equal to {2**64 - 9}"
            )
        return aes_modes.wrap(self._data, bytes(data))

    def unwrap(self, parameters: Parameters, data: Octets) -> bytes:
        bits = len(data) * 8
        if bits % 64:
            raise operation_error(
                f"Provided a wrapped key to unwrap that is {bits} bits which isn't a multiple of 64 bits."
            )
        if bits < 192:
            raise operation_error(
                f"Provided a wrapped key to unwrap this is {bits} bits that is less than the minimal length "
                "of 192 bits."
            )
        plain = aes_modes.unwrap(self._data, bytes(data))
        if plain is None:
            raise operation_error("AES-KW key unwrapping failed.")
        return plain


_MODES: Final[dict[str, type[_AesKey]]] = {
    "AES-GCM": _GcmKey,
    "AES-CBC": _CbcKey,
    "AES-CTR": _CtrKey,
    "AES-KW": _KwKey,
}


def _jwk_algorithm(name: str, data: bytes) -> str:
    return f"A{len(data) * 8}{name[4:]}"


def _allowed(name: str) -> Usages:
    return _WRAPPING if name == "AES-KW" else _ENCRYPTING


def generate(
    name: str, parameters: Parameters, extractable: bool, usages: list[str]
) -> Callable[[], CryptoKey]:
    allowed = checked(name, "generate", usages, _allowed(name))
    length = parameters.length
    if length is None:
        raise missing("length")
    if length not in _SIZES:
        raise operation_error(
            f"Generated AES key length must be 128, 192, or 256 bits but requested {length}."
        )

    def make() -> CryptoKey:
        material = _MODES[name](name, os.urandom(length // 8))
        made: CryptoKey = CryptoKey._make(material, extractable, allowed)
        return made

    return make


def import_key(request: ImportRequest) -> CryptoKey:
    usages = checked(request.name, "import secret", request.usages, _allowed(request.name))
    match request.format:
        case "raw":
            data = request.octets()
            _require_size(data)
        case "jwk":
            data = _from_jwk(request.jwk(), request)
        case _:
            raise request.unknown_format()
    material = _MODES[request.name](request.name, data)
    made: CryptoKey = CryptoKey._make(material, request.extractable, usages)
    return made


def _require_size(data: bytes) -> None:
    if len(data) * 8 not in _SIZES:
        raise data_error(
            f"Imported AES key length must be 128, 192, or 256 bits but provided {len(data) * 8}."
        )


def _from_jwk(jwk: Jwk, request: ImportRequest) -> bytes:
    if jwk.kty != "oct":
        raise data_error(
            'Symmetric "jwk" key import requires a JSON Web Key with Key Type parameter "kty" equal to '
            f'"oct" (encountered "{jwk.kty}").'
        )
    data = decode(
        jwk.k, data_error, 'Symmetric "jwk" key import requires a base64Url encoding of the key.'
    )
    _require_size(data)
    expected = _jwk_algorithm(request.name, data)
    if jwk.alg is not None and jwk.alg != expected:
        raise data_error(
            f'Symmetric "jwk" key contains invalid "alg" value "{jwk.alg}", expected "{expected}".'
        )
    if request.usages and jwk.use is not None and jwk.use != "enc":
        raise data_error(f'Symmetric "jwk" key must have a "use" of "enc", not "{jwk.use}".')
    if jwk.key_ops is not None:
        _check_operations(jwk.key_ops, request.usages)
    return data


def _check_operations(operations: list[str], usages: list[str]) -> None:
    ordered = sorted(operations)
    for first, second in pairwise(ordered):
        if first == second:
            raise data_error(
                f'Symmetric "jwk" key contains duplicate value "{first}", in "key_op".'
            )
    for usage in usages:
        if usage not in operations:
            raise data_error(f'"jwk" key missing usage "{usage}", in "key_ops".')
