"""One alarm event: the ``alarm`` handler of an object.

Source: https://developers.cloudflare.com/durable-objects/api/alarms/ and workerd ``src/workerd/api/global-scope.c++``.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from types import CoroutineType
from typing import Any, Final

from pyflare.js.value import JsObject
from pyflare.workers.actors import Actor
from pyflare.workers.actors.failures import reset_error
from pyflare.workers.entrypoints import find_handler, no_handler, positional_capacity
from pyflare_bindings.objects import AlarmRun, Outcome, deliver

__all__ = ["TIME_LIMIT", "TOO_LONG", "AlarmEvents"]

#: Seconds that a handler may take.
TIME_LIMIT: Final = 15 * 60.0
TOO_LONG: Final = "Alarm exceeded its allowed execution time"


class AlarmEvents:
    """The alarm events of one class. ``report`` is given what handlers raise."""

    __slots__ = ("_capacity", "_report")

    def __init__(self, report: Callable[[BaseException], None]) -> None:
        self._report = report
        self._capacity: int | None = None

    async def run(self, actor: Actor, run: AlarmRun) -> Outcome:
        """Call the handler if the alarm is due; to be run as an event of the object, which is built by then.

        Raises: what ends the object meanwhile.
        """

        async def handle() -> None:
            timer = actor.namespace.host.clock.call_later(
                TIME_LIMIT, lambda: actor.reset(reset_error(TOO_LONG, overloaded=True))
            )
            try:
                await self._call(actor, run)
            except (SystemExit, KeyboardInterrupt) as error:
                self._report(error)
                raise RuntimeError(f"the alarm handler raised {type(error).__name__}") from error
            except asyncio.CancelledError as error:
                if actor.failure is not None:
                    raise
                self._report(error)
                raise RuntimeError("the alarm handler awaited what had been cancelled") from error
            except Exception as error:
                if actor.failure is None:
                    self._report(error)
                raise
            finally:
                timer.cancel()

        return await deliver(actor.storage.alarm, run, handle)

    async def _call(self, actor: Actor, run: AlarmRun) -> None:
        instance = actor.instance
        legacy = actor.namespace.worker.definition.legacy_handlers
        handler = find_handler(instance, "alarm", legacy=legacy)
        if handler is None:
            raise no_handler(instance, "alarm", legacy=legacy)
        if self._capacity is None:
            self._capacity = positional_capacity(handler, 1)
        result = handler(_info(run)) if self._capacity else handler()
        if type(result) is CoroutineType or inspect.isawaitable(result):
            await result


def _info(run: AlarmRun) -> Any:
    """What the handler is told, as JavaScript has it."""
    return JsObject.adopt(
        {
            "retryCount": run.retry_count,
            "isRetry": run.retry_count > 0,
            "scheduledTime": run.time,
        }
    )
