"""``run_worker_first``: which requests the Worker sees before the assets.

Source: https://developers.cloudflare.com/workers/static-assets/binding/#run_worker_first
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum, auto

__all__ = ["First", "WorkerFirst"]


class First(Enum):
    """Who answers a request."""

    WORKER = auto()
    ASSETS = auto()
    #: The assets where there is one, else the Worker.
    ASSETS_IF_ANY = auto()


class WorkerFirst:
    """The setting: a yes or no, or patterns of paths in which ``*`` stands for anything; ``!/`` begins an exception."""

    __slots__ = ("_always", "_not", "_patterns", "has_patterns")

    def __init__(self, setting: bool | Iterable[str]) -> None:
        rules = () if isinstance(setting, bool) else tuple(setting)
        self._always = setting is True
        self.has_patterns = bool(rules)
        self._patterns = _compiled(rule for rule in rules if not rule.startswith("!"))
        self._not = _compiled(rule[1:] for rule in rules if rule.startswith("!"))

    def of(self, path: str) -> First:
        """Who answers a path, percent-encoded as the request has it. Exceptions win over patterns."""
        if self._not is not None and self._not.fullmatch(path):
            return First.ASSETS
        if self._always or (self._patterns is not None and self._patterns.fullmatch(path)):
            return First.WORKER
        return First.ASSETS_IF_ANY


def _compiled(rules: Iterable[str]) -> re.Pattern[str] | None:
    joined = "|".join(".*".join(map(re.escape, rule.split("*"))) for rule in rules)
    return re.compile(joined, re.DOTALL) if joined else None
