"""One alarm event: the ``alarm`` handler of an object.

Source: https://developers.cloudflare.com/durable-objects/api/alarms/ and workerd ``src/workerd/api/global-scope.c++``.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any, Final

from pyflare.js.error import TypeError_
from pyflare.js.value import JsObject
from pyflare.workers.actors import Actor
from pyflare.workers.actors.failures import reset_error
from pyflare.workers.entrypoints import positional_capacity
from pyflare_bindings.objects import AlarmRun, Outcome, deliver

__all__ = ["TIME_LIMIT", "TOO_LONG", "alarm_handler", "run_alarm"]

#: Seconds that a handler may take.
TIME_LIMIT: Final = 15 * 60.0
TOO_LONG: Final = "Alarm exceeded its allowed execution time"
NO_HANDLER: Final = "Method alarm does not exist"


async def run_alarm(actor: Actor, run: AlarmRun, report: Callable[[BaseException], None]) -> Outcome:
    """Call the handler if the alarm is due; to be run as an event of the object, which is built by then.

    ``report`` is given the handler's own exception. Raises what ends the object meanwhile.
    """

    async def handle() -> None:
        clock = actor.namespace.host.clock
        timer = clock.call_later(
            TIME_LIMIT, lambda: actor.reset(reset_error(TOO_LONG, overloaded=True))
        )
        try:
            await _call(actor, run)
        except SystemExit as error:
            report(error)
            raise RuntimeError("the alarm handler called sys.exit()") from error
        except asyncio.CancelledError as error:
            if actor.failure is not None:
                raise
            report(error)
            raise RuntimeError("the alarm handler awaited something that was cancelled") from error
        except Exception as error:
            if actor.failure is None:
                report(error)
            raise
        finally:
            timer.cancel()

    return await deliver(actor.storage.alarm, run, handle)


async def _call(actor: Actor, run: AlarmRun) -> None:
    handler = alarm_handler(actor.instance, legacy=actor.namespace.worker.definition.legacy_handlers)
    if handler is None:
        raise TypeError_(NO_HANDLER)
    info = JsObject.adopt(
        {
            "retryCount": run.retry_count,
            "isRetry": run.retry_count > 0,
            "scheduledTime": run.time,
        }
    )
    result = handler(*(info,)[: positional_capacity(handler, 1)])
    if inspect.isawaitable(result):
        await result


def alarm_handler(owner: Any, *, legacy: bool) -> Callable[..., Any] | None:
    """The handler of an instance, or of a class; where module-level handlers count, ``on_alarm`` is one too."""
    handler = getattr(owner, "alarm", None)
    if handler is None and legacy:
        handler = getattr(owner, "on_alarm", None)
    return handler if callable(handler) else None
