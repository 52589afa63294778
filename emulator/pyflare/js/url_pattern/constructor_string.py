"""Cuts the pattern of a whole address, such as ``https://*.example.com/books/:id``, into those of its components.

Source: https://urlpattern.spec.whatwg.org/#constructor-string-parsing
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .tokens import Token, TokenType, tokenize

__all__ = ["parse_constructor_string"]

_PLAIN: Final = (TokenType.CHAR, TokenType.ESCAPED_CHAR, TokenType.INVALID_CHAR)
#: After these a question mark makes them optional and does not begin the query.
_OPTIONAL: Final = (TokenType.NAME, TokenType.REGEXP, TokenType.CLOSE, TokenType.ASTERISK)
_BEFORE_HOST: Final = ("protocol", "authority", "username", "password")
_BEFORE_PATH: Final = (*_BEFORE_HOST, "hostname", "port")


def parse_constructor_string(
    text: str, matches_special_scheme: Callable[[str], bool]
) -> dict[str, str]:
    """The patterns by component; components that the text leaves open are absent.

    Args: ``matches_special_scheme`` tells it of the pattern of a protocol. Raises: what that raises.
    """
    return _Parser(text, matches_special_scheme).parse()


class _Parser:
    def __init__(self, text: str, matches_special_scheme: Callable[[str], bool]) -> None:
        self._text = text
        self._matches_special_scheme = matches_special_scheme
        self._tokens = tokenize(text, lenient=True)
        self._result: dict[str, str] = {}
        self._state = "init"
        self._index = 0
        self._step = 1
        self._start = 0
        self._depth = 0
        self._brackets = 0
        self._special = False

    def parse(self) -> dict[str, str]:
        while self._index < len(self._tokens):
            self._step = 1
            token = self._tokens[self._index]
            if token.type is TokenType.END:
                if self._ended():
                    break
            elif token.type is TokenType.OPEN:
                self._depth += 1
            elif self._depth and token.type is not TokenType.CLOSE:
                pass
            else:
                if self._depth:
                    self._depth -= 1
                self._advance()
            self._index += self._step
        if "hostname" in self._result and "port" not in self._result:
            self._result["port"] = ""
        return self._result

    def _ended(self) -> bool:
        """The end of the text: True when nothing is left to be read again."""
        if self._state == "init":
            # There is no protocol: the text is relative.
            self._rewind()
            if self._is("#"):
                self._change("hash", 1)
            elif self._begins_search():
                self._change("search", 1)
            else:
                self._change("pathname", 0)
            return False
        if self._state == "authority":
            self._rewind("hostname")
            return False
        self._change("done", 0)
        return True

    def _advance(self) -> None:
        match self._state:
            case "init":
                if self._is(":"):
                    self._rewind("protocol")
            case "protocol":
                if self._is(":"):
                    self._end_protocol()
            case "authority":
                if self._is("@"):
                    self._rewind("username")
                elif self._is("/") or self._begins_search() or self._is("#"):
                    self._rewind("hostname")
            case "username" if self._is(":"):
                self._change("password", 1)
            case "username" | "password":
                if self._is("@"):
                    self._change("hostname", 1)
            case "hostname":
                if self._is("["):
                    self._brackets += 1
                elif self._is("]"):
                    self._brackets -= 1
                elif self._is(":") and not self._brackets:
                    self._change("port", 1)
                else:
                    self._end_host()
            case "port":
                self._end_host()
            case "pathname" | "search":
                if self._state == "pathname" and self._begins_search():
                    self._change("search", 1)
                elif self._is("#"):
                    self._change("hash", 1)

    def _end_host(self) -> None:
        if self._is("/"):
            self._change("pathname", 0)
        elif self._begins_search():
            self._change("search", 1)
        elif self._is("#"):
            self._change("hash", 1)

    def _end_protocol(self) -> None:
        self._special = self._matches_special_scheme(self._component())
        if self._is("/", 1) and self._is("/", 2):
            self._change("authority", 3)
        elif self._special:
            self._change("authority", 1)
        else:
            self._change("pathname", 1)

    def _rewind(self, state: str | None = None) -> None:
        self._index = self._start
        self._step = 0
        if state is not None:
            self._state = state

    def _change(self, state: str, skip: int) -> None:
        old, result = self._state, self._result
        if old not in ("init", "authority", "done"):
            result[old] = self._component()
        if old != "init" and state != "done":
            if old in _BEFORE_HOST and state in ("port", "pathname", "search", "hash"):
                result.setdefault("hostname", "")
            if old in _BEFORE_PATH and state in ("search", "hash"):
                result.setdefault("pathname", "/" if self._special else "")
            if old in (*_BEFORE_PATH, "pathname") and state == "hash":
                result.setdefault("search", "")
        self._state = state
        self._index += skip
        self._start = self._index
        self._step = 0

    def _token(self, index: int) -> Token:
        return self._tokens[min(index, len(self._tokens) - 1)]

    def _component(self) -> str:
        return self._text[self._token(self._start).index : self._token(self._index).index]

    def _is(self, character: str, ahead: int = 0) -> bool:
        token = self._token(self._index + ahead)
        return token.value == character and token.type in _PLAIN

    def _begins_search(self) -> bool:
        if self._is("?"):
            return True
        if self._token(self._index).value != "?":
            return False
        return self._index == 0 or self._token(self._index - 1).type not in _OPTIONAL
