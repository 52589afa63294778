"""Which files beside the entry-point become part of a worker when it is deployed."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from .stringify import stringify
from .table import Table

MODULE_TYPES = ("ESModule", "CommonJS", "CompiledWasm", "Text", "Data")


class Rule(NamedTuple):
    """Files that match one of `globs` (relative to the bundle root) are modules of `type`."""

    type: str
    globs: tuple[str, ...]
    fallthrough: bool = False

    def holds(self, path: str) -> bool:
        """Whether the file at `path` (relative to the bundle root, with `/`) matches."""
        return any(_pattern(glob).fullmatch(path) for glob in self.globs)


PYTHON_RULE = Rule("PythonModule", ("**/*.py",))
_BUILT_IN = (
    Rule("Text", ("**/*.txt", "**/*.html", "**/*.sql")),
    Rule("Data", ("**/*.bin",)),
    Rule("CompiledWasm", ("**/*.wasm", "**/*.wasm?module")),
)


def read_rule(table: Table) -> Rule | None:
    kind = table.value.get("type")
    if kind not in MODULE_TYPES:
        table.fail(
            'bindings should have a string "type" field, which contains one of "ESModule", '
            '"CommonJS", "CompiledWasm", "Text", or "Data".',
            "type",
            'Files that match "**/*.py" are Python modules without a rule.'
            if kind == "PythonModule"
            else None,
        )
    globs = table.texts("globs")
    if "globs" not in table:
        table.fail(
            f'Expected "{table.field}.globs" to be an array of strings but got {stringify(None)}',
            "globs",
        )
    fallthrough = table.value.get("fallthrough", False)
    if not isinstance(fallthrough, bool):
        table.fail('the field "fallthrough", when present, should be a boolean.', "fallthrough")
    if not table.valid:
        return None
    return Rule(str(kind), globs or (), bool(fallthrough))


class ModuleRules:
    """The rules of one worker together with the built-in ones. A rule of one type hides the
    later rules of that type unless it falls through."""

    __slots__ = ("rules",)

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        complete: set[str] = set()
        effective: list[Rule] = []
        for rule in (*rules, *_BUILT_IN):
            if rule.type not in complete:
                effective.append(rule)
            if not rule.fallthrough:
                complete.add(rule.type)
        self.rules = tuple(effective)

    def module_type(self, path: str) -> str | None:
        """The type of the file at `path` (relative to the bundle root, with `/`), or None when
        no rule ships it: such a file is there locally and absent once deployed."""
        for rule in self.rules:
            if rule.holds(path):
                return rule.type
        return None


@cache
def _pattern(glob: str) -> re.Pattern[str]:
    """`**/` stands for any folders or none, `*` and `?` stay within one name."""
    out: list[str] = []
    index = 0
    while index < len(glob):
        if glob.startswith("**/", index):
            out.append("(?:[^/]+/)*")
            index += 3
        elif glob.startswith("**", index):
            out.append(".*")
            index += 2
        else:
            char = glob[index]
            out.append({"*": "[^/]*", "?": "[^/]"}.get(char, re.escape(char)))
            index += 1
    return re.compile("".join(out))
