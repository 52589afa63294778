"""Keys of ``crypto.subtle``: what they say about themselves, how arguments may come, what comes back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyflare.js.array import JsArray
from pyflare.js.array_buffer import ArrayBuffer
from pyflare.js.crypto.key import CryptoKey
from pyflare.js.crypto.off_loop import LONG
from pyflare.js.crypto.subtle import SubtleCrypto, subtle
from pyflare.js.crypto_random import crypto
from pyflare.js.error import JsException
from pyflare.js.from_python import to_js
from pyflare.js.globals import resolve
from pyflare.js.inspect_value import inspect
from pyflare.js.json import stringify
from pyflare.js.structured_clone import structured_clone
from pyflare.js.typed_array_kinds import Uint8Array
from pyflare.js.value import JsObject, js_class_name
from tests.emulator.web.crypto_samples import PRIVATE_RSA_JWK, RSA_JWK, rsa_key


async def hmac_key(*usages: str, extractable: bool = True, **parameters: Any) -> Any:
    algorithm = {"name": "HMAC", "hash": "SHA-256", **parameters}
    return await subtle.generateKey(algorithm, extractable, list(usages or ("sign",)))


def test_globals() -> None:
    assert crypto.subtle is subtle
    assert resolve("SubtleCrypto") is SubtleCrypto
    assert resolve("CryptoKey") is CryptoKey
    assert str(subtle) == "[object SubtleCrypto]"
    with pytest.raises(JsException, match="Illegal constructor"):
        CryptoKey.new()


def test_a_secret_key_describes_itself() -> None:
    async def check() -> None:
        key = await subtle.generateKey(
            {"name": "aes-gcm", "length": 192}, True, ["decrypt", "wrapKey", "encrypt"]
        )
        assert (key.type, key.extractable) == ("secret", True)
        assert stringify(key.algorithm) == '{"name":"AES-GCM","length":192}'
        assert list(key.usages) == ["encrypt", "decrypt", "wrapKey"]
        assert list(key.object_keys()) == ["type", "extractable", "algorithm", "usages"]
        assert js_class_name(key) == "CryptoKey"

    asyncio.run(check())


@pytest.mark.parametrize(
    ("algorithm", "usages", "described", "public_usages", "private_usages"),
    [
        (
            {"name": "ecdsa", "namedCurve": "p-384"},
            ["verify", "sign"],
            '{"name":"ECDSA","namedCurve":"P-384"}',
            ["verify"],
            ["sign"],
        ),
        (
            {"name": "ECDH", "namedCurve": "P-256"},
            ["deriveBits", "deriveKey"],
            '{"name":"ECDH","namedCurve":"P-256"}',
            [],
            ["deriveKey", "deriveBits"],
        ),
        ("ed25519", ["sign"], '{"name":"Ed25519"}', [], ["sign"]),
        ("X25519", ["deriveKey"], '{"name":"X25519"}', [], ["deriveKey"]),
        (
            {"name": "NODE-ED25519", "namedCurve": "NODE-ED25519"},
            ["sign"],
            '{"name":"NODE-ED25519","namedCurve":"NODE-ED25519"}',
            [],
            ["sign"],
        ),
        (
            {
                "name": "RSA-OAEP",
                "hash": "sha-512",
                "modulusLength": 1024,
                "publicExponent": b"\0\1\0\1",
            },
            ["encrypt", "decrypt", "wrapKey", "unwrapKey"],
            '{"name":"RSA-OAEP","modulusLength":1024,"publicExponent":{"0":1,"1":0,"2":1},'
            '"hash":{"name":"SHA-512"}}',
            ["encrypt", "wrapKey"],
            ["decrypt", "unwrapKey"],
        ),
    ],
)
def test_a_pair_shares_its_usages_out(
    algorithm: Any,
    usages: list[str],
    described: str,
    public_usages: list[str],
    private_usages: list[str],
) -> None:
    async def check() -> None:
        pair = await subtle.generateKey(algorithm, False, usages)
        public, private = pair.publicKey, pair.privateKey
        assert (public.type, private.type) == ("public", "private")
        # A public key never needs to stay.
        assert (public.extractable, private.extractable) == (True, False)
        assert list(public.usages) == public_usages
        assert list(private.usages) == private_usages
        assert stringify(public.algorithm) == stringify(private.algorithm) == described

    asyncio.run(check())


def test_the_public_exponent_is_a_typed_array() -> None:
    async def check() -> None:
        exponent = (await rsa_key("RSA-PSS", "verify")).algorithm.publicExponent
        assert type(exponent) is Uint8Array
        assert exponent.to_bytes() == b"\1\0\1"

    asyncio.run(check())


def test_the_console_shows_no_secret() -> None:
    async def check() -> None:
        key = await subtle.importKey("raw", b"secret", {"name": "HKDF"}, False, ["deriveKey"])
        assert " ".join(inspect(key).split()) == (
            "CryptoKey { usages: [ 'deriveKey' ], algorithm: { name: 'HKDF' }, extractable: false, "
            "type: 'secret' }"
        )

    asyncio.run(check())


def test_a_key_cannot_be_cloned() -> None:
    async def check() -> None:
        with pytest.raises(JsException, match="DataCloneError"):
            structured_clone(await hmac_key())

    asyncio.run(check())


ALGORITHM = {"name": "HMAC", "hash": {"name": "SHA-256"}}


@pytest.mark.parametrize(
    "algorithm",
    [
        ALGORITHM,
        to_js(ALGORITHM),
        to_js(ALGORITHM, dict_converter=JsObject.fromEntries),
        {"name": "hmac", "hash": "sha-256"},
    ],
)
@pytest.mark.parametrize(
    "usages", [["sign", "verify"], ("sign", "verify"), JsArray.of("sign", "verify")]
)
def test_algorithms_and_usages_may_be_python_or_javascript(algorithm: Any, usages: Any) -> None:
    async def check() -> None:
        key = await subtle.importKey("raw", Uint8Array.new(b"key"), algorithm, False, usages)
        assert stringify(key.algorithm) == '{"name":"HMAC","hash":{"name":"SHA-256"},"length":24}'
        assert list(key.usages) == ["sign", "verify"]

    asyncio.run(check())


@pytest.mark.parametrize(
    "data",
    [
        b"abc",
        bytearray(b"abc"),
        memoryview(b"xabcx")[1:4],
        ArrayBuffer.adopt(b"abc"),
        Uint8Array.new(ArrayBuffer.adopt(b"xabcx"), 1, 3),
    ],
    ids=lambda data: type(data).__name__,
)
def test_data_may_be_any_buffer(data: Any) -> None:
    async def check() -> None:
        digest = await subtle.digest("SHA-1", data)
        assert type(digest) is ArrayBuffer
        assert digest.to_bytes().hex() == "a9993e364706816aba3e25717850c26c9cd0d89d"

    asyncio.run(check())


def test_extractability_is_javascript_truth() -> None:
    async def check() -> None:
        for value, expected in ((JsArray.of(), True), (0, False), (None, False), ("no", True)):
            assert (await hmac_key(extractable=value)).extractable is expected  # type: ignore[arg-type]

    asyncio.run(check())


def test_an_imported_key_does_not_follow_its_buffer() -> None:
    async def check() -> None:
        source = bytearray(b"secret")
        key = await subtle.importKey("raw", source, ALGORITHM, True, ["sign"])
        source[:] = b"public"
        assert (await subtle.exportKey("raw", key)).to_bytes() == b"secret"

    asyncio.run(check())


def test_an_exported_key_is_a_copy() -> None:
    async def check() -> None:
        key = await subtle.importKey("raw", b"secret", ALGORITHM, True, ["sign"])
        Uint8Array.new(await subtle.exportKey("raw", key))[0] = 0
        assert (await subtle.exportKey("raw", key)).to_bytes() == b"secret"

    asyncio.run(check())


def test_spare_bits_of_an_hmac_key_are_zero() -> None:
    async def check() -> None:
        key = await subtle.importKey(
            "raw", b"\xff\xff", {**ALGORITHM, "length": 11}, True, ["sign"]
        )
        assert (await subtle.exportKey("raw", key)).to_bytes() == b"\xff\xe0"
        assert key.algorithm.length == 11
        made = await subtle.exportKey("raw", await hmac_key(length=9))
        assert made.byteLength == 2
        assert made.to_bytes()[1] & 0x7F == 0

    asyncio.run(check())


@pytest.mark.parametrize(
    ("hash", "bits"), [("SHA-1", 512), ("SHA-256", 512), ("SHA-384", 1024), ("SHA-512", 1024)]
)
def test_an_hmac_key_is_as_long_as_a_block_by_default(hash: str, bits: int) -> None:
    async def check() -> None:
        key = await hmac_key(hash=hash)
        assert key.algorithm.length == bits
        assert (await subtle.exportKey("raw", key)).byteLength * 8 == bits

    asyncio.run(check())


@pytest.mark.parametrize(
    ("name", "curve", "members"),
    [
        ("HMAC", None, ["kty", "key_ops", "alg", "ext", "k"]),
        ("ECDSA", "P-256", ["kty", "key_ops", "ext", "crv", "x", "y", "d"]),
        ("Ed25519", None, ["kty", "key_ops", "alg", "ext", "crv", "x", "d"]),
        ("NODE-ED25519", "NODE-ED25519", ["kty", "key_ops", "ext", "crv", "x", "d"]),
    ],
)
def test_members_of_an_exported_jwk(name: str, curve: str | None, members: list[str]) -> None:
    async def check() -> None:
        algorithm = {"name": name, "namedCurve": curve, "hash": "SHA-384"}
        made = await subtle.generateKey(algorithm, True, ["sign"])
        jwk = await subtle.exportKey("jwk", getattr(made, "privateKey", made))
        assert list(jwk.object_keys()) == members
        assert (list(jwk.key_ops), jwk.ext) == (["sign"], True)

    asyncio.run(check())


@pytest.mark.parametrize(
    ("name", "hash", "alg"),
    [
        ("RSASSA-PKCS1-v1_5", "SHA-1", "RS1"),
        ("RSA-PSS", "SHA-384", "PS384"),
        ("RSA-OAEP", "SHA-1", "RSA-OAEP"),
        ("RSA-OAEP", "SHA-512", "RSA-OAEP-512"),
    ],
)
def test_the_algorithm_of_an_exported_rsa_key(name: str, hash: str, alg: str) -> None:
    async def check() -> None:
        usage = "encrypt" if name == "RSA-OAEP" else "verify"
        jwk = await subtle.exportKey("jwk", await rsa_key(name, usage, hash=hash))
        assert jwk.alg == alg
        assert (jwk.n, jwk.e) == (RSA_JWK["n"], RSA_JWK["e"])
        again = await subtle.importKey("jwk", jwk, {"name": name, "hash": hash}, True, [usage])
        assert again.algorithm.hash.name == hash

    asyncio.run(check())


def test_bits_that_were_not_asked_for_are_zero() -> None:
    async def check() -> None:
        algorithm = {"name": "ECDH", "namedCurve": "P-256"}
        pair = await subtle.generateKey(algorithm, True, ["deriveBits"])
        call = {"name": "ECDH", "public": pair.publicKey}
        whole = (await subtle.deriveBits(call, pair.privateKey, None)).to_bytes()
        part = (await subtle.deriveBits(call, pair.privateKey, 12)).to_bytes()
        assert part == bytes([whole[0], whole[1] & 0xF0])
        assert (await subtle.deriveBits(call, pair.privateKey, 0)).byteLength == 0

    asyncio.run(check())


def test_the_bare_rsa_operation() -> None:
    async def check() -> None:
        key = await subtle.importKey("jwk", PRIVATE_RSA_JWK, "RSA-RAW", True, ["sign"])
        assert stringify(key.algorithm).startswith('{"name":"RSA-RAW","modulusLength":2048,')
        public = await rsa_key("RSA-PSS", "verify")
        numbers = public._material._public_numbers()
        signature = (await subtle.sign("RSA-RAW", key, b"blinded message")).to_bytes()
        opened = pow(int.from_bytes(signature, "big"), numbers.e, numbers.n)
        assert opened == int.from_bytes(b"blinded message", "big")
        for data, reason in ((bytes(257), "smaller than the key"), (b"\xff" * 256, "modulus")):
            with pytest.raises(JsException, match=reason):
                await subtle.sign("RSA-RAW", key, data)
        with pytest.raises(JsException, match="JWK export not supported"):
            await subtle.exportKey("jwk", key)

    asyncio.run(check())


def test_a_signature_of_a_wrong_size_is_no_error() -> None:
    async def check() -> None:
        pair = await subtle.generateKey(
            {"name": "ECDSA", "namedCurve": "P-256"}, True, ["sign", "verify"]
        )
        call = {"name": "ECDSA", "hash": "SHA-256"}
        for signature in (b"", bytes(63), bytes(64)):
            assert await subtle.verify(call, pair.publicKey, signature, b"") is False
        key = await rsa_key("RSASSA-PKCS1-v1_5", "verify")
        assert await subtle.verify("RSASSA-PKCS1-v1_5", key, bytes(255), b"") is False

    asyncio.run(check())


def test_rsa_signatures_over_md5() -> None:
    async def check() -> None:
        name = "RSASSA-PKCS1-v1_5"
        private = await rsa_key(name, "sign", hash="MD5", private=True)
        public = await rsa_key(name, "verify", hash="MD5")
        signature = await subtle.sign(name, private, b"data")
        assert await subtle.verify(name, public, signature, b"data") is True

    asyncio.run(check())


def test_the_last_argument_of_wrapping_may_come_as_keywords() -> None:
    async def check() -> None:
        wrapping = await subtle.importKey("raw", bytes(16), "AES-GCM", False, ["wrapKey"])
        key = await subtle.importKey("raw", b"secret", ALGORITHM, True, ["sign"])
        algorithm = {"name": "AES-GCM", "iv": bytes(12)}
        wrapped = await subtle.wrapKey("raw", key, wrapping, algorithm)
        assert (
            await subtle.wrapKey("raw", key, wrapping, **algorithm)
        ).to_bytes() == wrapped.to_bytes()

    asyncio.run(check())


def test_buffers_are_compared_by_content() -> None:
    assert subtle.timingSafeEqual(Uint8Array.new(b"same"), ArrayBuffer.adopt(b"same")) is True
    assert subtle.timingSafeEqual(Uint8Array.new(b"same"), ArrayBuffer.adopt(b"soup")) is False
    with pytest.raises(JsException) as caught:
        subtle.timingSafeEqual(b"short", b"long enough")
    assert str(caught.value) == "TypeError: Input buffers must have the same byte length."
    with pytest.raises(JsException, match="parameter 2 is not of type 'BufferSource'"):
        subtle.timingSafeEqual(b"text", "text")


class TestLongComputations:
    """What takes long leaves the event loop, what is short is done at once."""

    def test_short_ones_are_done_at_once(self) -> None:
        async def check() -> None:
            assert subtle.digest("SHA-256", b"abc").done()

        asyncio.run(check())

    def test_a_long_digest_leaves_the_loop_with_a_copy_of_its_data(self) -> None:
        async def check() -> None:
            data = bytearray(int(LONG * 500_000))
            expected = await subtle.digest("SHA-1", bytes(len(data)))
            under_way = subtle.digest("SHA-1", data)
            assert not under_way.done()
            data[:] = b"x" * len(data)
            assert (await under_way).to_bytes() == expected.to_bytes()

        asyncio.run(check())

    def test_many_rounds_of_pbkdf2_leave_the_loop(self) -> None:
        async def check() -> None:
            key = await subtle.importKey("raw", b"password", "PBKDF2", False, ["deriveBits"])
            algorithm = {"name": "PBKDF2", "hash": "SHA-256", "salt": b"", "iterations": 100_000}
            under_way = subtle.deriveBits(algorithm, key, 256)
            assert not under_way.done()
            assert (await under_way).byteLength == 32

        asyncio.run(check())

    def test_the_search_for_primes_leaves_the_loop(self) -> None:
        async def check() -> None:
            algorithm = {
                "name": "RSA-PSS",
                "hash": "SHA-256",
                "modulusLength": 1024,
                "publicExponent": b"\1\0\1",
            }
            under_way = subtle.generateKey(algorithm, True, ["sign"])
            assert not under_way.done()
            assert (await under_way).privateKey.algorithm.modulusLength == 1024

        asyncio.run(check())

    def test_an_error_comes_back_from_the_thread(self) -> None:
        async def check() -> None:
            key = await subtle.importKey("raw", bytes(16), "AES-GCM", False, ["decrypt"])
            algorithm = {"name": "AES-GCM", "iv": bytes(12)}
            with pytest.raises(JsException, match="OperationError: Decryption failed"):
                await subtle.decrypt(algorithm, key, bytes(int(LONG * 500_000)))

        asyncio.run(check())
