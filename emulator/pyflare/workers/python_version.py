"""The version of Python that a worker has in production, and the one that it has here."""

from __future__ import annotations

import sys

__all__ = ["note_older_python"]


def note_older_python(error: BaseException, production: str | None) -> None:
    """Where a module cannot be imported because this Python may be too old for it, say so in a note of the error.

    In: ``production``, the minor version there, such as "3.13".
    """
    if production is None or not isinstance(error, SyntaxError | ImportError):
        return
    if isinstance(error, ModuleNotFoundError):
        # A package that is not installed, far more often than a module of a newer Python.
        return
    here = sys.version_info[:2]
    if here < tuple(map(int, production.split("."))):
        error.add_note(
            f"Production runs this Worker on Python {production}; this is Python {here[0]}.{here[1]}. "
            f"If the code needs the newer one, install pyflare in an environment of Python {production}."
        )
