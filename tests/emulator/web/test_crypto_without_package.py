"""Without the package ``cryptography``: what the standard library can do works, the rest says what to install."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

PROGRAM = """
import asyncio, json, sys

sys.modules["cryptography"] = None  # as if it were not installed

from pyflare.js.crypto_random import crypto
from pyflare.js.error import JsException

subtle = crypto.subtle


async def digest():
    return (await subtle.digest("SHA-256", b"")).byteLength


async def sign(hash):
    key = await subtle.generateKey({"name": "HMAC", "hash": "SHA-1"}, True, ["sign", "verify"])
    await subtle.exportKey("jwk", key)
    return await subtle.verify("HMAC", key, await subtle.sign("HMAC", key, b""), b"")


async def derive(name):
    key = await subtle.importKey("raw", b"secret", name, False, ["deriveBits"])
    algorithm = {"name": name, "hash": "SHA-256", "salt": b"", "info": b"", "iterations": 2}
    return (await subtle.deriveBits(algorithm, key, 64)).byteLength


async def stream(name):
    stream = crypto.DigestStream.new(name)
    await stream.getWriter().close()
    return (await stream.digest).byteLength


async def generate(name):
    await subtle.generateKey(name, True, ["encrypt"])


async def load(name):
    await subtle.importKey("spki", b"", name, True, ["verify"])


async def main():
    try:
        return await globals()[sys.argv[1]](*sys.argv[2:])
    except JsException as error:
        return str(error)


print(json.dumps(asyncio.run(main())))
"""


def outcome(*arguments: str) -> object:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["digest"], 32),
        (["sign", "SHA-1"], True),
        (["derive", "HKDF"], 8),
        (["derive", "PBKDF2"], 8),
        (["stream", "MD5"], 16),
    ],
    ids=str,
)
def test_what_needs_no_package(arguments: list[str], expected: object) -> None:
    assert outcome(*arguments) == expected


@pytest.mark.parametrize(
    ("operation", "name"),
    [
        ("generate", "AES-GCM"),
        ("generate", "RSA-OAEP"),
        ("load", "ECDSA"),
        ("load", "Ed25519"),
        ("load", "RSA-RAW"),
    ],
)
def test_what_needs_the_package_names_the_extra(operation: str, name: str) -> None:
    assert outcome(operation, name) == (
        f'NotSupportedError: The algorithm "{name}" needs the package cryptography, which is not installed. '
        "Install it with: pip install 'pyflare[crypto]'"
    )
