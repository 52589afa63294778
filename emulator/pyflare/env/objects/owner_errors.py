"""What the owner of an object's storage fails with, as JavaScript's errors."""

from __future__ import annotations

from typing import Final

from pyflare.js.error import Error, JsException
from pyflare_bindings.objects.alarm_parts import ObjectResetError
from pyflare_bindings.storage.errors import ClosedError, SqlError, StateError

__all__ = ["NO_LONGER_ACCESSIBLE", "OWNER_ERRORS", "owner_failure"]

NO_LONGER_ACCESSIBLE: Final = "Durable Object storage is no longer accessible."

#: What an operation of the owner may raise.
OWNER_ERRORS: Final = (SqlError, StateError, ClosedError, ObjectResetError)


def owner_failure(error: Exception) -> JsException:
    """The error that code of the object sees."""
    if isinstance(error, ClosedError | ObjectResetError):
        return Error(NO_LONGER_ACCESSIBLE)
    return Error(str(error))
