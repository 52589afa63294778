"""What became of one resource when state was imported or exported."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["Action", "Outcome"]

Action = Literal["imported", "exported", "kept", "absent", "failed"]


@dataclass(slots=True)
class Outcome:
    """`kind` and `id` name the resource; `count` of `unit` were carried over.

    `kept`: the target has data already, which stays; `absent`: there is nothing to carry over. `notes` are what a
    person should know, `problems` what failed.
    """

    kind: str
    id: str
    action: Action
    count: int = 0
    unit: str = ""
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """For scripts."""
        return {
            "kind": self.kind,
            "id": self.id,
            "action": self.action,
            "count": self.count,
            "notes": self.notes,
            "problems": self.problems,
        }
