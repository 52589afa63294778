"""The error of a request that got no answer, or not all of it."""

from __future__ import annotations

from typing import Final

from .error import Error

__all__ = ["connection_lost", "is_connection_lost"]

_LOST: Final = "Network connection lost."


def is_connection_lost(error: BaseException) -> bool:
    """Whether it is such an error."""
    return (
        isinstance(error, Error)
        and error.message == _LOST
        and getattr(error, "retryable", None) is True
    )


def connection_lost(host: str, failure: BaseException | None) -> Error:
    """Production's error. What is behind it is a note: the network's own exceptions are nothing that a worker can see.

    In: ``host``, with its port, that was connected to; ``failure``, what the network said, if anything.
    """
    error: Error = Error._make(_LOST)
    error.retryable = True  # type: ignore[attr-defined]
    if failure is not None:
        reason = str(failure) or "no reason given"
        error.add_note(f"The connection to {host} failed: {reason} ({type(failure).__name__})")
    return error
