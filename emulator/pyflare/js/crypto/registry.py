"""Which module implements which algorithm.

Source: https://developers.cloudflare.com/workers/runtime-apis/web-crypto/#supported-algorithms
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from .errors import not_supported

__all__ = ["Algorithm", "find_algorithm"]


@dataclass(frozen=True, slots=True)
class Algorithm:
    """An algorithm with keys. ``module`` has ``import_key(request)`` and, where keys can be made, ``generate(...)``."""

    name: str
    module: str
    generates: bool = True

    def load(self) -> Any:
        """Its module. Raises: NotSupportedError, naming what to install, when it needs a package that is missing."""
        try:
            return import_module(f".{self.module}", __package__)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "cryptography":
                raise
            raise not_supported(
                f'The algorithm "{self.name}" needs the package cryptography, which is not installed. '
                "Install it with: pip install 'pyflare[crypto]'"
            ) from None


_ALGORITHMS: Final = {
    algorithm.name.upper(): algorithm
    for algorithm in (
        Algorithm("AES-CTR", "aes"),
        Algorithm("AES-CBC", "aes"),
        Algorithm("AES-GCM", "aes"),
        Algorithm("AES-KW", "aes"),
        Algorithm("HMAC", "hmac_key"),
        Algorithm("PBKDF2", "derivation", generates=False),
        Algorithm("HKDF", "derivation", generates=False),
        Algorithm("RSASSA-PKCS1-v1_5", "rsa_keys"),
        Algorithm("RSA-PSS", "rsa_keys"),
        Algorithm("RSA-OAEP", "rsa_keys"),
        Algorithm("RSA-RAW", "rsa_raw", generates=False),
        Algorithm("ECDSA", "elliptic"),
        Algorithm("ECDH", "elliptic"),
        Algorithm("NODE-ED25519", "curve25519"),
        Algorithm("Ed25519", "curve25519"),
        Algorithm("X25519", "curve25519"),
    )
}


def find_algorithm(name: str) -> Algorithm | None:
    """An algorithm by name, in any case."""
    return _ALGORITHMS.get(name) or _ALGORITHMS.get(name.upper())
