"""The module ``pyodide.ffi``: conversions between Python and JavaScript, proxies and the classes of JavaScript values.

Source: https://pyodide.org/en/stable/usage/api/python-api/ffi.html
"""

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
from ...js.value import JsNull, JsProxy, jsnull
from ...js.weak import WeakRef as JsWeakRef
from ..suspension import can_run_sync, run_sync
from .modules import register_js_module, unregister_js_module
from .shapes import (
    JsAsyncGenerator,
    JsAsyncIterable,
    JsAsyncIterator,
    JsBigInt,
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
    "JsNull",
    "JsOnceCallable",
    "JsPromise",
    "JsProxy",
    "JsTypedArray",
    "JsWeakRef",
    "can_run_sync",
    "create_once_callable",
    "create_proxy",
    "destroy_proxies",
    "jsnull",
    "register_js_module",
    "run_sync",
    "to_js",
    "unregister_js_module",
]

#: True in production, where code looks at it to tell the JavaScript runtime from a native interpreter.
IN_BROWSER = True


class InternalError(Exception):
    """A fault of the runtime itself. Never raised here; code may name it."""
