"""Reads the selectors that a streaming rewriter can decide: what precedes an element and its own tag.

Type, ``*``, class, id and attribute selectors, ``:not()``, ``:nth-child()``, ``:first-child``, ``:nth-of-type()``,
``:first-of-type``, joined by descendant and child combinators, in lists.

Source: https://developers.cloudflare.com/workers/runtime-apis/html-rewriter/#selectors and
https://www.w3.org/TR/selectors-4/
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

from .errors import parser_error

__all__ = [
    "AttributeTest",
    "ComplexSelector",
    "Compound",
    "Condition",
    "NameTest",
    "NthTest",
    "parse_selectors",
]


@dataclass(frozen=True, slots=True)
class NameTest:
    """``p``; None as the name is ``*``, the empty name is one that no element has."""

    name: str | None


@dataclass(frozen=True, slots=True)
class NthTest:
    """``:nth-child(step n + offset)``, or with ``of_type`` ``:nth-of-type``."""

    step: int
    offset: int
    of_type: bool


@dataclass(frozen=True, slots=True)
class AttributeTest:
    """``[name operator "value"]``; no operator asks only whether the attribute is there.

    ``ignore_case`` is None where the attribute decides: some of HTML's have values without case.
    """

    name: str
    operator: str | None = None
    value: str = ""
    ignore_case: bool | None = None


Test: TypeAlias = NameTest | NthTest | AttributeTest


@dataclass(frozen=True, slots=True)
class Condition:
    """A test that has to succeed, or to fail when ``negated``."""

    test: Test
    negated: bool = False


#: All conditions have to hold.
Compound: TypeAlias = tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class ComplexSelector:
    """Compounds from the outermost element to the one that is meant; ``combinators`` stand between them."""

    compounds: tuple[Compound, ...]
    combinators: tuple[str, ...]


UNEXPECTED: Final = "Unexpected token in selector."
UNEXPECTED_END: Final = "Unexpected end of selector."
UNSUPPORTED_PSEUDO: Final = "Unsupported pseudo-class or pseudo-element in selector."
NAMESPACED: Final = "Selectors with explicit namespaces are not supported."
IN_ATTRIBUTE: Final = "Unexpected token in the attribute selector."

_ESCAPE: Final = r"\\(?:[0-9A-Fa-f]{1,6}[ \t\n\r\f]?|[^0-9A-Fa-f\n\r\f])"
_IDENT: Final = re.compile(
    rf"(?:--|-?(?:[A-Za-z_]|[^\x00-\x7f]|{_ESCAPE}))(?:[A-Za-z0-9_-]|[^\x00-\x7f]|{_ESCAPE})*"
)
_ESCAPES: Final = re.compile(r"\\(?:([0-9A-Fa-f]{1,6})[ \t\n\r\f]?|(\n|\r\n?|\f)|(.))", re.DOTALL)
_SPACE: Final = re.compile(r"[ \t\n\r\f]*")
_COMBINATOR: Final = re.compile(r"([ \t\n\r\f]*)([>+~]?)[ \t\n\r\f]*")
_OPERATOR: Final = re.compile(r"[~|^$*]?=")
_STRING: Final = re.compile(
    r'"((?:[^"\\\n\r\f]|\\(?:\r\n|.))*)(?:"|\Z)|'
    r"'((?:[^'\\\n\r\f]|\\(?:\r\n|.))*)(?:'|\Z)",
    re.DOTALL,
)
_NTH: Final = re.compile(
    r"(?P<word>even|odd)|(?P<step>[+-]?[0-9]*)n(?:\s*(?P<sign>[+-])\s*(?P<offset>[0-9]+))?|(?P<number>[+-]?[0-9]+)",
    re.IGNORECASE,
)


def _unescape(text: str) -> str:
    def replaced(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[3] or ""
        code = int(found[1], 16)
        return chr(code) if 0 < code <= 0x10FFFF and not 0xD800 <= code < 0xE000 else "\ufffd"

    return _ESCAPES.sub(replaced, text) if "\\" in text else text


@lru_cache(maxsize=512)
def parse_selectors(text: str) -> tuple[ComplexSelector, ...]:
    """The selectors of a comma-separated list.

    Raises: TypeError that says what is not understood or not supported.
    """
    parser = _Parser(text)
    selectors = parser.selector_list()
    if parser.position < len(text):
        raise parser_error(UNEXPECTED)
    for selector in selectors:
        for combinator in selector.combinators:
            if combinator in "+~":
                raise parser_error(f"Unsupported combinator `{combinator}` in selector.")
    return selectors


class _Parser:
    """Recursive descent over the text. An unclosed bracket is closed by the end, as everywhere in CSS."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def _peek(self) -> str:
        return self.text[self.position : self.position + 1]

    def _skip_space(self) -> None:
        found = _SPACE.match(self.text, self.position)
        if found is not None:
            self.position = found.end()

    def _ident(self) -> str | None:
        found = _IDENT.match(self.text, self.position)
        if found is None:
            return None
        self.position = found.end()
        return _unescape(found.group())

    def selector_list(self) -> tuple[ComplexSelector, ...]:
        selectors = [self._complex()]
        while self._peek() == ",":
            self.position += 1
            selectors.append(self._complex())
        return tuple(selectors)

    def _complex(self) -> ComplexSelector:
        self._skip_space()
        compounds: list[Compound] = []
        combinators: list[str] = []
        while True:
            compound = self._compound()
            if not compound:
                raise parser_error(
                    "Dangling combinator in selector." if combinators else "The selector is empty."
                )
            compounds.append(compound)
            found = _COMBINATOR.match(self.text, self.position)
            assert found is not None
            after = self.text[found.end() : found.end() + 1]
            if not found[2] and (not found[1] or after in ("", ",", ")")):
                if after in ("", ",", ")"):
                    self.position = found.end()
                return ComplexSelector(tuple(compounds), tuple(combinators))
            self.position = found.end()
            combinators.append(found[2] or " ")

    def _compound(self) -> Compound:
        conditions = self._type_selector()
        while True:
            match self._peek():
                case "#":
                    start = self.position
                    self.position += 1
                    name = self._ident()
                    if name is None:
                        self.position = start
                        break
                    conditions.append(Condition(AttributeTest("id", "=", name, False)))
                case ".":
                    if self.text[self.position + 1 : self.position + 2].isdigit():
                        break
                    self.position += 1
                    if self.position == len(self.text):
                        raise parser_error(UNEXPECTED_END)
                    name = self._ident()
                    if name is None:
                        raise parser_error("Invalid or unescaped class name in selector.")
                    conditions.append(Condition(AttributeTest("class", "~=", name, False)))
                case "[":
                    conditions.append(Condition(self._attribute()))
                case ":":
                    conditions += self._pseudo_class()
                case _:
                    break
        return tuple(conditions)

    def _type_selector(self) -> list[Condition]:
        """``p``, ``*``, ``*|p`` and ``|p``."""
        if self._peek() == "|":
            self.position += 1
            return [Condition(NameTest("")), *self._local_name()]
        if self._peek() == "*":
            self.position += 1
            if self._peek() == "|" and self.text[self.position + 1 : self.position + 2] != "=":
                self.position += 1
                return self._local_name()
            return [Condition(NameTest(None))]
        start = self.position
        name = self._ident()
        if name is None or self._peek() == "(":
            self.position = start
            return []
        if self._peek() == "|":
            raise parser_error(NAMESPACED)
        return [Condition(NameTest(name.lower()))]

    def _local_name(self) -> list[Condition]:
        if self._peek() == "*":
            self.position += 1
            return [Condition(NameTest(None))]
        name = self._ident()
        if name is None:
            raise parser_error(UNEXPECTED if self._peek() else UNEXPECTED_END)
        return [Condition(NameTest(name.lower()))]

    def _attribute(self) -> AttributeTest:
        self.position += 1
        self._skip_space()
        name = self._attribute_name().lower()
        self._skip_space()
        if self._closed("]"):
            return AttributeTest(name)
        operator = _OPERATOR.match(self.text, self.position)
        if operator is None:
            raise parser_error(IN_ATTRIBUTE)
        self.position = operator.end()
        self._skip_space()
        value = self._attribute_value()
        self._skip_space()
        ignore_case: bool | None = None
        if not self._closed("]"):
            flag = self._ident()
            if flag is None or flag.lower() not in ("i", "s"):
                raise parser_error(UNEXPECTED)
            ignore_case = flag.lower() == "i"
            self._skip_space()
            if not self._closed("]"):
                raise parser_error(UNEXPECTED)
        return AttributeTest(name, operator.group(), value, ignore_case)

    def _attribute_name(self) -> str:
        if self.text.startswith("*|", self.position):
            raise parser_error(NAMESPACED)
        if self._peek() == "|":
            self.position += 1
            name = self._ident()
            if name is None:
                raise parser_error(IN_ATTRIBUTE if self._peek() else UNEXPECTED_END)
            return name
        name = self._ident()
        if name is None:
            if self._peek() in ("", "]"):
                raise parser_error(UNEXPECTED_END)
            raise parser_error("Missing attribute name in attribute selector.")
        if self._peek() == "|" and self.text[self.position + 1 : self.position + 2] != "=":
            raise parser_error(NAMESPACED)
        return name

    def _attribute_value(self) -> str:
        quoted = _STRING.match(self.text, self.position)
        if quoted is not None:
            self.position = quoted.end()
            return _unescape(quoted[1] if quoted[1] is not None else quoted[2])
        value = self._ident()
        if value is None:
            raise parser_error(UNEXPECTED_END if self._peek() in ("", "]") else IN_ATTRIBUTE)
        return value

    def _closed(self, bracket: str) -> bool:
        if self._peek() == bracket:
            self.position += 1
            return True
        return self.position == len(self.text)

    def _pseudo_class(self) -> list[Condition]:
        self.position += 1
        if self.position == len(self.text):
            raise parser_error(UNEXPECTED_END)
        name = self._ident()
        if name is None:
            raise parser_error(UNSUPPORTED_PSEUDO)
        function = self._peek() == "("
        match name.lower(), function:
            case "first-child", False:
                return [Condition(NthTest(0, 1, False))]
            case "first-of-type", False:
                return [Condition(NthTest(0, 1, True))]
            case "nth-child", True:
                return [Condition(self._nth(False))]
            case "nth-of-type", True:
                return [Condition(self._nth(True))]
            case "not", True:
                return self._negation()
        raise parser_error(UNSUPPORTED_PSEUDO)

    def _nth(self, of_type: bool) -> NthTest:
        self.position += 1
        self._skip_space()
        found = _NTH.match(self.text, self.position)
        if found is None:
            raise parser_error(UNEXPECTED_END if self._peek() in ("", ")") else UNEXPECTED)
        self.position = found.end()
        self._skip_space()
        if not self._closed(")"):
            unfinished = found["step"] is not None and self._peek() in ("+", "-")
            rest = self.text[self.position + 1 :].lstrip()
            raise parser_error(
                UNEXPECTED_END if unfinished and rest[:1] in ("", ")") else UNEXPECTED
            )
        if found["word"] is not None:
            return NthTest(2, 1 if found["word"].lower() == "odd" else 0, of_type)
        if found["number"] is not None:
            return NthTest(0, int(found["number"]), of_type)
        step = found["step"]
        return NthTest(
            int(step) if step.strip("+-") else int(step + "1"),
            int((found["sign"] or "") + (found["offset"] or "0")),
            of_type,
        )

    def _negation(self) -> list[Condition]:
        self.position += 1
        selectors = self.selector_list()
        if not self._closed(")"):
            raise parser_error(UNEXPECTED)
        if any(selector.combinators for selector in selectors):
            raise parser_error(UNSUPPORTED_PSEUDO)
        # Production negates each condition by itself: `:not(a.b)` refuses every `a` and every `.b`.
        return [
            Condition(condition.test, not condition.negated)
            for selector in selectors
            for condition in selector.compounds[0]
        ]
