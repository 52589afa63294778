"""`assets`: the folder of static files and how requests are divided."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .diagnostics import Position
from .paths import absolute, exists, is_directory
from .stringify import stringify
from .table import Table

HTML_HANDLING = ("auto-trailing-slash", "force-trailing-slash", "drop-trailing-slash", "none")
NOT_FOUND_HANDLING = ("single-page-application", "404-page", "none")
MAX_RULES = 100
MAX_RULE_LENGTH = 100


@dataclass(frozen=True, slots=True, eq=False)
class AssetsConfig:
    """`directory` is absolute. `run_worker_first` is a yes or no, or the list of patterns."""

    directory: Path | None = None
    binding: str | None = None
    html_handling: str = "auto-trailing-slash"
    not_found_handling: str = "none"
    run_worker_first: bool | tuple[str, ...] = False
    position: Position | None = None

    @property
    def label(self) -> str:
        return ""


def read_assets(table: Table, directory: Path) -> AssetsConfig:
    """Read the block; `directory` is what its folder is relative to."""
    folder = table.text("directory")
    binding = table.text("binding")
    html = table.text("html_handling", choices=HTML_HANDLING)
    not_found = table.text("not_found_handling", choices=NOT_FOUND_HANDLING)
    first = _run_worker_first(table)
    table.only("directory", "binding", "html_handling", "not_found_handling", "run_worker_first")
    return AssetsConfig(
        directory=None if not folder else absolute(directory, folder),
        binding=binding,
        html_handling=html or "auto-trailing-slash",
        not_found_handling=not_found or "none",
        run_worker_first=first,
        position=table.position,
    )


def _run_worker_first(table: Table) -> bool | tuple[str, ...]:
    if "run_worker_first" not in table:
        return False
    value = table.value["run_worker_first"]
    if isinstance(value, bool):
        return value
    if not isinstance(value, list):
        table.fail(
            f'The field "{table.field}.run_worker_first" should be an array of strings or a '
            f"boolean, but got {stringify(value)}.",
            "run_worker_first",
        )
        return False
    rules = table.texts("run_worker_first", "assets.run_worker_first") or ()
    if table.valid and (problem := _rules_problem(rules)) is not None:
        table.fail(problem, "run_worker_first")
    return rules


def _rules_problem(rules: tuple[str, ...]) -> str | None:
    """What is wrong with a list of patterns (`workers-shared/utils/configuration`)."""
    name = "`run_worker_first`"
    if not rules:
        return f"No {name} rules were provided; must provide at least 1 rule."
    if len(rules) > MAX_RULES:
        return (
            f"Too many {name} rules were provided; {len(rules)} rules provided exceeds max of "
            f"{MAX_RULES}."
        )
    negative = [rule for rule in rules if rule.startswith("!/")]
    positive = [rule for rule in rules if rule.startswith("/")]
    if negative and not positive:
        return (
            f"Only negative {name} rules were provided; must provide at least 1 non-negative rule"
        )
    invalid: list[str] = []
    for rule in rules:
        if rule.startswith("!") and rule not in negative:
            invalid.append(f"'{rule}': negative rules must start with '!/'")
        elif not rule.startswith(("!", "/")):
            invalid.append(f"'{rule}': rules must start with '/' or '!/'")
    invalid += [problem for group in (positive, negative) for problem in _group_problems(group)]
    if invalid:
        return f"Invalid routes in {name}:\n" + "\n".join(invalid)
    return None


def _group_problems(rules: list[str]) -> list[str]:
    problems: list[str] = []
    seen: set[str] = set()
    for rule in rules:
        if len(rule) > MAX_RULE_LENGTH:
            problems.append(
                f"'{rule}': all rules must be less than {MAX_RULE_LENGTH} characters in length"
            )
        if rule in seen:
            problems.append(f"'{rule}': rule is a duplicate; rules must be unique")
        if rule.endswith("*"):
            problems += [
                f"'{other}': rule '{rule}' makes it redundant"
                for other in rules
                if other != rule and other.startswith(rule[:-1])
            ]
        seen.add(rule)
    return problems


def check_assets(
    assets: AssetsConfig, *, has_main: bool, has_site: bool, source: str
) -> list[tuple[str, str]]:
    """What stops or disturbs a start, as (level, message). `source` names where the directory
    was given. Texts as `packages/wrangler/src/assets.ts` has them."""
    found: list[tuple[str, str]] = []
    if has_site:
        found.append(("error", "Cannot use assets and Workers Sites in the same Worker.\n"
                      "Please remove either the `site` or `assets` field from your "
                      "configuration file."))  # fmt: skip
    if assets.binding is not None and not has_main:
        found.append(("error", "Cannot use assets with a binding in an assets-only Worker.\n"
                      "Please remove the asset binding from your configuration file, or provide "
                      "a Worker script in your configuration file (`main`)."))  # fmt: skip
    if assets.directory is None:
        found.append(("error", "The `assets` property in your configuration is missing the "
                      "required `directory` property."))  # fmt: skip
    elif not exists(assets.directory):
        found.append(("error", f"The directory specified by the {source} does not exist:\n"
                      f"{assets.directory}"))  # fmt: skip
    elif not is_directory(assets.directory):
        found.append(("error", f"The path specified by the {source} doesn't point to a "
                      f"directory:\n{assets.directory}"))  # fmt: skip
    if assets.run_worker_first and not has_main:
        found.append(("error", "Cannot set run_worker_first without a Worker script.\n"
                      "Please remove run_worker_first from your configuration file, or provide a "
                      "Worker script in your configuration file (`main`)."))  # fmt: skip
    elif assets.run_worker_first is True and assets.binding is None:
        found.append(("warning", "run_worker_first=true set without an assets binding: every "
                      "request goes to the Worker, which cannot reach the assets. Set "
                      '"assets.binding" to give it a way.'))  # fmt: skip
    return found
