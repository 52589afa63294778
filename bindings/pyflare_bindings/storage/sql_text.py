"""What can be told about SQL from its text alone."""

from __future__ import annotations

import re

WHITESPACE = " \t\n\r\v\f"

# Comments are matched first, so that quotes and semicolons inside them do not count.
_TOKEN = re.compile(
    r"""--[^\n]*
      | /\*.*?(?:\*/|\Z)
      | '(?:[^']|'')*'
      | "(?:[^"]|"")*"
      | `(?:[^`]|``)*`
      | \[[^\]]*\]
      | [^\W\d][\w$]*
      | \S
    """,
    re.VERBOSE | re.DOTALL,
)


def words(text: str) -> frozenset[str]:
    """The words of a list that is written as one text."""
    return frozenset(text.split())


def tokens(sql: str) -> list[str]:
    """The tokens of a statement without its comments; numbers and operators come in pieces."""
    found = _TOKEN.findall(sql)
    return [token for token in found if not token.startswith(("--", "/*"))]


def has_empty_statement_behind(statement: str) -> bool:
    """Whether more than the one semicolon that ends it stands behind a statement.

    In: the text of one statement as SQLite cut it off, which takes a run of semicolons along.
    """
    if statement.count(";") < 2:
        return False
    behind = 0
    for token in reversed(tokens(statement)):
        if token != ";":
            break
        behind += 1
    return behind > 1


def table_renamed_to(statement: str) -> str | None:
    """The new name in `ALTER TABLE ... RENAME TO name`, None for every other statement."""
    words = tokens(statement)
    for index in range(len(words) - 2):
        if words[index].upper() == "RENAME" and words[index + 1].upper() == "TO":
            return unquoted(words[index + 2])
    return None


def unquoted(name: str) -> str:
    """A name as SQLite understands it, freed of the quotes around it."""
    if len(name) < 2:
        return name
    first, last = name[0], name[-1]
    if first == "[" and last == "]":
        return name[1:-1]
    if first == last and first in "'\"`":
        return name[1:-1].replace(first * 2, first)
    return name


def well_formed(text: str) -> str:
    """`text` with each lone surrogate replaced by U+FFFD, since UTF-8 cannot hold one."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
