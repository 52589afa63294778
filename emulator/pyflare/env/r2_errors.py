"""R2's errors as a worker sees them.

Source: https://developers.cloudflare.com/r2/api/error-codes/
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import TypeVar

from pyflare.js.error import Error
from pyflare_bindings.r2 import R2Error
from pyflare_bindings.r2.errors import internal_error
from pyflare_bindings.storage.errors import ClosedError, StateError
from pyflare_bindings.storage.row_file import OverloadedError

__all__ = ["failure", "storage_failure", "succeed"]

_log = logging.getLogger(__name__)

T = TypeVar("T")


async def succeed(action: str, request: Awaitable[T]) -> T:
    """Await a request to the owner. Raises the platform's ``<action>: <text> (<code>)``."""
    try:
        return await request
    except R2Error as error:
        raise failure(action, error) from None
    except (StateError, ClosedError, OverloadedError) as error:
        raise storage_failure(action, error) from None


def failure(action: str, error: R2Error) -> Error:
    """The platform's error for a request that was refused; it has no ``code`` that a worker could read."""
    made = Error(f"{action}: {error} ({error.code})")
    made._code = error.code  # type: ignore[attr-defined]
    return made


def storage_failure(action: str, error: Exception) -> Error:
    """Production's text for a failure of its own storage; the log and ``cause`` say which file is at fault."""
    _log.error("R2 %s: %s", action, error)
    made = failure(action, internal_error())
    made.cause = Error(str(error))
    return made
