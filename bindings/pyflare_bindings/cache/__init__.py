"""The Cache API's caches: responses by URL, in one SQLite file and blobs, with a layer in memory."""

from __future__ import annotations

from .answer import Answer, Conditions
from .store import DEFAULT_CACHE, CacheStore, named_cache

__all__ = ["DEFAULT_CACHE", "Answer", "CacheStore", "Conditions", "named_cache"]
