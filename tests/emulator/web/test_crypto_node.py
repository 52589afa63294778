"""``crypto.subtle`` and Node's: the same results, and each understands what the other made. Skipped without Node."""

from __future__ import annotations

import asyncio
import functools
import json
import random
import shutil
import subprocess
from typing import Any

import pytest

from pyflare.js.crypto.subtle import subtle
from pyflare.js.json import parse, stringify
from pyflare.js.value import JsProxy
from tests.emulator.web.crypto_samples import RSA_JWK, RSA_SECRET

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="node is not on PATH")

#: Runs a list of calls; a string "hex:..." stands for bytes, {"result": n} for the result of the n-th call.
PROGRAM = """
const { subtle } = globalThis.crypto ?? require('crypto').webcrypto;
const results = [];
function value(x) {
  if (typeof x === 'string' && x.startsWith('hex:')) return new Uint8Array(Buffer.from(x.slice(4), 'hex'));
  if (Array.isArray(x)) return x.map(value);
  if (x && typeof x === 'object') {
    if ('result' in x) return x.half ? results[x.result][x.half] : results[x.result];
    return Object.fromEntries(Object.entries(x).map(([k, v]) => [k, value(v)]));
  }
  return x;
}
function text(x) {
  if (x instanceof ArrayBuffer) return 'hex:' + Buffer.from(x).toString('hex');
  if (x && typeof x === 'object' && x.constructor === Object && !('publicKey' in x)) return x;
  return typeof x === 'boolean' ? x : null;
}
(async () => {
  const calls = JSON.parse(require('fs').readFileSync(0, 'utf8'));
  const shown = [];
  for (const [method, ...args] of calls) {
    try {
      results.push(await subtle[method](...args.map(value)));
      shown.push(text(results.at(-1)));
    } catch (error) {
      results.push(null);
      shown.push('error:' + error.name);
    }
  }
  process.stdout.write(JSON.stringify(shown));
})();
"""

Call = list[Any]


