"""``C.prototype``: the methods of a class, to be called with an explicit ``this``.

Source: https://tc39.es/ecma262/#sec-function.prototype.call
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from .calling import call_function
from .value import JsClass, JsInstance, JsObject, JsProxy, is_nullish, object_tag

__all__ = ["Prototype", "PrototypeMethod"]


class Prototype(JsInstance, js_name="Object"):
    """``C.prototype``: gives the class's methods as functions with ``call`` and ``apply``."""

    def __init__(self, cls: JsClass) -> None:
        self._class = cls

    def __getattribute__(self, name: str) -> Any:
        if name[:1] == "_" or name in ("typeof", "to_py"):
            return object.__getattribute__(self, name)
        cls = self._class
        if name == "constructor":
            return cls
        if name == "toString" and cls is JsObject:
            return PrototypeMethod._make(object_tag, object, name)
        member = getattr(cls, name)
        if name not in dir(JsProxy) and not callable(member):
            return member
        return PrototypeMethod._make(member, cls, name)

    def __str__(self) -> str:
        return f"[object {getattr(self._class, '_tag', None) or self._class._js_name}]"

    __repr__ = __str__


class PrototypeMethod(JsInstance, js_name="Function"):
    """A method taken from a prototype, to be called with an explicit ``this``."""

    def __init__(self, function: Callable[..., Any], owner: type, name: str) -> None:
        self._function = function
        self._owner = owner
        self._name = name.removesuffix("_")

    @property
    def name(self) -> str:
        return self._name

    def call(self, this: Any = None, *args: Any, **keywords: Any) -> Any:
        return call_function(self._function, self._owner, this, *args, **keywords)

    def apply(self, this: Any = None, args: Any = None, *_: Any) -> Any:
        return self.call(this, *(() if is_nullish(args) else args))

    def bind(self, this: Any = None, *args: Any) -> Any:
        from .function import Function

        return Function.around(partial(self.call, this, *args), f"bound {self._name}")

    def __call__(self, *args: Any) -> Any:
        return self.call(None, *args)

    @property
    def typeof(self) -> str:
        return "function"

    def toString(self, *_: Any) -> str:
        return f"function {self._name}() {{ [native code] }}"
