"""``_headers``: headers that are added to, put in place of, or taken from those of an asset's answer.

Source: https://developers.cloudflare.com/workers/static-assets/headers/
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from .rule_urls import MAX_LINE, BadRule, Complaint, Pattern, fill_in, normal

__all__ = ["HeaderRules", "parse_headers"]

_MOST_RULES: Final = 100
_REMOVES: Final = "! "
_REPEATED: Final = "This address stands again further down, and only its last block counts"
#: What the connection says, not the file.
_FRAMING: Final = frozenset(("connection", "content-length", "transfer-encoding"))
_ADDRESS: Final = re.compile(r"[^\s]+://|/")
_NOT_IN_VALUES: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+")


@dataclass(slots=True)
class _Rule:
    address: str
    pattern: Pattern
    line: str
    number: int
    values: dict[str, str] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)


class HeaderRules:
    """The rules of one file. ``complaints`` are the lines that do not count."""

    __slots__ = ("_rules", "complaints")

    def __init__(self, rules: list[_Rule], complaints: list[Complaint]) -> None:
        self._rules = rules
        self.complaints = complaints

    def __len__(self) -> int:
        return len(self._rules)

    def apply(self, host: str, path: str, headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """The headers of an answer after every rule that matches its request, in the order of the file.

        The first rule that names a header takes the place of what was there, later ones add to it.
        """
        named: set[str] = set()
        for rule in self._rules:
            values = rule.pattern.match(host, path)
            if values is None:
                continue
            for name in rule.removed:
                headers = [pair for pair in headers if pair[0] != name]
            for name, text in rule.values.items():
                value = _NOT_IN_VALUES.sub("", fill_in(text, values))
                if name not in named:
                    named.add(name)
                    headers = [pair for pair in headers if pair[0] != name]
                    headers.append((name, value))
                else:
                    headers = _added(headers, name, value)
        return headers


def _added(headers: list[tuple[str, str]], name: str, value: str) -> list[tuple[str, str]]:
    for index, (known, present) in enumerate(headers):
        if known == name and name != "set-cookie":
            return [*headers[:index], (name, f"{present}, {value}"), *headers[index + 1 :]]
    return [*headers, (name, value)]


def parse_headers(text: str) -> HeaderRules:
    """Read the file; lines that make no sense are left out and told of."""
    lines = text.split("\n")
    rules: list[_Rule] = []
    complaints: list[Complaint] = []
    rule: _Rule | None = None
    complain = complaints.append
    for number, raw in enumerate(lines, 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if len(line) > MAX_LINE:
            complain(
                Complaint(
                    f"Ignoring line {number} as it exceeds the maximum allowed length of {MAX_LINE}."
                )
            )
        elif _ADDRESS.match(line):
            if len(rules) == _MOST_RULES:
                complain(
                    Complaint(
                        f"Maximum number of rules supported is {_MOST_RULES}. Skipping remaining "
                        f"{len(lines) - number + 1} lines of file."
                    )
                )
                break
            try:
                address = normal(line, relative=False, ports=False, tail=False)
                rule = _Rule(address, Pattern(address), line, number)
            except BadRule as error:
                complain(Complaint(str(error), line, number))
                rule = None
            else:
                rules.append(rule)
        else:
            try:
                _add_line(line, rule)
            except BadRule as error:
                complain(Complaint(str(error), line, number))
    for empty in [each for each in rules if not each.values and not each.removed]:
        rules.remove(empty)
        complain(Complaint("No headers specified", empty.line, empty.number))
    # What is deployed has each address once, at the place of its first block.
    last: dict[str, _Rule] = {}
    for each in rules:
        known = last.get(each.address)
        if known is not None:
            complain(Complaint(_REPEATED, known.line, known.number))
        last[each.address] = each
    return HeaderRules(list(last.values()), complaints)


def _add_line(line: str, rule: _Rule | None) -> None:
    name, colon, value = line.partition(":")
    if not colon:
        if rule is None:
            raise BadRule("Expected a path beginning with at least one forward-slash")
        if not line.startswith(_REMOVES):
            raise BadRule("Expected a colon-separated header pair (e.g. name: value)")
        rule.removed.append(line.removeprefix(_REMOVES).strip().lower())
        return
    name, value = name.strip().lower(), value.strip()
    if " " in name:
        raise BadRule("Header name cannot include spaces")
    if not name:
        raise BadRule("No header name specified")
    if not value:
        raise BadRule("No header value specified")
    if rule is None:
        raise BadRule(f"Path should come before header ({name}: {value})")
    if not _TOKEN.fullmatch(name):
        raise BadRule(f"{name!r} is not the name of a header")
    if name in _FRAMING:
        raise BadRule(f"{name!r} is a header of the connection, which the server sets")
    present = rule.values.get(name)
    rule.values[name] = value if present is None else f"{present}, {value}"
