"""What a key may be used for.

Source: https://w3c.github.io/webcrypto/#cryptokey-interface-types and workerd ``api/crypto/crypto.c++``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from .errors import syntax_error

__all__ = ["DERIVATION", "PRIVATE", "PUBLIC", "Usages", "checked", "in_order"]

Usages = frozenset[str]

_ORDER: Final = (
    "encrypt",
    "decrypt",
    "sign",
    "verify",
    "deriveKey",
    "deriveBits",
    "wrapKey",
    "unwrapKey",
)
#: What the public half of a pair may do.
PUBLIC: Final[Usages] = frozenset({"encrypt", "verify", "wrapKey"})
#: What the private half of a pair may do.
PRIVATE: Final[Usages] = frozenset({"decrypt", "sign", "unwrapKey", "deriveKey", "deriveBits"})
DERIVATION: Final[Usages] = frozenset({"deriveKey", "deriveBits"})


def checked(name: str, action: str, wanted: Sequence[str], allowed: Collection[str]) -> Usages:
    """The wanted usages as a set.

    Args: ``action`` says for what in the text: ``generate``, ``import secret``, ``import public``, ``import private``.
    Raises: SyntaxError for one that is not allowed.
    """
    for usage in wanted:
        if usage not in allowed:
            raise syntax_error(f'Attempt to {action} {name} key with invalid usage "{usage}".')
    return frozenset(wanted)


def in_order(usages: Usages) -> list[str]:
    """The usages in the order in which the platform lists them."""
    return [usage for usage in _ORDER if usage in usages]
