"""The error of a request that got no answer, or not all of it."""

from __future__ import annotations

from .error import Error

__all__ = ["connection_lost"]


def connection_lost(host: str, failure: BaseException | None) -> Error:
    """Production's error. What is behind it is a note: the network's own exceptions are nothing that a worker can see.

    In: ``host``, with its port, that was connected to; ``failure``, what the network said, if anything.
    """
    error: Error = Error._make("Network connection lost.")
    error.retryable = True  # type: ignore[attr-defined]
    if failure is not None:
        reason = str(failure) or "no reason given"
        error.add_note(f"The connection to {host} failed: {reason} ({type(failure).__name__})")
    return error
