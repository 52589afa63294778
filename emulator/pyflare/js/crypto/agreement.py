"""What the two kinds of key agreement, ECDH and X25519, check alike.

Source: https://w3c.github.io/webcrypto/#ecdh-operations and workerd ``api/crypto/ec.c++``.
"""

from __future__ import annotations

from .asymmetric import AsymmetricKey
from .errors import invalid_access, missing, operation_error
from .parameters import Parameters

__all__ = ["first_bits", "peer_of"]


def peer_of(key: AsymmetricKey, parameters: Parameters) -> AsymmetricKey:
    """The other side's public key. Raises: InvalidAccessError for one that does not fit, TypeError without one."""
    if key.kind != "private":
        raise invalid_access(
            f'The deriveBits operation is only valid for a private key, not "{key.kind}".'
        )
    if parameters.public is None:
        raise missing("public", "derivedKeyParams")
    peer = parameters.public._material
    if peer.kind != "public":
        raise invalid_access(f'The provided key has type "{peer.kind}", not "public"')
    if peer.algorithm().keys() != key.algorithm().keys():
        raise invalid_access(
            f"Base {key.name} private key cannot be used to derive a key from a peer {peer.name} public key"
        )
    if peer.name != key.name:
        raise invalid_access(
            f'Private key for derivation is using "{key.name}" while public key is using "{peer.name}".'
        )
    assert isinstance(peer, AsymmetricKey)
    return peer


def first_bits(secret: bytes, length: int | None) -> bytes:
    """The first bits of a secret, all when ``length`` is None. Bits of the last byte that were not asked for are 0."""
    if length is None:
        return secret
    if length > len(secret) * 8:
        raise operation_error(
            f"Derived key length ({length} bits) is too long (should be at most {len(secret) * 8} bits)."
        )
    part = secret[: (length + 7) // 8]
    spare = -length % 8
    return part if spare == 0 else part[:-1] + bytes([part[-1] & (0xFF << spare & 0xFF)])
