"""The reason for which an object is reset, when its storage has failed."""

from __future__ import annotations

from typing import Final

from pyflare_bindings.storage.errors import SqlError

from .owner_errors import OWNER_ERRORS, owner_failure

__all__ = ["platform_error"]

_CONSTRAINTS_VIOLATED: Final = (
    "Durable Object was reset and rolled back to its last known good state because the application left the database "
    "in a state where constraints were violated: "
)


def platform_error(error: BaseException) -> BaseException:
    """The error that callers see; one that is not the owner's is left as it is."""
    if not isinstance(error, OWNER_ERRORS):
        return error
    failure = owner_failure(error)
    if isinstance(error, SqlError) and "SQLITE_CONSTRAINT" in failure.message:
        failure.message = _CONSTRAINTS_VIOLATED + failure.message
    failure.durableObjectReset = True  # type: ignore[attr-defined]
    failure.__cause__ = error
    return failure