def node(calls: list[Call]) -> list[Any]:
    assert NODE is not None
    done = subprocess.run(
        [NODE, "--no-warnings", "-e", PROGRAM],
        input=json.dumps(calls),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return json.loads(done.stdout)  # type: ignore[no-any-return]


async def ours(calls: list[Call]) -> list[Any]:
    results: list[Any] = []

    def value(x: Any) -> Any:
        match x:
            case str() if x.startswith("hex:"):
                return bytes.fromhex(x[4:])
            case list():
                return [value(item) for item in x]
            case {"result": int(number), **rest}:
                held = results[number]
                return getattr(held, rest["half"]) if rest else held
            case dict():
                return {name: value(item) for name, item in x.items()}
        return x

    def text(x: Any) -> Any:
        if hasattr(x, "to_bytes") and isinstance(x, JsProxy):
            return "hex:" + x.to_bytes().hex()
        if isinstance(x, bool):
            return x
        held = json.loads(stringify(x))
        return held if "kty" in held else None

    shown = []
    for method, *arguments in calls:
        try:
            results.append(await getattr(subtle, method)(*map(value, arguments)))
            shown.append(text(results[-1]))
        except Exception as error:
            results.append(None)
            shown.append("error:" + getattr(error, "name", repr(error)))
    return shown


def same(calls: list[Call]) -> list[Any]:
    """Both give the same; what they gave."""
    expected = node(calls)
    for call, mine, theirs in zip(calls, asyncio.run(ours(calls)), expected, strict=True):
        if isinstance(mine, dict) and "key_ops" in mine:
            mine["key_ops"].sort()
            theirs["key_ops"].sort()
        assert mine == theirs, call
    return expected


def octets(choose: random.Random, size: int) -> str:
    return "hex:" + choose.randbytes(size).hex()


def imported(data: Any, algorithm: Any, *usages: str, format: str = "raw") -> Call:
    return ["importKey", format, data, algorithm, True, list(usages)]


def test_digests() -> None:
    choose = random.Random(1)
    same(
        [
            ["digest", name, octets(choose, choose.randint(0, 300))]
            for name in ("SHA-1", "SHA-256", "SHA-384", "SHA-512")
            for _ in range(20)
        ]
    )


def test_hmac() -> None:
    choose = random.Random(2)
    calls: list[Call] = []
    for hash in ("SHA-1", "SHA-256", "SHA-384", "SHA-512") * 5:
        key = {"result": len(calls)}
        data = octets(choose, choose.randint(0, 200))
        algorithm = {"name": "HMAC", "hash": hash}
        calls += [
            imported(octets(choose, choose.randint(1, 200)), algorithm, "sign", "verify"),
            ["sign", "HMAC", key, data],
            ["verify", "HMAC", key, {"result": len(calls) + 1}, data],
            ["verify", "HMAC", key, data, data],
            ["exportKey", "jwk", key],
        ]
    same(calls)


@pytest.mark.parametrize("name", ["AES-GCM", "AES-CBC", "AES-CTR"])
def test_aes(name: str) -> None:
    choose = random.Random(name)
    calls: list[Call] = []
    for _ in range(60):
        start = len(calls)
        key = {"result": start}
        algorithm = {
            "name": name,
            "iv": octets(choose, 16 if name == "AES-CBC" else choose.choice([12, 13, 16, 128])),
            "tagLength": choose.choice([32, 64, 96, 104, 112, 120, 128]),
            "additionalData": octets(choose, choose.choice([0, 5, 40])),
            # Full counters, so that many overflow.
            "counter": "hex:" + (choose.randbytes(12) + b"\xff" * 3 + choose.randbytes(1)).hex(),
            "length": choose.randint(4, 128),
        }
        data = octets(choose, choose.randint(0, 250))
        calls += [
            imported(octets(choose, choose.choice([16, 24, 32])), name, "encrypt", "decrypt"),
            ["encrypt", algorithm, key, data],
            ["decrypt", algorithm, key, {"result": start + 1}],
            ["decrypt", algorithm, key, data],
            ["exportKey", "jwk", key],
        ]
    same(calls)


def test_derivation() -> None:
    choose = random.Random(3)
    calls: list[Call] = []
    for hash in ("SHA-1", "SHA-256", "SHA-384", "SHA-512") * 3:
        start = len(calls)
        hkdf = {
            "name": "HKDF",
            "hash": hash,
            "salt": octets(choose, choose.randint(0, 80)),
            "info": octets(choose, choose.randint(0, 80)),
        }
        pbkdf2 = {
            "name": "PBKDF2",
            "hash": hash,
            "salt": octets(choose, choose.randint(1, 80)),
            "iterations": choose.randint(1, 50),
        }
        usages = ["deriveBits", "deriveKey"]
        hmac = {"name": "HMAC", "hash": "SHA-256"}
        aes = {"name": "AES-GCM", "length": 256}
        calls += [
            ["importKey", "raw", octets(choose, 30), "HKDF", False, usages],
            ["importKey", "raw", octets(choose, 30), "PBKDF2", False, usages],
            ["deriveBits", hkdf, {"result": start}, 8 * choose.randint(1, 100)],
            ["deriveBits", pbkdf2, {"result": start + 1}, 8 * choose.randint(1, 100)],
            ["deriveKey", hkdf, {"result": start}, hmac, True, ["sign"]],
            ["deriveKey", pbkdf2, {"result": start + 1}, aes, True, ["encrypt"]],
            ["exportKey", "raw", {"result": start + 4}],
            ["exportKey", "raw", {"result": start + 5}],
        ]
    same(calls)


@functools.cache
def secrets_of_rsa() -> dict[str, Any]:
    """The sample pair with its primes."""

    async def complete() -> str:
        algorithm = {"name": "RSA-PSS", "hash": "SHA-256"}
        key = await subtle.importKey("jwk", {**RSA_JWK, "d": RSA_SECRET}, algorithm, True, ["sign"])
        text: str = stringify(await subtle.exportKey("jwk", key))
        return text

    jwk: dict[str, Any] = json.loads(asyncio.run(complete()))
    return {name: jwk[name] for name in ("kty", "n", "e", "d", "p", "q", "dp", "dq", "qi")}


SIGNING: list[tuple[dict[str, Any], dict[str, Any]]] = [
    *(
        ({"name": "RSASSA-PKCS1-v1_5", "hash": hash}, {"name": "RSASSA-PKCS1-v1_5"})
        for hash in ("SHA-1", "SHA-256", "SHA-384", "SHA-512")
    ),
    *(
        ({"name": "RSA-PSS", "hash": hash}, {"name": "RSA-PSS", "saltLength": salt})
        for hash, salt in (("SHA-1", 0), ("SHA-256", 32), ("SHA-384", 100), ("SHA-512", 64))
    ),
    *(
        ({"name": "ECDSA", "namedCurve": curve}, {"name": "ECDSA", "hash": hash})
        for curve in ("P-256", "P-384", "P-521")
        for hash in ("SHA-1", "SHA-256", "SHA-512")
    ),
    ({"name": "Ed25519"}, {"name": "Ed25519"}),
]


@pytest.mark.parametrize(("algorithm", "call"), SIGNING, ids=str)
def test_signatures_are_good_on_both_sides(algorithm: dict[str, Any], call: dict[str, Any]) -> None:
    data = octets(random.Random(str(algorithm)), 100)
    if algorithm["name"].startswith("RSA"):
        private = secrets_of_rsa()
    else:

        async def generate() -> str:
            pair = await subtle.generateKey(algorithm, True, ["sign", "verify"])
            text: str = stringify(await subtle.exportKey("jwk", pair.privateKey))
            return text

        private = json.loads(asyncio.run(generate()))
        del private["key_ops"]
    public = {name: private[name] for name in ("kty", "crv", "x", "y", "n", "e") if name in private}
    keys = [
        imported(private, algorithm, "sign", format="jwk"),
        imported(public, algorithm, "verify", format="jwk"),
    ]
    sign = [*keys, ["sign", call, {"result": 0}, data]]
    checks: list[Call] = []
    for signature in (node(sign)[2], asyncio.run(ours(sign))[2]):
        # The last bit turned over.
        spoiled = signature[:-2] + f"{int(signature[-2:], 16) ^ 1:02x}"
        checks += [
            ["verify", call, {"result": 1}, signature, data],
            ["verify", call, {"result": 1}, spoiled, data],
            ["verify", call, {"result": 1}, signature, data + "00"],
        ]
    exports = [
        ["exportKey", "pkcs8", {"result": 0}],
        ["exportKey", "spki", {"result": 1}],
        ["exportKey", "jwk", {"result": 0}],
        ["exportKey", "jwk", {"result": 1}],
    ]
    calls = [*keys, *checks, *exports]
    mine, theirs = asyncio.run(ours(calls))[2:], node(calls)[2:]
    assert mine[:6] == theirs[:6] == [True, False, False] * 2
    assert mine[6:8] == theirs[6:8]
    for own_jwk, node_jwk in zip(mine[8:], theirs[8:], strict=True):
        if algorithm["name"] == "Ed25519":
            # The platform keeps to the name that the standard gave at first; versions of Node differ.
            assert own_jwk.pop("alg") == "EdDSA"
            node_jwk.pop("alg", None)
        assert own_jwk == node_jwk


@pytest.mark.parametrize("hash", ["SHA-1", "SHA-256", "SHA-512"])
def test_rsa_oaep(hash: str) -> None:
    choose = random.Random(hash)
    data = octets(choose, 60)
    algorithm = {"name": "RSA-OAEP", "hash": hash}
    call = {"name": "RSA-OAEP", "label": octets(choose, 9)}
    keys = [
        imported(secrets_of_rsa(), algorithm, "decrypt", "unwrapKey", format="jwk"),
        imported(RSA_JWK, algorithm, "encrypt", "wrapKey", format="jwk"),
    ]
    encrypt = [*keys, ["encrypt", call, {"result": 1}, data]]
    for sealed in (node(encrypt)[2], asyncio.run(ours(encrypt))[2]):
        answers = same(
            [
                *keys,
                ["decrypt", call, {"result": 0}, sealed],
                ["decrypt", {"name": "RSA-OAEP"}, {"result": 0}, sealed],
                ["exportKey", "jwk", {"result": 0}],
                ["exportKey", "jwk", {"result": 1}],
            ]
        )
        assert answers[2] == data


@pytest.mark.parametrize("curve", ["P-256", "P-384", "P-521", "X25519"])
def test_key_agreement(curve: str) -> None:
    name = "X25519" if curve == "X25519" else "ECDH"
    algorithm = {"name": name, "namedCurve": curve}

    async def generate() -> list[str]:
        pairs = [await subtle.generateKey(algorithm, True, ["deriveBits"]) for _ in range(2)]
        raw = await subtle.exportKey("raw", pairs[1].publicKey)
        jwk = stringify(await subtle.exportKey("jwk", pairs[0].privateKey))
        return [jwk, "hex:" + raw.to_bytes().hex()]

    jwk, raw = asyncio.run(generate())
    call = {"name": name, "public": {"result": 1}}
    same(
        [
            imported(json.loads(jwk), algorithm, "deriveBits", "deriveKey", format="jwk"),
            imported(raw, algorithm),
            ["deriveBits", call, {"result": 0}, None],
            ["deriveBits", call, {"result": 0}, 128],
            [
                "deriveKey",
                call,
                {"result": 0},
                {"name": "AES-CBC", "length": 256},
                True,
                ["encrypt"],
            ],
            ["exportKey", "raw", {"result": 4}],
            ["exportKey", "pkcs8", {"result": 0}],
            ["exportKey", "spki", {"result": 1}],
            ["exportKey", "raw", {"result": 1}],
        ]
    )


@pytest.mark.parametrize("wrapping", ["AES-KW", "AES-GCM", "AES-CBC", "AES-CTR"])
@pytest.mark.parametrize("format", ["raw", "jwk"])
def test_wrapping(wrapping: str, format: str) -> None:
    choose = random.Random(wrapping)
    call = {
        "name": wrapping,
        "iv": octets(choose, 16),
        "counter": octets(choose, 16),
        "length": 32,
    }
    inner = {"name": "HMAC", "hash": "SHA-256"}
    # A length at which the JSON text is a multiple of eight bytes, as AES-KW needs.
    keys = [
        imported(octets(choose, 16), wrapping, "wrapKey", "unwrapKey"),
        imported(octets(choose, 40), inner, "sign"),
    ]
    wrap = [*keys, ["wrapKey", format, {"result": 1}, {"result": 0}, call]]
    wrapped = [node(wrap)[2], asyncio.run(ours(wrap))[2]]
    if wrapping == "AES-KW" and format == "jwk":
        return
    for sealed in wrapped:
        same(
            [
                *keys,
                ["unwrapKey", format, sealed, {"result": 0}, call, inner, True, ["sign"]],
                ["exportKey", "raw", {"result": 2}],
            ]
        )


def test_a_jwk_survives_its_text_form() -> None:
    async def check() -> None:
        pair = await subtle.generateKey(
            {"name": "ECDSA", "namedCurve": "P-256"}, True, ["sign", "verify"]
        )
        jwk = parse(stringify(await subtle.exportKey("jwk", pair.publicKey)))
        again = await subtle.importKey(
            "jwk", jwk, {"name": "ECDSA", "namedCurve": "P-256"}, True, ["verify"]
        )
        assert stringify(await subtle.exportKey("jwk", again)) == stringify(jwk)

    asyncio.run(check())
