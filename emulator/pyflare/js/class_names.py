"""The class of a JavaScript value as Python shows it: ``pyodide.ffi.JsProxy``, of an error ``pyodide.ffi.JsException``.

Production has these two names for the values of every JavaScript class, and programs compare them
(``type(x).__name__ == "JsProxy"``). What JavaScript calls a class is its ``_js_name``.

CPython takes the name in its own texts (``'pyodide.ffi.JsProxy' object is not subscriptable``) from the class itself,
where it has the module's name in front; :class:`ShownName` takes it off again for who asks for ``__name__``.

Source: https://pyodide.org/en/stable/usage/api/python-api/ffi.html, and the texts of Pyodide 0.28.
"""

from __future__ import annotations

import copyreg
from functools import reduce
from importlib import import_module
from typing import Any, Final

__all__ = ["MODULE", "ShownName", "show_as", "show_as_proxies", "show_as_proxy"]

#: The module that production's classes of JavaScript values belong to.
MODULE: Final = "pyodide.ffi"
_NAME: Final = type.__dict__["__name__"]


class ShownName:
    """``C.__name__``, for the metaclass of classes that carry the name of a module in front of their own."""

    def __get__(self, cls: Any, _owner: Any = None) -> Any:
        return self if cls is None else _NAME.__get__(cls).rpartition(".")[2]

    def __set__(self, cls: Any, name: str) -> None:
        _NAME.__set__(cls, name)


def show_as(cls: type, module: str, name: str) -> None:
    """Give a class the names of production's class of that module."""
    cls.__module__, cls.__qualname__, cls.__name__ = module, name, name


def show_as_proxy(cls: Any) -> None:
    """Give a class of this package the names of production's class; ``_place`` keeps its own module and name."""
    name = "JsException" if issubclass(cls, BaseException) else "JsProxy"
    cls._place = (cls.__module__, cls.__qualname__)
    cls.__module__, cls.__qualname__, cls.__name__ = MODULE, name, f"{MODULE}.{name}"


def show_as_proxies(metaclass: type) -> None:
    """Give a metaclass, whose instances are JavaScript values too, the same names.

    Pickles name its instances by where they are, and not by what Python shows.
    """
    show_as(metaclass, MODULE, "JsProxy")
    copyreg.pickle(metaclass, _reduced)


def _reduced(cls: Any) -> str | tuple[Any, ...]:
    place = cls.__dict__.get("_place")
    return cls.__qualname__ if place is None else (_class_at, place)


def _class_at(module: str, qualified_name: str) -> Any:
    return reduce(getattr, qualified_name.split("."), import_module(module))
