"""Schedules as text, for the scenarios that have a name.

5       the worker sets the alarm to 5 s          5!      and the object commits in the same turn
x       it deletes the alarm                      x!      and the object commits in the same turn
ack     the scheduler's write becomes durable     ack-    it fails
dur     the oldest commit becomes durable         dur-    it fails
time    the clock goes to the next timer          undo    the open transaction is rolled back
ret     the handler returns                       raise   it raises
abort   the object is aborted                     crash   the process dies and starts again
lose    the process dies, the scheduler's file is lost, and it starts again
commit  the object commits                        late    dies, is back when everything is overdue
"""

from __future__ import annotations

from .world import Action, World

_WORDS: dict[str, Action] = {
    "x": ("delete", False),
    "x!": ("delete", True),
    "ack": ("table lands", 0),
    "ack-": ("table fails", 0),
    "dur": ("commit lands",),
    "dur-": ("commit fails",),
    "time": ("time",),
    "ret": ("returns",),
    "raise": ("raises",),
    "abort": ("abort",),
    "undo": ("roll back",),
    "commit": ("commit",),
    "crash": ("crash", False, 0),
    "late": ("crash", False, 20),
    "lose": ("crash", True, 0),
}


def play(world: World, script: str) -> None:
    """Take the steps of `script`; every property is checked after each."""
    for word in script.split():
        action = _WORDS.get(word) or ("set", float(word.rstrip("!")), word.endswith("!"))
        assert world.allows(action), f"{word} is not possible here"
        world.do(action)


def to_the_end(world: World) -> None:
    """Let everything that is under way happen, the handler return, and time pass."""
    while actions := world.environment():
        world.do(actions[0])
