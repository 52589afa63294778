"""Modules that every worker shares by identity and sees with its own contents."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from types import ModuleType
from typing import Any

from pyflare.workers.current import current


class ContextModule(ModuleType):
    """A module such as `js` or `_cloudflare_compat_flags`, one object for all workers.

    `shared` holds what is the same for every worker; any other name is looked up in the running
    worker's namespace (`WorkerScope.namespaces[module name]`). Assignments and deletions go to
    that namespace and are seen before a shared name, so `js.fetch = f` stays with the worker that
    wrote it. Outside a worker the shared names are seen and assignments change the module itself.

    A missing name raises AttributeError, which `from js import name` turns into ImportError.
    `resolve`, if given, makes shared values when they are first asked for; it raises AttributeError
    for a name that it does not know; `listed` gives the names that it knows, for `dir` and `import *`.
    """

    def __init__(
        self,
        name: str,
        shared: Mapping[str, object] | None = None,
        *,
        resolve: Callable[[str], object] | None = None,
        listed: Callable[[], Iterable[str]] | None = None,
        uncached: Collection[str] = (),
    ) -> None:
        super().__init__(name)
        own = self.__dict__
        own["_uncached"] = frozenset(uncached)
        own["_resolve"] = resolve
        own["_listed"] = listed
        own["_overridden"] = set()
        own["_behind"] = {}
        # Shared names sit in the module's dictionary, where the interpreter finds them without
        # calling __getattr__: `js.Response` costs what any module attribute costs.
        own.update(shared or {})

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        if name == "__all__" and own["_listed"] is not None:
            return self.__dir__()
        scope = current.get()
        if scope is not None:
            namespace = scope.namespaces.get(own["__name__"])
            if namespace is not None:
                try:
                    return getattr(namespace, name)
                except AttributeError:
                    pass
        behind: dict[str, object] = own["_behind"]
        if name in behind:
            return behind[name]
        resolve = own["_resolve"]
        if resolve is None or name.startswith("__"):
            raise AttributeError(f"module {own['__name__']!r} has no attribute {name!r}")
        value = resolve(name)
        if name in own["_uncached"]:
            return value
        (behind if name in own["_overridden"] else own)[name] = value
        return value

    def __setattr__(self, name: str, value: object) -> None:
        namespace = self._namespace(name)
        if namespace is None:
            super().__setattr__(name, value)
            return
        self.give_way(name)
        setattr(namespace, name, value)

    def __delattr__(self, name: str) -> None:
        namespace = self._namespace(name)
        if namespace is None:
            super().__delattr__(name)
            return
        delattr(namespace, name)

    def __dir__(self) -> list[str]:
        names = {name for name in self.__dict__ if not name.startswith("_")}
        names.update(self.__dict__["_behind"])
        if (listed := self.__dict__["_listed"]) is not None:
            names.update(listed())
        namespace = self._namespace("")
        if namespace is not None:
            names.update(dir(namespace))
        return sorted(names)

    def _namespace(self, name: str) -> object | None:
        """The running worker's namespace, None outside a worker and for the module's own dunders.

        Raises AttributeError when the running worker has no namespace of this name.
        """
        scope = current.get()
        if scope is None or (name.startswith("__") and name.endswith("__")):
            return None
        module = self.__dict__["__name__"]
        try:
            return scope.namespaces[module]
        except KeyError:
            raise AttributeError(
                f"worker {scope.name!r} has no namespace for module {module!r}; "
                f"cannot reach attribute {name!r}"
            ) from None

    def give_way(self, name: str) -> None:
        """Keep a shared name out of the dictionary, so that a worker's own value is seen first."""
        own = self.__dict__
        own["_overridden"].add(name)
        if name in own:
            own["_behind"][name] = own.pop(name)
