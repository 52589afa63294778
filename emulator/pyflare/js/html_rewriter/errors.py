"""The error that the parser of the runtime reports for selectors, names and markup that it cannot take."""

from __future__ import annotations

from ..error import TypeError_

__all__ = ["parser_error"]


def parser_error(text: str) -> TypeError_:
    """The TypeError that tells what the parser found wrong."""
    made: TypeError_ = TypeError_(f"Parser error: {text}")
    return made
