"""``register_js_module``: JavaScript objects as Python modules.

Source: https://pyodide.org/en/stable/usage/api/python-api/ffi.html#pyodide.ffi.register_js_module
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from ...js.value import JsObject, JsProxy, own_items

__all__ = ["register_js_module", "unregister_js_module"]


class _ObjectModule(ModuleType):
    """A module whose names are an object's properties."""

    def __init__(self, name: str, source: Any) -> None:
        super().__init__(name)
        self.__dict__["_source"] = source
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(self.__dict__["_source"], name)
        except AttributeError:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}") from None

    def __dir__(self) -> list[str]:
        return sorted({name for name, _ in own_items(self.__dict__["_source"])})


class _Finder:
    """A finder and loader that serves the registered objects, and their object-valued properties as submodules.

    Without the base classes of ``importlib.abc``, whose import costs more than all of ``pyodide.ffi``.
    """

    def __init__(self) -> None:
        self.registered: dict[str, Any] = {}

    @classmethod
    def of_process(cls, *, create: bool = False) -> _Finder | None:
        for finder in sys.meta_path:
            if isinstance(finder, cls):
                return finder
        if not create:
            return None
        made = cls()
        sys.meta_path.append(made)
        return made

    def _resolve(self, fullname: str) -> Any:
        root, _, rest = fullname.partition(".")
        if root not in self.registered:
            return None
        found = self.registered[root]
        for part in filter(None, rest.split(".")):
            found = getattr(found, part, None)
            if not isinstance(found, JsProxy):
                raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return found

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if self._resolve(fullname) is None:
            return None
        loader: Any = self
        return ModuleSpec(fullname, loader, origin="jsproxy", is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _ObjectModule(spec.name, self._resolve(spec.name))

    def exec_module(self, module: ModuleType) -> None:
        pass


def register_js_module(name: str, jsproxy: Any) -> None:
    """Make ``import name`` give an object's properties. Replaces what was registered under the name.

    Raises: TypeError when the name is no string or the object no JavaScript object, a dict or a module.
    """
    if not isinstance(name, str):
        raise TypeError(f"Argument 'name' must be a str, not {type(name).__name__!r}")
    if isinstance(jsproxy, dict):
        jsproxy = JsObject.adopt(dict(jsproxy))
    if not isinstance(jsproxy, JsProxy | ModuleType):
        raise TypeError(f"Argument 'jsproxy' must be a JsProxy, not {type(jsproxy).__name__!r}")
    finder = _Finder.of_process(create=True)
    assert finder is not None
    _forget(name)
    finder.registered[name] = jsproxy


def unregister_js_module(name: str) -> None:
    """Undo :func:`register_js_module`. Raises: ValueError for a name that is not registered."""
    finder = _Finder.of_process()
    if finder is None or name not in finder.registered:
        raise ValueError(
            f"Cannot unregister {name!r}: no Javascript module with that name is registered"
        )
    del finder.registered[name]
    _forget(name)


def _forget(name: str) -> None:
    for module in list(sys.modules):
        if module == name or module.startswith(name + "."):
            del sys.modules[module]
