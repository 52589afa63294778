"""A coroutine that begins in its caller's stack and goes on, if it has to wait, in a task of its own."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Coroutine, Generator
from typing import Any

__all__ = ["Detached", "as_exception"]


class Detached:
    """What such a task runs: ``steps``, to be set at once. The outcome is for the caller; the task gives nothing.

    :meth:`begin` takes the first step; without it the task does. ``coroutine`` is closed if it never came to that.
    """

    __slots__ = (
        "_coroutine",
        "_error",
        "_held",
        "_started",
        "_value",
        "_waiting_for",
        "done",
        "outcome",
        "steps",
    )

    def __init__(self, coroutine: Coroutine[Any, Any, Any] | None = None) -> None:
        self.steps: Any = None
        self.done = False
        self.outcome: asyncio.Future[Any] | None = None
        self._coroutine = coroutine
        self._started = False
        # What the first step waits for, until the task asks.
        self._held = False
        self._waiting_for: Any = None
        self._value: Any = None
        self._error: BaseException | None = None

    def begin(self) -> None:
        """Take the first step here and now."""
        self._started = self._held = True
        try:
            self._waiting_for = self.steps.send(None)
        except StopIteration as stop:
            self._value = stop.value
            self.done = True
        except BaseException as error:
            self._error = as_exception(error)
            self.done = True

    def result(self) -> Any:
        """What came of it, once it is done."""
        error, self._error = self._error, None
        if error is not None:
            raise error
        return self._value

    def send(self, value: Any) -> Any:
        if self.done:
            raise StopIteration
        if self._held:
            self._held = False
            waiting_for, self._waiting_for = self._waiting_for, None
            return waiting_for
        self._started = True
        return self._advance(self.steps.send, value)

    def throw(self, *error: Any) -> Any:
        if self.done:
            raise StopIteration
        if self._held:
            # The task has not heard what the first step waits for, so it has not cancelled that either.
            self._held = False
            waiting_for, self._waiting_for = self._waiting_for, None
            if isinstance(waiting_for, asyncio.Future):
                waiting_for.cancel()
        elif not self._started and self._coroutine is not None:
            self._coroutine.close()
        raised = error[0] if len(error) == 1 else error[1]
        return self._advance(self.steps.throw, raised)

    def _advance(self, step: Any, argument: Any) -> Any:
        try:
            return step(argument)
        except StopIteration as stop:
            self.done = True
            outcome = self.outcome
            if outcome is not None and not outcome.done():
                outcome.set_result(stop.value)
        except BaseException as error:
            self.done = True
            outcome = self.outcome
            if outcome is not None and not outcome.done():
                outcome.set_exception(as_exception(error))
        raise StopIteration

    def close(self) -> None:
        self.steps.close()
        if self._coroutine is not None:
            self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self.steps  # type: ignore[no-any-return]


Coroutine.register(Detached)


def as_exception(error: BaseException) -> Exception:
    """What a caller may be given: as it is, a cancellation would look as if the caller had been cancelled.

    The traceback is that of what was raised, so that a caller is shown the frames of the object's code.
    """
    if isinstance(error, Exception):
        return error
    what = "".join(traceback.format_exception_only(error)).strip()
    # asyncio's own exceptions come with their module's name.
    what = what.removeprefix(f"{type(error).__module__}.")
    ended = RuntimeError(f"the code of the Durable Object was ended by {what}")
    return ended.with_traceback(error.__traceback__)
