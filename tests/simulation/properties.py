"""What must hold after every step of every schedule.

Three of the properties show where they are broken and are checked there, in `world.py`: that no
handler runs early, after its alarm was deleted, or beside itself; that no alarm is unset before its
handler ran; that no commit is confirmed before it is durable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyflare_bindings.objects.instants import NEVER

if TYPE_CHECKING:
    from .world import World

# The second at which a simulation begins; alarms are told from there.
EPOCH = 1_000

_REQUESTS_OF_ONE_INSTANCE = 2


class Violation(BaseException):  # so that no layer takes it for a failure of a handler
    """A property that does not hold."""


def shown(time: int | None) -> str:
    """An alarm time as a person reads it."""
    return "none" if time is None or time == NEVER else f"{time / 1000 - EPOCH:g} s"


def check(world: World) -> None:
    """Raise Violation if a property does not hold in the state that `world` is in."""
    if world.violation is not None:
        raise world.violation
    _safety(world)
    _bounded(world)
    if world.is_quiet():
        _convergence(world)
        _at_least_once(world)


def _safety(world: World) -> None:
    """The scheduler is not later than the object, except while a lost table is collected anew.

    This holds for alarms whose commit is confirmed; for the complete layers for every durable one.
    """
    scheduled, durable = world.scheduled, world.database.landed
    if scheduled <= durable or world.rebuilding:
        return
    confirmed = len(world.history) == 1
    if confirmed or world.layers.strict:
        raise Violation(
            f"safety: the scheduler has {shown(scheduled)}, the object's durable alarm is "
            f"{shown(durable)}"
        )


def _bounded(world: World) -> None:
    """One request to be earlier and one to be later, at the most."""
    if len(world.told) <= _REQUESTS_OF_ONE_INSTANCE:
        return
    world.told = [each for each in world.told if not each.done()]
    if len(world.told) > _REQUESTS_OF_ONE_INSTANCE:
        raise Violation(f"bounded: {len(world.told)} requests of one instance are in flight")


def _convergence(world: World) -> None:
    """With nothing in flight both agree, or the scheduler is too early because a write failed."""
    scheduled, durable = world.scheduled, world.database.landed
    if scheduled != durable and not (world.expects_lag and scheduled < durable):
        raise Violation(
            f"convergence: nothing is in flight, the scheduler has {shown(scheduled)}, the "
            f"object's alarm is {shown(durable)}"
        )


def _at_least_once(world: World) -> None:
    """Where there is an alarm, there is a timer for it."""
    if not world.clock.bookings and world.database.landed != NEVER:
        raise Violation(f"at least once: the alarm at {shown(world.database.landed)} is stranded")
