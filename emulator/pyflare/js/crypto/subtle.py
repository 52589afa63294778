"""``crypto.subtle``: what workers call. Arguments are read here, the work is done by the keys.

Every method but ``timingSafeEqual`` gives a promise, which is rejected for whatever is wrong with the arguments.

Source: https://developers.cloudflare.com/workers/runtime-apis/web-crypto/ and workerd ``api/crypto/crypto.c++``.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from ..array import JsArray
from ..array_buffer import ArrayBuffer, as_bytes
from ..equality import to_boolean
from ..error import TypeError_
from ..promise import JsPromise, start
from ..value import JsInstance, JsObject, JsProxy, is_nullish
from ..webidl import encode_text, text
from .errors import (
    data_error,
    missing,
    not_supported,
    operation_error,
    syntax_error,
    wrong_parameter,
)
from .hashing import find_hash, milliseconds
from .jwk import Jwk, read_jwk
from .key import CryptoKey, ImportRequest, Octets
from .off_loop import LONG, off_loop
from .parameters import (
    DERIVE_KEY,
    ENCRYPT,
    GENERATE_KEY,
    HASH,
    IMPORT_KEY,
    SIGN,
    Parameters,
    integer,
    read,
)
from .registry import find_algorithm

__all__ = ["SubtleCrypto", "subtle"]


class SubtleCrypto(JsInstance, js_name="SubtleCrypto"):
    """``crypto.subtle``. Algorithms are strings, objects or dicts; what holds bytes is an ArrayBuffer or a view."""

    def digest(self, algorithm: Any = None, data: Any = None, *_: Any) -> JsPromise:
        """The digest of the data: an ArrayBuffer."""
        return start(_digest(algorithm, data))

    def encrypt(
        self, algorithm: Any = None, key: Any = None, data: Any = None, *_: Any
    ) -> JsPromise:
        return start(_cipher("encrypt", algorithm, key, data))

    def decrypt(
        self, algorithm: Any = None, key: Any = None, data: Any = None, *_: Any
    ) -> JsPromise:
        return start(_cipher("decrypt", algorithm, key, data))

    def sign(self, algorithm: Any = None, key: Any = None, data: Any = None, *_: Any) -> JsPromise:
        return start(_sign(algorithm, key, data))

    def verify(
        self,
        algorithm: Any = None,
        key: Any = None,
        signature: Any = None,
        data: Any = None,
        *_: Any,
    ) -> JsPromise:
        """Whether the signature is good: a boolean."""
        return start(_verify(algorithm, key, signature, data))

    def generateKey(
        self, algorithm: Any = None, extractable: Any = None, usages: Any = None, *_: Any
    ) -> JsPromise:
        """A CryptoKey, or an object with ``publicKey`` and ``privateKey``."""
        return start(_generate_key(algorithm, extractable, usages))

    def deriveKey(
        self,
        algorithm: Any = None,
        base_key: Any = None,
        derived_algorithm: Any = None,
        extractable: Any = None,
        usages: Any = None,
        *_: Any,
    ) -> JsPromise:
        """A CryptoKey made of another key's secret."""
        return start(_derive_key(algorithm, base_key, derived_algorithm, extractable, usages))

    def deriveBits(
        self, algorithm: Any = None, base_key: Any = None, length: Any = None, *_: Any
    ) -> JsPromise:
        """An ArrayBuffer of ``length`` bits."""
        return start(_derive_bits(algorithm, base_key, length))

    def importKey(
        self,
        format: Any = None,
        data: Any = None,
        algorithm: Any = None,
        extractable: Any = None,
        usages: Any = None,
        *_: Any,
    ) -> JsPromise:
        """A CryptoKey. ``format`` is ``raw``, ``pkcs8``, ``spki`` or ``jwk``; a JWK comes as an object."""
        return start(_import_key(format, data, algorithm, extractable, usages))

    def exportKey(self, format: Any = None, key: Any = None, *_: Any) -> JsPromise:
        """An ArrayBuffer, or an object for the format ``jwk``."""
        return start(_export_key(format, key))

    def wrapKey(
        self,
        format: Any = None,
        key: Any = None,
        wrapping_key: Any = None,
        algorithm: Any = None,
        *_: Any,
        **parameters: Any,
    ) -> JsPromise:
        """A key exported and encrypted: an ArrayBuffer. Keyword arguments make up the last argument."""
        if parameters:
            algorithm = JsObject.adopt(parameters)
        return start(_wrap_key(format, key, wrapping_key, algorithm))

    def unwrapKey(
        self,
        format: Any = None,
        wrapped: Any = None,
        unwrapping_key: Any = None,
        unwrap_algorithm: Any = None,
        key_algorithm: Any = None,
        extractable: Any = None,
        usages: Any = None,
        *_: Any,
    ) -> JsPromise:
        """A key decrypted and imported: a CryptoKey."""
        return start(
            _unwrap_key(
                format,
                wrapped,
                unwrapping_key,
                unwrap_algorithm,
                key_algorithm,
                extractable,
                usages,
            )
        )

    def timingSafeEqual(self, left: Any = None, right: Any = None, *_: Any) -> bool:
        """Compare two buffers in a time that depends on their size only.

        Raises: TypeError for other things than buffers and for unequal sizes.
        """
        first = _octets("timingSafeEqual", 1, left)
        second = _octets("timingSafeEqual", 2, right)
        if len(first) != len(second):
            raise TypeError_("Input buffers must have the same byte length.")
        return hmac.compare_digest(first, second)


