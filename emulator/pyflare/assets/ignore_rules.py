"""``.assetsignore``: which files of the directory are no assets, in the syntax of ``.gitignore``.

What an upload leaves out counts, which is what the npm package ``ignore`` 5 makes of the lines. It differs from Git in
three ways: a line that is no pattern matches nothing, there are no negated classes, and blanks behind the last slash
(such as the carriage return of a Windows file) make it one inside the pattern, which then counts at the root only.

Source: https://developers.cloudflare.com/workers/static-assets/binding/#ignoring-assets and workers-sdk
``packages/workers-shared/utils/helpers.ts``
"""

from __future__ import annotations

import re

from .directory import Ignored

__all__ = ["CONTROL_FILES", "HEADERS", "IGNORE", "REDIRECTS", "ignores"]

IGNORE = ".assetsignore"
HEADERS = "_headers"
REDIRECTS = "_redirects"
#: The files at the root that steer the serving, and are never served.
CONTROL_FILES = (IGNORE, HEADERS, REDIRECTS)

#: The beginning of a class whose first character would have a meaning in Git's or Python's patterns.
_CLASS = re.compile(r"(?<!\\)((?:\\\\)*)\[(?=[!^\[])")
_AT_ANY_DEPTH = re.compile(r"[^/]+/")


def ignores(text: str) -> Ignored:
    """What the file of this content ignores, and the control files. Upper and lower case are alike, as in an upload."""
    own = frozenset(CONTROL_FILES)
    lines = text.lower().split("\n")
    if not any(line.strip() and not line.startswith("#") for line in lines):
        return own.__contains__
    import pathspec

    rules = pathspec.GitIgnoreSpec.from_lines(map(_pattern, lines))
    return lambda path: path in own or rules.match_file(path.lower())


def _pattern(line: str) -> str:
    """A line as Git would have to write it, empty where it is no pattern."""
    import pathspec

    pattern = _CLASS.sub(r"\1[\\", line)
    stripped = pattern.rstrip()
    if stripped != pattern and _AT_ANY_DEPTH.fullmatch(stripped):
        negation = "!" if stripped.startswith("!") else ""
        pattern = f"{negation}/{stripped.removeprefix(negation)}"
    try:
        pathspec.GitIgnoreSpec.from_lines([pattern])
    except (ValueError, re.error):
        return ""
    return pattern
