"""The module ``pyodide`` of worker code.

``__version__`` is the runtime version of the running worker, chosen by its compatibility flags.
"""

from typing import Any

from ..js import semantics

__all__ = ["__version__"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return semantics.current().version
    raise AttributeError(f"module 'pyodide' has no attribute {name!r}")