subtle: Final[SubtleCrypto] = SubtleCrypto._make()


# Reading arguments.


def _octets(method: str, position: int, value: Any) -> Octets:
    data = as_bytes(value)
    if data is None:
        raise wrong_parameter(method, position, "BufferSource")
    return data


def _key(method: str, position: int, value: Any) -> CryptoKey:
    if not isinstance(value, CryptoKey):
        raise wrong_parameter(method, position, "CryptoKey")
    return value


def _usages(method: str, position: int, value: Any) -> list[str]:
    if not isinstance(value, JsArray | list | tuple):
        raise wrong_parameter(method, position, "Array")
    return [text(usage) for usage in value]


def _import_data(value: Any) -> Octets | Jwk:
    data = as_bytes(value)
    if data is not None:
        return data
    if is_nullish(value) or isinstance(value, str | int | float):
        raise wrong_parameter("importKey", 2, "BufferSource or JsonWebKey")
    return read_jwk(value)


# Doing the work.


async def _run(job: Callable[..., Any], milliseconds: float, *arguments: Any) -> Any:
    """Compute here what is short, on a thread what is long: with copies, since a worker may go on writing."""
    if milliseconds < LONG:
        return job(*arguments)
    kept = [
        bytes(argument) if isinstance(argument, memoryview) else argument for argument in arguments
    ]
    return await off_loop(partial(job, *kept))


async def _digest(algorithm: Any, data: Any) -> ArrayBuffer:
    name = read(algorithm, HASH).name
    octets = _octets("digest", 2, data)
    hash = find_hash(name)
    return ArrayBuffer.adopt(await _run(hash.digest, milliseconds(len(octets)), octets))


async def _cipher(operation: str, algorithm: Any, key: Any, data: Any) -> ArrayBuffer:
    """Encrypt or decrypt."""
    parameters = read(algorithm, ENCRYPT)
    checked_key = _key(operation, 2, key)
    octets = _octets(operation, 3, data)
    checked_key.require(parameters.name, operation)
    material = checked_key._material
    estimate = material.milliseconds(parameters, len(octets))
    return ArrayBuffer.adopt(await _run(getattr(material, operation), estimate, parameters, octets))


async def _sign(algorithm: Any, key: Any, data: Any) -> ArrayBuffer:
    parameters = read(algorithm, SIGN)
    checked_key = _key("sign", 2, key)
    octets = _octets("sign", 3, data)
    checked_key.require(parameters.name, "sign")
    material = checked_key._material
    estimate = material.milliseconds(parameters, len(octets))
    return ArrayBuffer.adopt(await _run(material.sign, estimate, parameters, octets))


async def _verify(algorithm: Any, key: Any, signature: Any, data: Any) -> bool:
    parameters = read(algorithm, SIGN)
    checked_key = _key("verify", 2, key)
    given = _octets("verify", 3, signature)
    octets = _octets("verify", 4, data)
    checked_key.require(parameters.name, "verify")
    material = checked_key._material
    estimate = material.milliseconds(parameters, len(octets))
    good: bool = await _run(material.verify, estimate, parameters, given, octets)
    return good


async def _generate_key(algorithm: Any, extractable: Any, usages: Any) -> Any:
    parameters = read(algorithm, GENERATE_KEY)
    wanted = _usages("generateKey", 3, usages)
    found = find_algorithm(parameters.name)
    if found is None or not found.generates:
        raise not_supported(f'Unrecognized key generation algorithm "{parameters.name}" requested.')
    make: Callable[[], Any] = found.load().generate(
        found.name, parameters, to_boolean(extractable), wanted
    )
    # Making a pair of RSA keys takes long, everything else microseconds.
    made = await off_loop(make) if found.module == "rsa_keys" else make()
    if isinstance(made, CryptoKey):
        _require_usages(made)
    elif not made.privateKey._usages:
        raise syntax_error("Attempt to generate asymmetric keys with no valid private key usages.")
    return made


def _require_usages(key: CryptoKey) -> None:
    if not key._usages and key._material.kind != "public":
        raise syntax_error("Secret/private CryptoKeys must have at least one usage.")


async def _derive(base_key: CryptoKey, parameters: Parameters, length: int | None) -> bytes:
    material = base_key._material
    estimate = material.milliseconds(parameters, length or 0)
    secret: bytes = await _run(material.derive_bits, estimate, parameters, length)
    return secret


async def _derive_key(
    algorithm: Any, base_key: Any, derived_algorithm: Any, extractable: Any, usages: Any
) -> CryptoKey:
    parameters = read(algorithm, DERIVE_KEY)
    key = _key("deriveKey", 2, base_key)
    derived = read(derived_algorithm, IMPORT_KEY)
    wanted = _usages("deriveKey", 5, usages)
    key.require(parameters.name, "deriveKey")
    secret = await _derive(key, parameters, _derived_length(derived))
    return _import("raw", secret, derived, to_boolean(extractable), wanted)


