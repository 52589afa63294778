"""The owners' own values on their way between two processes of the same pyflare.

Arguments and results are dataclasses, tuples and errors of :mod:`pyflare_bindings`. They travel as pickles that may
name nothing else, so that what comes out is a value.
"""

from __future__ import annotations

import io
import pickle
from typing import Any, Final

from pyflare_bindings.storage.errors import ClosedError

__all__ = ["STREAM", "dump", "load", "pack_error", "unpack_error"]

_ROOM: Final = "pyflare_bindings."
_PLAIN: Final = frozenset({("builtins", "frozenset"), ("builtins", "set")})

#: In the place of an argument that is a stream.
STREAM: Final = "\0the stream that follows"


class _Loader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _PLAIN:
            return super().find_class(module, name)
        if module.startswith(_ROOM):
            found = super().find_class(module, name)
            if isinstance(found, type) and found.__module__ == module:
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is no value of an owner")


def dump(value: Any) -> bytes:
    """A value as bytes."""
    return pickle.dumps(value, protocol=5)


def load(data: bytes) -> Any:
    """The value again. Raises :class:`pickle.UnpicklingError` for what an owner neither takes nor gives."""
    return _Loader(io.BytesIO(data)).load()


def pack_error(error: Exception) -> tuple[Any, ...]:
    """An error of an owner, to be dumped."""
    kind = type(error)
    if not kind.__module__.startswith(_ROOM):
        kind, error = ClosedError, ClosedError(f"{kind.__name__}: {error}")
    path = getattr(error, "path", None)
    state = {name: value for name, value in vars(error).items() if name != "path"}
    return kind, error.args, state, None if path is None else str(path)


def unpack_error(packed: tuple[Any, ...]) -> Exception:
    """The error again."""
    from pathlib import Path

    kind, arguments, state, path = packed
    made: Exception = kind.__new__(kind)
    made.args = arguments
    made.__dict__.update(state)
    if path is not None:
        made.__dict__["path"] = Path(path)
    return made
