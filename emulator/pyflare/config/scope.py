"""The top level or one named environment while it is read, and what it takes from the top level.

Inheritable keys: a value in `env.X` replaces the whole top-level value. All others: `env.X`
without the key has the key's default, with a warning when the top level has a value. See
https://developers.cloudflare.com/workers/wrangler/configuration/#environments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .report import Report
from .stringify import stringify
from .table import Table

Values = dict[str, Any]


class Scope:
    """`raw` is what was written, `values` what was read from it. `top` and `top_raw` are the same
    of the top level, and None while the top level itself is read."""

    __slots__ = (
        "directory", "env_name", "prefix", "raw", "report", "table", "top", "top_raw", "values",
    )  # fmt: skip

    def __init__(
        self,
        raw: Values,
        report: Report,
        directory: Path,
        env_name: str | None,
        top: Values | None,
        top_raw: Values | None,
    ) -> None:
        self.raw = raw
        self.report = report
        self.directory = directory
        self.env_name = env_name
        self.top = top
        self.top_raw = top_raw
        self.prefix = "" if env_name is None else f"env.{env_name}."
        self.table = Table(raw, "", () if env_name is None else ("env", env_name), report)
        self.values: Values = {}

    def inherit(self, key: str, read: Callable[[], Any], default: Any = None) -> Any:
        """The value of an inheritable key; a null counts as absent."""
        value = read() if key in self.raw else None
        if self.raw.get(key) is None:
            value = None if self.top is None else self.top[key]
        self.values[key] = default if value is None else value
        return self.values[key]

    def own(self, key: str, read: Callable[[], Any], default: Any = None) -> Any:
        """The value of a key that environments do not inherit."""
        value: Any = None
        if key in self.raw:
            value = read()
        elif self.top_raw is not None and key in self.top_raw:
            self.report.warning(
                f'"{key}" exists at the top level, but not on "env.{self.env_name}".\n'
                f'"{key}" is not inherited by environments. '
                f'Please add "{key}" to "env.{self.env_name}".',
                self.table.path,
            )
        self.values[key] = default if value is None else value
        return self.values[key]

    def elements(self, key: str, field: str) -> Iterator[Table]:
        """The objects in the list at `key`; other elements are reported and left out."""
        for index, each in enumerate(self.raw[key]):
            path = (*self.table.path, key, index)
            if isinstance(each, dict):
                yield Table(each, f"{field}[{index}]", path, self.report)
            else:
                self.report.error(
                    f'"{field}[{index}]" should be an object but got {stringify(each)}.', path
                )
