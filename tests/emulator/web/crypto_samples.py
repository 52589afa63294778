"""What the tests of ``crypto.subtle`` share: keys, and calls that are expected to fail."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pyflare.js.crypto.subtle import subtle
from pyflare.js.error import JsException


def url64(data: bytes) -> str:
    """Base64 for URLs without padding."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


#: The pair of RFC 7515, appendix A.2.
RSA_JWK = {
    "kty": "RSA",
    "n": "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL"
    "-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXB"
    "dQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj"
    "8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ",
    "e": "AQAB",
}
RSA_SECRET = (
    "Eq5xpGnNCivDflJsRQBXHx1hdR1k6Ulwe2JZD50LpXyWPEAeP88vLNO97IjlA7_GQ5sLKMgvfTeXZx9SE-7YwVol2NXOoAJe46sui395"
    "IW_GO-pWJ1O0BkTGoVEn2bKVRUCgu-GjBVaYLU6f3l9kJfFNS3E0QbVdxzubSu3Mkqzjkn439X0M_V51gfpRLI9JYanrC4D4qAdGcopV"
    "_0ZHHzQlBjudU2QvXt4ehNYTCBr6XCLQUShb1juUO1ZdiYoFaFQT5Tw8bGUl_x_jTj3ccPDVZFD9pIuhLhBOneufuBiB4cS98l2SR_RQ"
    "yGWSeWjnczT0QU91p1DhOVRuOopznQ"
)
PRIVATE_RSA_JWK = {**RSA_JWK, "d": RSA_SECRET}


def refusal(attempt: Callable[[], Awaitable[Any]]) -> str:
    """The text of the error that an attempt ends with."""

    async def run() -> None:
        await attempt()

    with pytest.raises(JsException) as caught:
        asyncio.run(run())
    return str(caught.value)


async def secret(name: str, *usages: str, size: int = 16, **parameters: Any) -> Any:
    algorithm = {"name": name, "hash": "SHA-256", **parameters}
    return await subtle.importKey("raw", bytes(size), algorithm, False, list(usages))


async def pair(name: str, curve: str = "P-256") -> Any:
    usages = ["deriveBits"] if name in ("ECDH", "X25519") else ["sign", "verify"]
    return await subtle.generateKey({"name": name, "namedCurve": curve}, True, usages)


async def rsa_key(name: str, *usages: str, hash: str = "SHA-256", private: bool = False) -> Any:
    jwk = PRIVATE_RSA_JWK if private else RSA_JWK
    return await subtle.importKey("jwk", jwk, {"name": name, "hash": hash}, True, list(usages))


def generate(algorithm: Any, *usages: str) -> Callable[[], Awaitable[Any]]:
    return lambda: subtle.generateKey(algorithm, True, list(usages))


def load(
    format: str, data: Any, algorithm: Any, *usages: str, extractable: bool = True
) -> Callable[[], Awaitable[Any]]:
    return lambda: subtle.importKey(format, data, algorithm, extractable, list(usages))
