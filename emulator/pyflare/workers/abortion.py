"""The end of an event that its own code has asked for: ``ctx.abort()`` of a Worker.

Where that code is the handler, the exception that ``abort`` raises is its end. A task, a timer or a listener of the
event may call it too: then the handler, which waits for something, is interrupted.

Source of the behaviour: workerd ``src/workerd/api/global-scope.c++``.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from pyflare.js.error import Error
from pyflare.js.rpc.bodies import cut
from pyflare.js.rpc.errors import crossing
from pyflare.js.value import is_nullish
from pyflare.js.webidl import text

if TYPE_CHECKING:
    from .event import ExecutionContext

__all__ = ["Abortion"]

_WITHOUT_REASON: Final = "Worker execution was aborted due to call to ctx.abort()."


class Abortion:
    """One event that was aborted, for a reason: an exception, a text, or undefined for the platform's own words."""

    __slots__ = ("_event", "_interrupted", "reason", "told")

    def __init__(self, event: ExecutionContext, reason: Any) -> None:
        self.reason: BaseException = (
            reason
            if isinstance(reason, BaseException)
            else Error(_WITHOUT_REASON if is_nullish(reason) else text(reason))
        )
        #: Whether somebody has been given the reason: there is nothing left to interrupt then.
        self.told = False
        self._event = event
        self._interrupted: asyncio.Task[Any] | None = None

    def begin(self) -> None:
        """Nothing of the event goes on: its work in the background, its timers, what others read of it and write."""
        event = self._event
        event._failed = True
        event.end_background()
        event._timers.cancel_all()
        event._end_tasks()
        for each in tuple(event._open or ()):
            fail = getattr(each, "fail", None)
            if fail is None:
                cut(each, crossing(self.reason))
            else:
                fail(self.reason)
        if event._ended:
            event._background.report(self.reason)
        else:
            # The code that has called this may be the handler itself, which will have ended then.
            asyncio.get_running_loop().call_soon(self._interrupt)

    def tell(self) -> BaseException:
        """The reason, for whoever waits for the event; its handler has ended."""
        self.told = True
        interrupted, self._interrupted = self._interrupted, None
        if interrupted is not None:
            interrupted.uncancel()
        return self.reason

    def _interrupt(self) -> None:
        task = self._event._task
        if not self.told and not self._event._ended and task is not None:
            self._interrupted = task
            task.cancel()
