"""What is never served: secrets, configurations and state, by the names that such files have and by what is named.

By name, since a file that nobody has read yet, or that a worker reads which does not run here, is no less of a secret.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyflare.config.worker import LoadedConfig

__all__ = ["has_private_name", "private_files"]

_NAMES: Final = frozenset(
    {
        ".dev.vars",
        ".env",
        ".pyflare",
        ".wrangler",
        "wrangler.json",
        "wrangler.jsonc",
        "wrangler.toml",
    }
)
_BEGINNINGS: Final = (".dev.vars.", ".env.")


def has_private_name(path: str) -> bool:
    """Whether the last name of a path is one of those. Upper and lower case are alike, as on some file systems."""
    name = os.path.basename(path).lower()
    return name in _NAMES or name.startswith(_BEGINNINGS)


def private_files(loaded: LoadedConfig) -> tuple[Path, ...]:
    """What a worker's configuration names and nobody may download, wherever assets are: its secrets and itself."""
    own = [path for path in (loaded.path, loaded.user_path) if path is not None]
    named = dict.fromkeys((*loaded.files, *loaded.secret_files, *own))
    # Links and where they lead: settings that compare equal then hide the same files.
    return tuple(dict.fromkeys((*named, *(path.resolve() for path in named))))
