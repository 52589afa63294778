"""``crypto.subtle`` gives what the standards' own examples say."""

from __future__ import annotations

import asyncio
import base64
import random
from typing import Any

import pytest

from pyflare.js.crypto.aes_modes import seal_gcm
from pyflare.js.crypto.gcm_any_iv import GcmAnyIv
from pyflare.js.crypto.subtle import subtle
from tests.emulator.web.crypto_samples import RSA_JWK, RSA_SECRET, url64

b = bytes.fromhex


async def imported(
    data: bytes | dict[str, Any], algorithm: Any, *usages: str, format: str = "raw"
) -> Any:
    return await subtle.importKey(format, data, algorithm, False, list(usages))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("SHA-1", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        ("SHA-256", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "SHA-384",
            "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed"
            "8086072ba1e7cc2358baeca134c825a7",
        ),
        (
            "SHA-512",
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
            "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        ),
        ("MD5", "900150983cd24fb0d6963f7d28e17f72"),
        ("sha-256", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    ],
)
def test_digests_of_fips_180_and_rfc_1321(name: str, expected: str) -> None:
    async def check() -> None:
        for algorithm in (name, {"name": name}):
            assert (await subtle.digest(algorithm, b"abc")).to_bytes() == b(expected)

    asyncio.run(check())


@pytest.mark.parametrize(
    ("hash", "expected"),
    [
        ("SHA-1", "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
        ("SHA-256", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
        (
            "SHA-384",
            "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e"
            "8e2240ca5e69e2c78b3239ecfab21649",
        ),
        (
            "SHA-512",
            "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
            "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737",
        ),
        ("MD5", "750c783e6ab0b503eaa86e310a5db738"),
    ],
)
def test_hmac_of_rfc_2202_and_rfc_4231(hash: str, expected: str) -> None:
    async def check() -> None:
        key = await imported(b"Jefe", {"name": "HMAC", "hash": hash}, "sign", "verify")
        data = b"what do ya want for nothing?"
        assert (await subtle.sign("HMAC", key, data)).to_bytes() == b(expected)
        assert await subtle.verify("HMAC", key, b(expected), data) is True

    asyncio.run(check())


@pytest.mark.parametrize(
    ("salt", "info", "expected"),
    [
        (
            "000102030405060708090a0b0c",
            "f0f1f2f3f4f5f6f7f8f9",
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865",
        ),
        (
            "",
            "",
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8",
        ),
    ],
)
def test_hkdf_of_rfc_5869(salt: str, info: str, expected: str) -> None:
    async def check() -> None:
        key = await imported(b"\x0b" * 22, "HKDF", "deriveBits")
        algorithm = {"name": "HKDF", "hash": "SHA-256", "salt": b(salt), "info": b(info)}
        assert (await subtle.deriveBits(algorithm, key, 42 * 8)).to_bytes() == b(expected)

    asyncio.run(check())


@pytest.mark.parametrize(
    ("iterations", "expected"),
    [
        (1, "0c60c80f961f0e71f3a9b524af6012062fe037a6"),
        (4096, "4b007901b765489abead49d926f721d065a429c1"),
    ],
)
def test_pbkdf2_of_rfc_6070(iterations: int, expected: str) -> None:
    async def check() -> None:
        key = await imported(b"password", "PBKDF2", "deriveBits")
        algorithm = {"name": "PBKDF2", "hash": "SHA-1", "salt": b"salt", "iterations": iterations}
        assert (await subtle.deriveBits(algorithm, key, 160)).to_bytes() == b(expected)

    asyncio.run(check())


BLOCKS = b(
    "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
    "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710"
)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (
            "2b7e151628aed2a6abf7158809cf4f3c",
            "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2"
            "73bed6b8e3c1743b7116e69e222295163ff1caa1681fac09120eca307586e1a7",
        ),
        (
            "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
            "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d"
            "39f23369a9d9bacfa530e26304231461b2eb05e2c39be9fcda6c19078c6a9d1b",
        ),
    ],
)
def test_aes_cbc_of_sp_800_38a(key: str, expected: str) -> None:
    async def check() -> None:
        loaded = await imported(b(key), "AES-CBC", "encrypt", "decrypt")
        algorithm = {"name": "AES-CBC", "iv": bytes(range(16))}
        sealed = await subtle.encrypt(algorithm, loaded, BLOCKS)
        # Web Crypto adds a block of padding.
        assert sealed.to_bytes()[:64] == b(expected)
        assert (await subtle.decrypt(algorithm, loaded, sealed)).to_bytes() == BLOCKS

    asyncio.run(check())


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (
            "2b7e151628aed2a6abf7158809cf4f3c",
            "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff"
            "5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee",
        ),
        (
            "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
            "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5"
            "2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6",
        ),
    ],
)
def test_aes_ctr_of_sp_800_38a(key: str, expected: str) -> None:
    async def check() -> None:
        loaded = await imported(b(key), "AES-CTR", "encrypt", "decrypt")
        counter = b("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
        algorithm = {"name": "AES-CTR", "counter": counter, "length": 128}
        assert (await subtle.encrypt(algorithm, loaded, BLOCKS)).to_bytes() == b(expected)
        assert (await subtle.decrypt(algorithm, loaded, b(expected))).to_bytes() == BLOCKS

    asyncio.run(check())


@pytest.mark.parametrize(
    ("iv", "sealed", "tag"),
    [
        (
            "cafebabefacedbaddecaf888",
            "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
            "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091",
            "5bc94fbc3221a5db94fae95ae7121a47",
        ),
        (
            "cafebabefacedbad",
            "61353b4c2806934a777ff51fa22a4755699b2a714fcdc6f83766e5f97b6c7423"
            "73806900e49f24b22b097544d4896b424989b5e1ebac0f07c23f4598",
            "3612d2e79e3b0785561be14aaca2fccb",
        ),
        (
            "9313225df88406e555909c5aff5269aa6a7a9538534f7da1e4c303d2a318a728"
            "c3c0c95156809539fcf0e2429a6b525416aedbf5a0de6a57a637b39b",
            "8ce24998625615b603a033aca13fb894be9112a5c3a211a8ba262a3cca7e2ca7"
            "01e4a9a4fba43c90ccdcb281d48c7c6fd62875d2aca417034c34aee5",
            "619cc5aefffe0bfa462af43c1699d050",
        ),
    ],
)
def test_aes_gcm_of_its_specification(iv: str, sealed: str, tag: str) -> None:
    async def check() -> None:
        key = await imported(b("feffe9928665731c6d6a8f9467308308"), "AES-GCM", "encrypt", "decrypt")
        algorithm = {
            "name": "AES-GCM",
            "iv": b(iv),
            "additionalData": b("feedfacedeadbeeffeedfacedeadbeefabaddad2"),
        }
        plain = b(
            "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
            "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"
        )
        assert (await subtle.encrypt(algorithm, key, plain)).to_bytes() == b(sealed + tag)
        assert (await subtle.decrypt(algorithm, key, b(sealed + tag))).to_bytes() == plain

    asyncio.run(check())


@pytest.mark.parametrize("size", [8, 11, 13, 16, 60, 128])
@pytest.mark.parametrize("length", [0, 1, 16, 333])
def test_gcm_for_odd_vectors_agrees_with_the_library_where_that_takes_them(
    size: int, length: int
) -> None:
    choose = random.Random(size)
    key, iv, data, additional = map(choose.randbytes, (32, size, length, 21))
    sealed = seal_gcm(key, iv, data, additional, 12)
    own = GcmAnyIv(key, iv)
    assert own.seal(data, additional, 12) == sealed
    assert own.open(sealed[:-12], sealed[-12:], additional) == data
    assert own.open(sealed[:-12], sealed[-12:], b"") is None


@pytest.mark.parametrize("size", [1, 7, 129, 300])
def test_gcm_takes_vectors_of_every_size(size: int) -> None:
    async def check() -> None:
        key = await imported(bytes(16), "AES-GCM", "encrypt", "decrypt")
        algorithm = {"name": "AES-GCM", "iv": bytes(size)}
        sealed = await subtle.encrypt(algorithm, key, BLOCKS)
        assert (await subtle.decrypt(algorithm, key, sealed)).to_bytes() == BLOCKS

    asyncio.run(check())


@pytest.mark.parametrize(
    ("wrapping", "inner", "expected"),
    [
        (16, 16, "1FA68B0A8112B447AEF34BD8FB5A7B829D3E862371D2CFE5"),
        (
            32,
            32,
            "28C9F404C4B810F4CBCCB35CFB87F8263F5786E2D80ED326CBC7F0E71A99F43BFB988B9B7A02DD21",
        ),
    ],
)
def test_aes_kw_of_rfc_3394(wrapping: int, inner: int, expected: str) -> None:
    async def check() -> None:
        key = await imported(bytes(range(wrapping)), "AES-KW", "wrapKey", "unwrapKey")
        data = b("00112233445566778899AABBCCDDEEFF000102030405060708090A0B0C0D0E0F")[:inner]
        secret = await subtle.importKey("raw", data, "AES-CBC", True, ["encrypt"])
        assert (await subtle.wrapKey("raw", secret, key, "AES-KW")).to_bytes() == b(expected)
        unwrapped = await subtle.unwrapKey(
            "raw", b(expected), key, "AES-KW", "AES-CBC", True, ["encrypt"]
        )
        assert (await subtle.exportKey("raw", unwrapped)).to_bytes() == data

    asyncio.run(check())


@pytest.mark.parametrize("name", ["Ed25519", "NODE-ED25519"])
@pytest.mark.parametrize(
    ("secret", "public", "message", "signature"),
    [
        (
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555"
            "fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
        ),
        (
            "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
            "af82",
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac1"
            "8ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
        ),
    ],
)
def test_ed25519_of_rfc_8032(
    name: str, secret: str, public: str, message: str, signature: str
) -> None:
    async def check() -> None:
        algorithm = {"name": name, "namedCurve": name}
        jwk = {"kty": "OKP", "crv": "Ed25519", "x": url64(b(public)), "d": url64(b(secret))}
        private = await imported(jwk, algorithm, "sign", format="jwk")
        assert (await subtle.sign(name, private, b(message))).to_bytes() == b(signature)
        key = await imported(b(public), algorithm, "verify")
        assert await subtle.verify(name, key, b(signature), b(message)) is True
        assert await subtle.verify(name, key, b(signature), b(message) + b"!") is False

    asyncio.run(check())


def test_x25519_of_rfc_7748() -> None:
    async def check() -> None:
        secret = b("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")
        public = b("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f")
        peer = b("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a")
        jwk = {"kty": "OKP", "crv": "X25519", "x": url64(public), "d": url64(secret)}
        own = await imported(jwk, "X25519", "deriveBits", format="jwk")
        algorithm = {"name": "X25519", "public": await imported(peer, "X25519")}
        shared = await subtle.deriveBits(algorithm, own)
        expected = "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742"
        assert shared.to_bytes() == b(expected)

    asyncio.run(check())


def test_ecdsa_of_rfc_6979() -> None:
    x = b("60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6")
    y = b("7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299")
    signature = b(
        "EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716"
        "F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8"
    )

    async def check() -> None:
        algorithm = {"name": "ECDSA", "namedCurve": "P-256"}
        jwk = {"kty": "EC", "crv": "P-256", "x": url64(x), "y": url64(y)}
        with_hash = {"name": "ECDSA", "hash": {"name": "SHA-256"}}
        for key in (
            await imported(jwk, algorithm, "verify", format="jwk"),
            await imported(b"\x04" + x + y, algorithm, "verify"),
            await imported(bytes([2 + y[-1] % 2]) + x, algorithm, "verify"),
        ):
            assert await subtle.verify(with_hash, key, signature, b"sample") is True
            assert await subtle.verify(with_hash, key, signature, b"simple") is False

    asyncio.run(check())


def test_rsassa_of_rfc_7515() -> None:
    signed = (
        b"eyJhbGciOiJSUzI1NiJ9."
        b"eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    )
    signature = base64.urlsafe_b64decode(
        "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdb"
        "F9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383"
        "LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWy"
        "wlVmtVrBp0igcN_IoypGlUPQGe77Rw=="
    )

    async def check() -> None:
        name = "RSASSA-PKCS1-v1_5"
        algorithm = {"name": name, "hash": "SHA-256"}
        public = await imported(RSA_JWK, algorithm, "verify", format="jwk")
        assert await subtle.verify(name, public, signature, signed) is True
        # Without the primes, which the key then works out by itself.
        private = await imported({**RSA_JWK, "d": RSA_SECRET}, algorithm, "sign", format="jwk")
        assert (await subtle.sign(name, private, signed)).to_bytes() == signature

    asyncio.run(check())
