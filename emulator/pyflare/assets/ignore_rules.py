"""``.assetsignore``: which files of the directory are no assets, in the syntax of ``.gitignore``.

Source: https://developers.cloudflare.com/workers/static-assets/binding/#ignoring-assets
"""

from __future__ import annotations

from .directory import Ignored

__all__ = ["CONTROL_FILES", "HEADERS", "IGNORE", "REDIRECTS", "ignores"]

IGNORE = ".assetsignore"
HEADERS = "_headers"
REDIRECTS = "_redirects"
#: The files at the root that steer the serving, and are never served.
CONTROL_FILES = (IGNORE, HEADERS, REDIRECTS)


def ignores(text: str) -> Ignored:
    """What the file of this content ignores, and the control files. Upper and lower case are alike, as in an upload."""
    own = frozenset(CONTROL_FILES)
    lines = text.lower().splitlines()
    if not any(line.strip() and not line.startswith("#") for line in lines):
        return own.__contains__
    import pathspec

    rules = pathspec.GitIgnoreSpec.from_lines(lines)
    return lambda path: path in own or rules.match_file(path.lower())
