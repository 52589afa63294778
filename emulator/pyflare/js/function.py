"""``js.Function``: functions as JavaScript objects, and the constructor that makes none, as on the platform.

The global functions (``fetch``, ``setTimeout``) are instances, as is what ``bind`` gives. Methods of objects are
Python's methods, which cost less to call; they have the functions' names as attributes: :mod:`pyflare.js.calling`.

Source: https://tc39.es/ecma262/#sec-function-objects
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from .calling import _apply, _bind, _call_static
from .error import EvalError
from .value import JsInstance

__all__ = ["Function"]


class Function(JsInstance, js_name="Function"):
    """The class of every JavaScript function and class."""

    _function: Callable[..., Any]

    @classmethod
    def around(cls, function: Callable[..., Any], name: str, length: int = 0) -> Function:
        """The JavaScript function that calls a Python function, without ``this``."""
        made: Function = object.__new__(cls)
        call = partial(_call_static, function)
        made.__dict__.update(
            _function=function,
            name=name,
            length=length,
            call=call,
            apply=partial(_apply, call),
            bind=partial(_bind, call, name),
        )
        return made

    @classmethod
    def _construct(cls, *_: Any) -> Any:
        """Refused like ``eval``: https://developers.cloudflare.com/workers/runtime-apis/web-standards/#javascript-standards"""
        raise EvalError("Code generation from strings disallowed for this context")

    @classmethod
    def _call(cls, *args: Any) -> Any:
        return cls._construct(*args)

    @property
    def typeof(self) -> str:
        return "function"

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self._function(*args, **keywords)

    def toString(self) -> str:
        return f"function {self.name}() {{ [native code] }}"  # type: ignore[attr-defined]
