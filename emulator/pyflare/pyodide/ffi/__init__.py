"""The module ``pyodide.ffi``: conversions between Python and JavaScript, proxies and the classes of JavaScript values.

Source: https://pyodide.org/en/stable/usage/api/python-api/ffi.html
"""

from typing import Any

from ...js.array import JsArray
from ...js.array_buffer import JsBuffer
from ...js.error import JsException
from ...js.from_python import ConversionError, to_js
from ...js.promise import JsPromise
from ...js.proxy import (
    JsDoubleProxy,
    JsOnceCallable,
    create_once_callable,
    create_proxy,
    destroy_proxies,
)
from ...js.typed_array import TypedArray as JsTypedArray
from ...js.value import JsBigInt, JsProxy
from ...js.weak import WeakRef as JsWeakRef
from .later_names import LATER_NAMES, is_hidden
from .modules import register_js_module, unregister_js_module
from .shapes import (
    JsAsyncGenerator,
    JsAsyncIterable,
    JsAsyncIterator,
    JsCallable,
    JsDomElement,
    JsFetchResponse,
    JsGenerator,
    JsIterable,
    JsIterator,
    JsMap,
    JsMutableMap,
)

__all__ = [
    "IN_BROWSER",
    "ConversionError",
    "InternalError",
    "JsArray",
    "JsAsyncGenerator",
    "JsAsyncIterable",
    "JsAsyncIterator",
    "JsBigInt",
    "JsBuffer",
    "JsCallable",
    "JsDomElement",
    "JsDoubleProxy",
    "JsException",
    "JsFetchResponse",
    "JsGenerator",
    "JsIterable",
    "JsIterator",
    "JsMap",
    "JsMutableMap",
    "JsOnceCallable",
    "JsPromise",
    "JsProxy",
    "JsTypedArray",
    "JsWeakRef",
    "create_once_callable",
    "create_proxy",
    "destroy_proxies",
    "register_js_module",
    "to_js",
    "unregister_js_module",
]

_NAMES = __all__
# What `from pyodide.ffi import *` gives depends on the running worker.
del __all__

#: True in production, where code looks at it to tell the JavaScript runtime from a native interpreter.
IN_BROWSER = True


class InternalError(Exception):
    """A fault of the runtime itself. Never raised here; code may name it."""


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return _NAMES if is_hidden() else [*_NAMES, *LATER_NAMES]
    if name in LATER_NAMES and not is_hidden():
        return LATER_NAMES[name]
    raise AttributeError(f"module 'pyodide.ffi' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_NAMES if is_hidden() else [*_NAMES, *LATER_NAMES])
