"""``_redirects``: paths that are answered from elsewhere, before any file is looked for.

Source: https://developers.cloudflare.com/workers/static-assets/redirects/
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .rule_urls import MAX_LINE, BadRule, Complaint, Pattern, fill_in, has_host, is_dynamic, normal

__all__ = ["RedirectRules", "Target", "parse_redirects"]

_MOST_STATIC: Final = 2000
_MOST_DYNAMIC: Final = 100
_STATUSES: Final = frozenset((200, 301, 302, 303, 307, 308))
_INDEX: Final = re.compile(r".*/index(.html)?", re.DOTALL)
_SCHEME: Final = re.compile(r"\w+://")


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request is sent; ``status`` 200 means that it is answered with the other path's file."""

    to: str
    status: int


class RedirectRules:
    """The rules of one file. ``complaints`` are the lines that do not count."""

    __slots__ = ("_dynamic", "_static", "complaints")

    def __init__(
        self,
        static: dict[str, Target],
        dynamic: list[tuple[Pattern, Target]],
        complaints: list[Complaint],
    ) -> None:
        self._static = static
        self._dynamic = dynamic
        self.complaints = complaints

    def __len__(self) -> int:
        return len(self._static) + len(self._dynamic)

    def match(self, host: str, path: str) -> Target | None:
        """The target of a request: that of the exact path, else that of the first pattern that matches."""
        found = self._static.get(path)
        if found is not None:
            return found
        for pattern, target in self._dynamic:
            values = pattern.match(host, path)
            if values is not None:
                to = fill_in(target.to, values)
                # Two slashes at the front would make a host of what came from the request's path.
                return Target(to if _SCHEME.match(to) else re.sub("/+", "/", to), target.status)
        return None


def parse_redirects(text: str, html_handling: str) -> RedirectRules:
    """Read the file; lines that make no sense are left out and told of."""
    static: dict[str, Target] = {}
    dynamic: list[tuple[Pattern, Target]] = []
    complaints: list[Complaint] = []
    seen: set[str] = set()
    lines = text.split("\n")
    counted_static = counted_dynamic = 0
    for number, raw in enumerate(lines, 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if len(line) > MAX_LINE:
            problem = (
                f"Ignoring line {number} as it exceeds the maximum allowed length of {MAX_LINE}."
            )
            complaints.append(Complaint(problem))
            continue
        try:
            source, target = _read(line, html_handling)
            is_static = counted_dynamic == 0 and not is_dynamic(source)
            if is_static:
                counted_static += 1
                if counted_static > _MOST_STATIC:
                    raise BadRule(
                        f"Maximum number of static rules supported is {_MOST_STATIC}. Skipping line."
                    )
            else:
                counted_dynamic += 1
                if counted_dynamic > _MOST_DYNAMIC:
                    complaints.append(
                        Complaint(
                            f"Maximum number of dynamic rules supported is {_MOST_DYNAMIC}. "
                            f"Skipping remaining {len(lines) - number + 1} lines of file."
                        )
                    )
                    break
            if source in seen:
                raise BadRule(f"Ignoring duplicate rule for path {source}.")
            if is_static:
                static[source] = target
            else:
                dynamic.append((Pattern(source), target))
            seen.add(source)
        except BadRule as error:
            complaints.append(Complaint(str(error), line, number))
    return RedirectRules(static, dynamic, complaints)


def _read(line: str, html_handling: str) -> tuple[str, Target]:
    tokens = line.split()
    comment = next(
        (index for index, token in enumerate(tokens) if index >= 2 and token.startswith("#")), None
    )
    tokens = tokens[:comment]
    if not 2 <= len(tokens) <= 3:
        raise BadRule(f"Expected exactly 2 or 3 whitespace-separated tokens. Got {len(tokens)}.")
    source = normal(tokens[0], relative=True, ports=False, tail=False)
    to = normal(tokens[1], relative=False, ports=True, tail=True)
    code = tokens[2] if len(tokens) == 3 else "302"
    if not code.isdecimal() or int(code) not in _STATUSES:
        raise BadRule(
            f"Valid status codes are 200, 301, 302 (default), 303, 307, or 308. Got {code}."
        )
    status = int(code)
    loops = source.endswith("/*") or (source.endswith("/") and html_handling != "none")
    if not has_host(to) and loops and _INDEX.fullmatch(to):
        raise BadRule(
            "Infinite loop detected in this rule and has been ignored. The target is redirected to the path without "
            "`.html` or `/index`, which triggers this rule again. Change or remove the rule; a single-page "
            'application is served with "not_found_handling": "single-page-application".'
        )
    if status == 200 and has_host(to):
        raise BadRule(f"Proxy (200) redirects can only point to relative paths. Got {to}")
    return source, Target(to, status)
