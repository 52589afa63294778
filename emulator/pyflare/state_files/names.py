"""The names of files and directories in wrangler's local state."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

from pyflare_bindings.objects.ids import ObjectIds

__all__ = ["D1", "KV", "R2", "SECRETS", "Plugin", "blob_directories"]

_LONGEST_UNITS: Final = 255
_ONLY_DOTS: Final = re.compile(r"(^|[/\\])(\.+)(?=[/\\]|$)")
_FORBIDDEN: Final = re.compile(r"""[?<>*"'^/\\:|\x00-\x1f\x80-\x9f]""")
_DEVICE: Final = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
_BLANKS: Final = re.compile(r"^ +| +$")


class Plugin:
    """One kind of storage: `folder` below the root, and the key that its objects' names are hashed with."""

    __slots__ = ("_ids", "folder", "unique_key")

    def __init__(self, folder: str, unique_key: str) -> None:
        self.folder = folder
        self.unique_key = unique_key
        self._ids = ObjectIds(unique_key)

    def digits(self, name: str) -> str:
        """The name, without its suffix, of the database of the resource `name`."""
        return self._ids.from_name(name).hex


KV: Final = Plugin("kv", "miniflare-KVNamespaceObject")
R2: Final = Plugin("r2", "miniflare-R2BucketObject")
D1: Final = Plugin("d1", "miniflare-D1DatabaseObject")
SECRETS: Final = Plugin("secrets-store", "miniflare-secrets-store-KVNamespaceObject")


def blob_directories(name: str) -> list[str]:
    """The directory of a resource's contents; the first is the usual one, another one is possible.

    The name is made harmless and then percent-encoded for an address, which is decoded again on the way to the disk.
    """
    made = _sanitised(name)
    return list(dict.fromkeys((made, quote(made, safe="!'()*-._~"))))


def _sanitised(name: str) -> str:
    text = _ONLY_DOTS.sub(lambda found: found[1] + "_" * len(found[2]), name)
    text = _FORBIDDEN.sub("_", text)
    if _DEVICE.fullmatch(text):
        text = "_"
    text = _BLANKS.sub(lambda found: "_" * len(found[0]), text)
    units = text.encode("utf-16-le", "surrogatepass")[: 2 * _LONGEST_UNITS]
    return units.decode("utf-16-le", "replace")
