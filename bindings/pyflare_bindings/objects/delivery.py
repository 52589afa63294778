"""One run of an alarm on a live instance, from the wake-up to the outcome."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from .alarm import ObjectAlarm
from .outcome import AlarmRun, Completed, Failed, Outcome

_log = logging.getLogger(__name__)


async def deliver(
    alarm: ObjectAlarm, run: AlarmRun, handler: Callable[[], Awaitable[object]]
) -> Outcome:
    """Wake an object for `run` and call its handler if its alarm is due.

    Out: what the scheduler is to be told. A handler that raises is a counted failure, and what it
    had committed stays. A commit that fails afterwards, or an instance that goes away, is one that
    does not use up a retry. The caller cancels the handler when its time is over.
    """
    try:
        declined = await alarm.arm(run.time)
    except Exception as error:
        return Failed(counted=False, reason=str(error))
    if declined is not None:
        return declined
    try:
        await handler()
    except Exception as error:
        _log.debug("%s: alarm() raised", run.key, exc_info=error)
        replaced = alarm.failed()
        reason = f"{type(error).__name__}: {error}"
        if replaced and not await _is_confirmed(alarm):
            replaced = False
        return Failed(counted=True, replaced=replaced, reason=reason)
    except BaseException:
        alarm.failed()
        raise
    try:
        return Completed(await alarm.succeeded())
    except Exception as error:
        return Failed(counted=False, reason=str(error))


async def _is_confirmed(alarm: ObjectAlarm) -> bool:
    """Whether what the handler changed before it raised has become durable."""
    try:
        await alarm.commit()
    except Exception:
        return False
    return True
