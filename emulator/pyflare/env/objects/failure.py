"""The reason for which an object is reset, when its storage has failed."""

from __future__ import annotations

from .owner_errors import OWNER_ERRORS, owner_failure

__all__ = ["platform_error"]


def platform_error(error: BaseException) -> BaseException:
    """The error that callers see; one that is not the owner's is left as it is."""
    if not isinstance(error, OWNER_ERRORS):
        return error
    failure = owner_failure(error)
    failure.durableObjectReset = True  # type: ignore[attr-defined]
    failure.__cause__ = error
    return failure
