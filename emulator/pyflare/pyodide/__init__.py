"""The module ``pyodide`` of worker code.

``__version__`` is the runtime version of the running worker, chosen by its compatibility flags.
"""

from importlib import import_module
from typing import Any, Final

from ..js import semantics

__all__ = ["__version__"]

#: Modules that are there once the package is.
_LOADED: Final = ("code", "ffi", "webloop")


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return semantics.current().version
    if name in _LOADED:
        return import_module(f"pyflare.pyodide.{name}")
    raise AttributeError(f"module 'pyodide' has no attribute {name!r}")
