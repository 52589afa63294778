"""A coroutine that begins in its caller's stack and goes on, if it has to wait, in a task of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any

__all__ = ["Detached"]


class Detached:
    """What such a task runs: ``steps``, to be set at once. The outcome is for the caller; the task gives nothing.

    :meth:`begin` takes the first step; without it the task does.
    """

    __slots__ = ("_begun", "_error", "_value", "_waiting_for", "done", "outcome", "steps")

    def __init__(self) -> None:
        self.steps: Any = None
        self._begun = False
        self._waiting_for: Any = None
        self._value: Any = None
        self._error: BaseException | None = None
        self.done = False
        self.outcome: asyncio.Future[Any] | None = None

    def begin(self) -> None:
        """Take the first step here and now."""
        self._begun = True
        try:
            self._waiting_for = self.steps.send(None)
        except StopIteration as stop:
            self._value = stop.value
            self.done = True
        except (KeyboardInterrupt, SystemExit):
            self.done = True
            raise
        except BaseException as error:
            self._error = _exception(error)
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
        if self._begun:
            self._begun = False
            waiting_for, self._waiting_for = self._waiting_for, None
            return waiting_for
        return self._advance(self.steps.send, value)

    def throw(self, *error: Any) -> Any:
        if self.done:
            raise StopIteration
        if self._begun:
            # The task has not heard what the first step waits for, so it has not cancelled that either.
            self._begun = False
            waiting_for, self._waiting_for = self._waiting_for, None
            if isinstance(waiting_for, asyncio.Future):
                waiting_for.cancel()
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
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            self.done = True
            outcome = self.outcome
            if outcome is not None and not outcome.done():
                outcome.set_exception(_exception(error))
        raise StopIteration

    def close(self) -> None:
        self.steps.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self.steps


Coroutine.register(Detached)


def _exception(error: BaseException) -> Exception:
    """What a caller may be given: as it is, a cancellation would look as if the caller had been cancelled."""
    if isinstance(error, Exception):
        return error
    ended = RuntimeError(f"the code of the Durable Object was ended by {type(error).__name__}")
    ended.__cause__ = error
    return ended
