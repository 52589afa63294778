"""Wakes the objects of one class for the scheduler."""

from __future__ import annotations

from functools import partial
from time import perf_counter
from typing import Final, Protocol

from pyflare.workers.actors import Actor, ActorNamespace, failures
from pyflare_bindings.objects import (
    AlarmRun,
    Completed,
    Declined,
    Failed,
    ObjectId,
    ObjectIdError,
    ObjectKey,
    ObjectResetError,
    Outcome,
)
from pyflare_bindings.objects.instants import now_ms
from pyflare_bindings.objects.retry import MAX_RETRIES
from pyflare_bindings.storage.errors import ClosedError, StateError

from .event import AlarmEvents

__all__ = ["AlarmLog", "ObjectAlarms"]

# How often an object that ends meanwhile is told that its alarm is given up.
_TELLINGS: Final = 3


class AlarmLog(Protocol):
    """Where a person reads how alarms went."""

    def alarm(
        self, worker: str, object: str, outcome: str, late: float, milliseconds: float
    ) -> None: ...
    def info(self, text: str) -> None: ...
    def warning(self, text: str) -> None: ...
    def error(self, text: str) -> None: ...


class ObjectAlarms:
    """A :class:`pyflare_bindings.objects.AlarmRunner`."""

    __slots__ = ("_events", "_log", "_namespace", "_not_again")

    def __init__(self, namespace: ActorNamespace, log: AlarmLog) -> None:
        self._namespace = namespace
        self._log = log
        self._events = AlarmEvents(self._report)
        self._not_again: set[ObjectKey] = set()

    async def run(self, run: AlarmRun) -> Outcome:
        """Wake an object."""
        try:
            id = self._namespace.ids.from_string(run.key.id)
        except ObjectIdError:
            self._log.warning(
                f"{run.key.id} is no object of {self._namespace.label}; its alarm is dropped."
            )
            return Declined(None)
        actor = self._namespace.live(id)
        if actor is None:
            await self._namespace.has_ended(id)
            woken = self._wake(id, run.time)
            if isinstance(woken, Declined | Failed):
                return woken
            actor = woken
        clock = self._namespace.host.clock
        late = clock.now() * 1000 - run.time
        began = perf_counter()
        outcome: Outcome
        try:
            outcome = await actor.deliver(partial(self._events.run, run=run))
        except Exception as error:
            outcome = self._interrupted(actor, error)
            if not outcome.retry:
                self._not_again.add(run.key)
        if not isinstance(outcome, Declined):
            self._tell(actor, run, outcome, late, (perf_counter() - began) * 1000)
        return outcome

    def _wake(self, id: ObjectId, time: int) -> Actor | Declined | Failed:
        """The object, which is not in memory.

        Declined where it need not be built, since its alarm is not due; Failed where it cannot be.
        """
        namespace = self._namespace
        actor = namespace.live(id)
        if actor is not None:
            return actor
        if namespace.exported_class() is None or namespace.host.closing:
            # It is run as soon as that is mended.
            return Failed(counted=False, reason="the class cannot be used for the moment")
        try:
            storage = namespace.storages.open(id)
        except StateError as error:
            self._log.error(f"The alarm of {self._label(id)} cannot run: {error}")
            return Failed(counted=False, reason=str(error))
        alarm = storage.alarm.get()
        if alarm != time and (alarm is None or alarm >= now_ms(namespace.host.clock)):
            namespace.close_storage(id, storage)
            return Declined(alarm)
        # The scheduler knows ids; the name that the object was once called by is in its storage.
        actor = namespace.actor(ObjectId(id.raw, storage.name))
        assert actor.storage is storage
        return actor

    def _report(self, error: BaseException) -> None:
        self._namespace.report("alarm", error)

    def _interrupted(self, actor: Actor, error: Exception) -> Failed:
        """The object ended during the run, or could not be built."""
        failure = actor.failure
        reason = f"{type(error).__name__}: {error}"
        counted = failure is not None and not _is_internal(failure)
        if counted:
            self._report(error)
        return Failed(counted=counted, retry=actor.retry_alarm, reason=reason)

    def _tell(
        self, actor: Actor, run: AlarmRun, outcome: Outcome, late: float, milliseconds: float
    ) -> None:
        match outcome:
            case Completed():
                text = "ok" if run.retry_count == 0 else f"ok at try {run.retry_count + 1}"
            case Failed(counted=True, replaced=False):
                text = f"exception at try {run.retry_count + 1} of {MAX_RETRIES + 1}"
            case Failed(counted=True):
                text = "exception"
            case _:
                text = "interrupted"
        label = self._label(actor.id)
        self._log.alarm(self._namespace.script, label, text, late, milliseconds)

    def _label(self, id: ObjectId) -> str:
        shown = id.hex if id.name is None else f'"{id.name}"'
        return f"{self._namespace.class_name} {shown}"

    async def abandon(self, key: ObjectKey, time: int) -> int | None:
        """Unset an alarm that will not be tried again; gives the one that is set instead. Raises: what prevents it."""
        id = self._namespace.ids.from_string(key.id)
        for telling in range(_TELLINGS):
            try:
                alarm, name = await self._abandon(id, time)
                break
            except Exception:
                if telling == _TELLINGS - 1:
                    raise
        if alarm is None:
            why = (
                "as its handler asked for"
                if key in self._not_again
                else "after its last try failed"
            )
            self._log.error(
                f"The alarm of {self._label(ObjectId(id.raw, name))} is given up and unset, {why}."
            )
        self._not_again.discard(key)
        return alarm

    async def _abandon(self, id: ObjectId, time: int) -> tuple[int | None, str | None]:
        namespace = self._namespace
        await namespace.has_ended(id)
        actor = namespace.live(id)
        if actor is not None:
            return await actor.deliver(partial(_abandon, time=time)), actor.storage.name
        # The object is not built for this: its constructor may be what fails.
        storage = namespace.storages.open(id)
        try:
            return await storage.alarm.abandon(time), storage.name
        finally:
            actor = namespace.live(id)
            if actor is None or (storage.broken is not None and not actor.has_storage):
                namespace.close_storage(id, storage)
            else:
                # Built meanwhile: the storage is its own.
                assert actor.storage is storage


async def _abandon(actor: Actor, time: int) -> int | None:
    alarm: int | None = await actor.storage.alarm.abandon(time)
    return alarm


_INTERNAL: Final = (failures.CODE_UPDATED, failures.SHUTTING_DOWN, failures.OUTPUT_TOO_LONG)


def _is_internal(failure: BaseException) -> bool:
    """Whether the object ended through no fault of its code, which uses up no retry."""
    if isinstance(failure.__cause__, StateError | ClosedError | ObjectResetError):
        return True
    return getattr(failure, "message", None) in _INTERNAL
