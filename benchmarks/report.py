"""What a run found: comparisons with their targets, as a table and as JSON.

Only ratios and differences against a baseline of the same run are shown: absolute figures say more about the machine
than about the program. They are kept in the JSON, round by round, for whoever wants to look closer.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Literal

Bound = Literal["at least", "at most"]


@dataclass(frozen=True, slots=True)
class Target:
    """The figure that has to be reached."""

    bound: Bound
    value: float

    def reached(self, value: float) -> bool:
        return value >= self.value if self.bound == "at least" else value <= self.value


@dataclass(frozen=True, slots=True)
class Comparison:
    """One figure of pyflare beside the same figure of a baseline, round by round.

    `shown` says which of the two derived figures counts: the ratio (pyflare / baseline) or the difference (pyflare -
    baseline, in `unit`). Both come from pairs of neighbouring rounds, so that noise on the machine hits both sides."""

    name: str
    baseline_name: str
    unit: str
    pyflare: Sequence[float]
    baseline: Sequence[float]
    shown: Literal["ratio", "difference"] = "ratio"
    target: Target | None = None
    remark: str = ""

    @property
    def ratio(self) -> float:
        return median(a / b for a, b in zip(self.pyflare, self.baseline, strict=True))

    @property
    def difference(self) -> float:
        return median(a - b for a, b in zip(self.pyflare, self.baseline, strict=True))

    @property
    def value(self) -> float:
        return self.ratio if self.shown == "ratio" else self.difference

    @property
    def verdict(self) -> str:
        if self.target is None:
            return ""
        return "pass" if self.target.reached(self.value) else "MISS"

    def _text(self, value: float, sign: str = "+") -> str:
        if self.shown == "ratio":
            return f"{value:.2f} x"
        return (
            f"{value:{sign}.1f} {self.unit}"
            if abs(value) < 1000
            else f"{value:{sign}.0f} {self.unit}"
        )

    def cells(self) -> tuple[str, str, str, str, str, str]:
        target = f"{self.target.bound} {self._text(self.target.value)}" if self.target else ""
        both = f"{self.ratio:.2f} x" if self.shown == "difference" else ""
        return self.name, self.baseline_name, self._text(self.value), both, target, self.verdict


@dataclass(slots=True)
class Report:
    """All comparisons of one run and what they were measured on."""

    facts: dict[str, str]
    comparisons: list[Comparison] = field(default_factory=list)

    def table(self) -> str:
        """The report for people: facts, one line per comparison, remarks."""
        heads = ("what", "against", "figure", "ratio", "target", "")
        rows = [heads, *(comparison.cells() for comparison in self.comparisons)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
        lines = [f"{name}: {value}" for name, value in self.facts.items()]
        lines.append("")
        for index, row in enumerate(rows):
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            lines.append("  ".join(cells).rstrip())
            if index == 0:
                lines.append("  ".join("-" * width for width in widths))
        remarks = [f"{item.name}: {item.remark}" for item in self.comparisons if item.remark]
        return "\n".join([*lines, "", *remarks]).rstrip()

    def missed(self) -> list[Comparison]:
        return [comparison for comparison in self.comparisons if comparison.verdict == "MISS"]

    def write(self, path: Path) -> None:
        """Writes the whole run, with every round, as JSON to `path`."""
        content = {
            "facts": self.facts,
            "comparisons": [
                asdict(comparison)
                | {
                    "ratio": comparison.ratio,
                    "difference": comparison.difference,
                    "verdict": comparison.verdict,
                }
                for comparison in self.comparisons
            ],
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, indent=2) + "\n")
