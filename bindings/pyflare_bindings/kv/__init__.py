"""KV namespaces: keys with values, metadata and an expiry, in one SQLite file and blobs each."""

from __future__ import annotations

from .entries import KVEntry, KVKey, KVPage
from .errors import KVError
from .namespace import KVNamespace

__all__ = ["KVEntry", "KVError", "KVKey", "KVNamespace", "KVPage"]
