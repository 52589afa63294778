"""An SQL file as the statements it consists of.

A statement ends where SQLite says that one does: semicolons in a trigger's body, a text or a comment cut nothing.
Source: https://developers.cloudflare.com/d1/wrangler-commands/#d1-execute and `sqlite3_complete()`.
"""

from __future__ import annotations

import re
from typing import Final

from .command import CommandError

__all__ = ["MANY_TRANSACTIONS", "statements"]

MANY_TRANSACTIONS: Final = (
    "Wrangler could not process the provided SQL file, as it contains several transactions.\n"
    "D1 runs your SQL in a transaction for you.\n"
    "Please export an SQL file from your SQLite database and try again."
)

#: The tokens that decide where a statement ends; what lies between them is any other token.
_TOKEN: Final = re.compile(
    r"""(?P<comment> --[^\n]* | /\*.*?(?:\*/|\Z) )
      | (?P<quoted> '(?:[^']|'')*(?:'|\Z) | "(?:[^"]|"")*(?:"|\Z) | `(?:[^`]|``)*(?:`|\Z) | \[[^\]]*(?:\]|\Z) )
      | (?P<end> ; )
      | (?P<word> (?<![\w$])(?:create|temp|temporary|trigger|explain|query|plan|end)(?![\w$]) )
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)

# The states of `sqlite3_complete()`: where in a statement a token is found.
_START, _NORMAL, _EXPLAIN, _CREATE, _TRIGGER, _BODY_START, _BODY_END = range(7)
_WORDS: Final = {
    _START: {"explain": _EXPLAIN, "create": _CREATE},
    _EXPLAIN: {"create": _CREATE, "query": _EXPLAIN, "plan": _EXPLAIN},
    _CREATE: {"temp": _CREATE, "temporary": _CREATE, "trigger": _TRIGGER},
    _TRIGGER: {},
    _BODY_START: {"end": _BODY_END},
    _BODY_END: {},
}
#: Where a token leads that the state does not know.
_ELSE: Final = (_NORMAL, _NORMAL, _NORMAL, _NORMAL, _TRIGGER, _TRIGGER, _TRIGGER)


def statements(text: str) -> list[str]:
    """The statements of a file, in order, without those that consist of comments.

    A transaction around all of them is taken off, since the database makes one. Raises CommandError for several.
    """
    return _split(_without_transaction(text))


def _without_transaction(text: str) -> str:
    if "BEGIN TRANSACTION" not in text:
        return text
    text = text.replace("BEGIN TRANSACTION;", "", 1).replace("COMMIT;", "", 1)
    if "BEGIN TRANSACTION" in text:
        raise CommandError(MANY_TRANSACTIONS)
    return text


def _split(text: str) -> list[str]:
    found: list[str] = []
    state, start, last, has_content = _START, 0, 0, False
    for token in _TOKEN.finditer(text):
        between = text[last : token.start()]
        last = token.end()
        if between and not between.isspace():
            has_content = True
            state = _ELSE[state]
        match token.lastgroup:
            case "word":
                has_content = True
                state = _WORDS.get(state, {}).get(token.group().lower(), _ELSE[state])
            case "quoted":
                has_content = True
                state = _ELSE[state]
            case "end" if state in (_TRIGGER, _BODY_START):
                state = _BODY_START
            case "end":
                if has_content:
                    found.append(text[start:last].strip())
                state, start, has_content = _START, last, False
    if has_content or text[last:].strip():
        found.append(text[start:].strip())
    return found
