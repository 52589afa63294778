"""``js.Function``: the constructor of classes and functions. It makes none, as on the platform."""

from __future__ import annotations

from typing import Any

from .error import EvalError
from .value import JsInstance

__all__ = ["Function"]


class Function(JsInstance, js_name="Function"):
    """The class of every JavaScript function and class."""

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
