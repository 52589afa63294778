"""Which queries D1 drops before SQLite sees them.

Source: `packages/miniflare/src/workers/d1/database.worker.ts` of workers-sdk.
"""

from __future__ import annotations

import re

_BLANKS = "\\t\\n\\v\\f\\r \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff"
_LINE_ENDS = "\\n\\r\\u2028\\u2029"
_INDENTED_COMMENT = re.compile(rf"(?:\A|(?<=[{_LINE_ENDS}]))[{_BLANKS}]+--[^{_LINE_ENDS}]*")
_ALL_BLANK = re.compile(rf"[{_BLANKS}]*")


def is_dropped(sql: str) -> bool:
    """Whether nothing is left of a query without its indented comments.

    A comment at the very start of the text is not indented, so such a query is kept, and fails.
    """
    if sql[:1].isalpha():
        return False
    return _ALL_BLANK.fullmatch(_INDENTED_COMMENT.sub("", sql)) is not None
