"""Programs: what the worker does and which faults strike, and when each of it may happen."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .world import Action, World

EVERY_FAULT = ("abort", "crash", "write", "raise")


@dataclass(frozen=True, slots=True)
class Program:
    """What may still be done, at any point of a schedule.

    The worker has `operations`: it sets the alarm to one of the `seconds`, deletes it, or rolls
    back what it has not committed. With `at_once` every change is committed in the same step;
    otherwise the commit is a step of its own, with anything else possible before it. `faults`, at
    any point, are of the `kinds`: the object is aborted; the process crashes, with or without the
    scheduler's file, and is back at once or only when everything is overdue; a write of the
    scheduler's table or a commit fails; the handler raises.
    """

    operations: int
    faults: int = 0
    seconds: tuple[float, ...] = (5, 7, 10)
    at_once: bool = False
    kinds: tuple[str, ...] = EVERY_FAULT

    def actions(self, world: World) -> list[tuple[Action, Program]]:
        """Everything that may happen next, and the program that remains after it."""
        found: list[tuple[Action, Program]] = [(each, self) for each in world.environment()]
        if self.operations and world.accepts():
            less = replace(self, operations=self.operations - 1)
            found += [(("set", second, self.at_once), less) for second in self.seconds]
            found.append((("delete", self.at_once), less))
            if not self.at_once and world.can_roll_back():
                found.append((("roll back",), less))
        if self.faults:
            less = replace(self, faults=self.faults - 1)
            found += [(fault, less) for kind in self.kinds for fault in _faults(kind, world)]
        return found


def _faults(kind: str, world: World) -> list[Action]:
    match kind:
        case "abort" if world.accepts():
            return [("abort",)]
        case "crash":
            return [("crash", lose, down) for lose, down in ((False, 0), (False, 20), (True, 0))]
        case "write":
            faults: list[Action] = [
                ("table fails", each) for each in range(len(world.table.in_flight))
            ]
            return [*faults, ("commit fails",)] if world.database.in_flight else faults
        case "raise" if world.handler is not None and not world.handler.done():
            return [("raises",)]
    return []
