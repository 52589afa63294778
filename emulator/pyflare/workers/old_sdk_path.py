"""``cloudflare.workers``: the SDK under its first name, which the oldest runtime has beside ``workers``.

Source: workerd ``src/pyodide/python-entrypoint-helper.ts``, which puts it there for Pyodide 0.26 alone, and not where
the SDK comes from the project.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

from pyflare.js.semantics import PYODIDE_0_26

from .current import current
from .finder import SyntheticLoader

__all__ = ["OldSdkPath"]

_PACKAGE: Final = "cloudflare"
_SDK: Final = "cloudflare.workers"


class OldSdkPath:
    """The last of the finders, after the distribution ``cloudflare`` and a worker's own module of that name."""

    def install(self) -> None:
        if self not in sys.meta_path:
            sys.meta_path.append(self)

    def uninstall(self) -> None:
        """Take it out, and what it made once no other one is left."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        if any(isinstance(each, OldSdkPath) for each in sys.meta_path):
            return
        for name in [name for name in sys.modules if name.partition(".")[0] == _PACKAGE]:
            if name.startswith(f"{_SDK}.") or isinstance(sys.modules[name], _Package):
                del sys.modules[name]
        real = sys.modules.get(_PACKAGE)
        if real is not None and isinstance(vars(real).get("workers"), _Sdk):
            del real.workers

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] != _PACKAGE or not _is_there():
            return None
        loader: Any
        if fullname == _PACKAGE:
            loader = SyntheticLoader(lambda: _Package(fullname))
        elif fullname == _SDK:
            loader = SyntheticLoader(lambda: _Sdk(fullname))
        elif fullname.startswith(f"{_SDK}."):
            name = fullname.partition(".")[2]
            if importlib.util.find_spec(name) is None:
                return None
            loader = SyntheticLoader(lambda: importlib.import_module(name))
        else:
            return None
        return ModuleSpec(
            fullname, loader, origin="pyflare", is_package=fullname in (_PACKAGE, _SDK)
        )


class _Package(ModuleType):
    """``cloudflare``, and nothing in it."""


class _Sdk(_Package):
    """Everything is the SDK's own, so that its classes are the same under both names."""

    def __getattr__(self, name: str) -> Any:
        if not _is_there():
            # Another worker's import has left the module where this one finds it.
            raise ModuleNotFoundError(f"No module named {_SDK!r}", name=_SDK)
        if name.startswith("__") and name != "__all__":
            raise AttributeError(f"module {_SDK!r} has no attribute {name!r}")
        import workers

        return getattr(workers, name)

    def __dir__(self) -> list[str]:
        import workers

        return dir(workers)


def _is_there() -> bool:
    """Whether the running worker's runtime has the old name."""
    scope = current.get()
    compat: Any = None if scope is None else scope.compat
    return (
        getattr(compat, "pyodide_version", None) == PYODIDE_0_26.version
        and not compat.enable_python_external_sdk
    )
