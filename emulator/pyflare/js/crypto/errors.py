"""The errors of ``crypto.subtle``: DOM exceptions by name.

Source: https://w3c.github.io/webcrypto/#SubtleCrypto-Exceptions; the texts are those of workerd ``api/crypto``.
"""

from __future__ import annotations

from ..error import DOMException, JsException, TypeError_

__all__ = [
    "data_error",
    "invalid_access",
    "missing",
    "not_supported",
    "operation_error",
    "syntax_error",
    "wrong_parameter",
]


def data_error(message: str) -> JsException:
    """Key data that cannot be used."""
    return DOMException(message, "DataError")


def invalid_access(message: str) -> JsException:
    """A key that must not be used that way."""
    return DOMException(message, "InvalidAccessError")


def not_supported(message: str) -> JsException:
    """An algorithm or operation that does not exist."""
    return DOMException(message, "NotSupportedError")


def operation_error(message: str) -> JsException:
    """An operation that failed."""
    return DOMException(message, "OperationError")


def syntax_error(message: str) -> JsException:
    """Usages or extractability that the algorithm does not allow."""
    return DOMException(message, "SyntaxError")


def missing(field: str, holder: str = "algorithm") -> JsException:
    """A member that the algorithm needs and the argument has not."""
    return TypeError_(f'Missing field "{field}" in "{holder}".')


def wrong_parameter(method: str, position: int, expected: str) -> JsException:
    """An argument of the wrong type; ``position`` counts from 1."""
    return TypeError_(
        f"Failed to execute '{method}' on 'SubtleCrypto': parameter {position} is not of type '{expected}'."
    )