def _derived_length(derived: Parameters) -> int | None:
    """How many bits a key of the algorithm takes, None for as many as there are."""
    name = derived.name.upper()
    if name in ("AES-CTR", "AES-CBC", "AES-GCM", "AES-KW"):
        if derived.length is None:
            raise missing("length", "derivedKeyParams")
        if derived.length not in (128, 192, 256):
            raise operation_error(
                f"Derived AES key must be 128, 192, or 256 bits in length but provided {derived.length}."
            )
        return derived.length
    if name == "HMAC":
        if derived.length is None:
            return derived.required_hash("derivedKeyParams").block * 8
        if derived.length <= 0:
            raise TypeError_("HMAC key length must be a non-zero unsigned long integer.")
        return derived.length
    if name in ("HKDF", "PBKDF2"):
        return None
    raise not_supported(f'Unrecognized derived key type "{derived.name}" requested.')


async def _derive_bits(algorithm: Any, base_key: Any, length: Any) -> ArrayBuffer:
    parameters = read(algorithm, DERIVE_KEY)
    key = _key("deriveBits", 2, base_key)
    bits = None if is_nullish(length) else integer(length)
    if bits is not None and bits < 0:
        raise TypeError_("deriveBits length must be an unsigned long integer.")
    key.require(parameters.name, "deriveBits")
    return ArrayBuffer.adopt(await _derive(key, parameters, bits))


def _import(
    format: str, data: Octets | Jwk, parameters: Parameters, extractable: bool, usages: list[str]
) -> CryptoKey:
    if format in ("raw", "pkcs8", "spki"):
        if isinstance(data, Jwk):
            raise TypeError_(
                'Import data provided for "raw", "pkcs8", or "spki" import formats must be a buffer source.'
            )
        data = bytes(data)
    elif format == "jwk":
        if not isinstance(data, Jwk):
            raise TypeError_('Import data provided for "jwk" import format must be a JsonWebKey.')
        if data.ext is False and extractable:
            raise data_error(
                f'JWK ext field for "{parameters.name}" is set to false but extractable is true'
            )
    else:
        raise not_supported(f'Unrecognized key import format "{format}".')
    found = find_algorithm(parameters.name)
    if found is None:
        raise not_supported(f'Unrecognized key import algorithm "{parameters.name}" requested.')
    request = ImportRequest(found.name, format, data, parameters, extractable, usages)
    key: CryptoKey = found.load().import_key(request)
    _require_usages(key)
    return key


async def _import_key(
    format: Any, data: Any, algorithm: Any, extractable: Any, usages: Any
) -> CryptoKey:
    given = _import_data(data)
    parameters = read(algorithm, IMPORT_KEY)
    wanted = _usages("importKey", 5, usages)
    return _import(text(format), given, parameters, to_boolean(extractable), wanted)


async def _export_key(format: Any, key: Any) -> ArrayBuffer | JsObject:
    exported = _key("exportKey", 2, key).export(text(format))
    return exported.to_object() if isinstance(exported, Jwk) else ArrayBuffer.adopt(exported)


async def _wrap_key(format: Any, key: Any, wrapping_key: Any, algorithm: Any) -> ArrayBuffer:
    checked_key = _key("wrapKey", 2, key)
    wrapping = _key("wrapKey", 3, wrapping_key)
    parameters = read(algorithm, ENCRYPT)
    wrapping.require(parameters.name, "wrapKey")
    exported = checked_key.export(text(format))
    if isinstance(exported, Jwk):
        from ..json import stringify

        exported = encode_text(stringify(exported.to_object()))
    return ArrayBuffer.adopt(wrapping._material.wrap(parameters, exported))


async def _unwrap_key(
    format: Any,
    wrapped: Any,
    unwrapping_key: Any,
    unwrap_algorithm: Any,
    key_algorithm: Any,
    extractable: Any,
    usages: Any,
) -> CryptoKey:
    octets = _octets("unwrapKey", 2, wrapped)
    unwrapping = _key("unwrapKey", 3, unwrapping_key)
    parameters = read(unwrap_algorithm, ENCRYPT)
    key_parameters = read(key_algorithm, IMPORT_KEY)
    wanted = _usages("unwrapKey", 7, usages)
    unwrapping.require(parameters.name, "unwrapKey")
    plain = unwrapping._material.unwrap(parameters, octets)
    format_name = text(format)
    data = _parsed_jwk(plain) if format_name == "jwk" else plain
    return _import(format_name, data, key_parameters, to_boolean(extractable), wanted)


def _parsed_jwk(plain: bytes) -> Jwk:
    """Raises: SyntaxError for what is no JSON, DataError for what is no object."""
    from ..json import parse

    value = parse(str(plain, "utf-8", "replace"))
    if not isinstance(value, JsProxy):
        raise data_error('Missing "kty" field or corrupt JSON unwrapping key?')
    return read_jwk(value)
