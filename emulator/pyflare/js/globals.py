"""Every name of the ``js`` module: where it is found. A module is only imported when one of its names is asked for.

Names of type declarations (``Env``, ``KVNamespace``, ``DurableObjectState``) are absent, as they are at run time.

Source: https://developers.cloudflare.com/workers/runtime-apis/web-standards/
"""

from __future__ import annotations

import sys
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from types import FunctionType
from typing import Any, Final

from .calling import accepting, required_arguments
from .value import JsInstance

__all__ = ["NODE_NAMES", "GlobalScope", "global_scope", "names", "node_compat", "resolve"]

_MODULES: Final = {
    "abort": "AbortController AbortSignal",
    "array": "Array=JsArray",
    "blob": "Blob File",
    "body": "Body",
    "buffer": "ArrayBuffer BigInt64Array BigUint64Array DataView Float16Array Float32Array Float64Array Int16Array "
    "Int32Array Int8Array Uint16Array Uint32Array Uint8Array Uint8ClampedArray",
    "byte_controller": "ReadableByteStreamController ReadableStreamBYOBReader ReadableStreamBYOBRequest",
    "caches": "Cache CacheStorage caches",
    "collections": "Map=JsMap Set=JsSet",
    "compression": "CompressionStream DecompressionStream",
    "console": "console",
    "crypto.key": "CryptoKey",
    "crypto.subtle": "SubtleCrypto",
    "crypto_random": "Crypto crypto",
    "date": "Date",
    "encoding": "TextDecoder TextDecoderStream TextEncoder TextEncoderStream atob btoa",
    "error": "AggregateError DOMException Error EvalError RangeError ReferenceError=ReferenceError_ "
    "SyntaxError=SyntaxError_ TypeError=TypeError_ URIError",
    "event_source": "EventSource",
    "events": "CloseEvent CustomEvent ErrorEvent Event EventTarget MessageEvent",
    "fetch": "fetch",
    "formdata": "FormData",
    "function": "Function",
    "cloudflare_global": "Cloudflare=cloudflare",
    "globals": "ServiceWorkerGlobalScope=GlobalScope globalThis=current_scope() self=current_scope() reportError",
    "headers": "Headers",
    "html_rewriter": "HTMLRewriter",
    "intl": "Intl",
    "json": "JSON",
    "math": "Math",
    "message_channel": "MessageChannel MessagePort",
    "navigator": "Navigator navigator",
    "number": "Number isFinite=is_finite isNaN=is_nan parseFloat=parse_float parseInt=parse_int",
    "performance": "Performance performance",
    "promise": "Promise",
    "readable": "ReadableStream",
    "readable_controller": "ReadableStreamDefaultController",
    "readers": "ReadableStreamDefaultReader",
    "reflect": "Reflect",
    "regexp": "RegExp",
    "request": "Request",
    "response": "Response",
    "searchparams": "URLSearchParams",
    "strategies": "ByteLengthQueuingStrategy CountQueuingStrategy",
    "string": "Boolean String",
    "structured_clone": "structuredClone",
    "symbol": "BigInt Symbol",
    "timers": "clearImmediate clearInterval clearTimeout queueMicrotask scheduler setImmediate setInterval setTimeout",
    "transform": "FixedLengthStream IdentityTransformStream TransformStream TransformStreamDefaultController",
    "uri": "decodeURI decodeURIComponent encodeURI encodeURIComponent escape unescape",
    "url": "URL",
    "url_pattern": "URLPattern",
    "value": "Object=JsObject",
    "websocket": "WebSocket",
    "websocket_auto_response": "WebSocketRequestResponsePair",
    "websocket_pair": "WebSocketPair",
    "weak": "FinalizationRegistry WeakMap WeakRef WeakSet",
    "writable": "WritableStream WritableStreamDefaultController",
    "writer": "WritableStreamDefaultWriter",
}


def _table() -> dict[str, tuple[str, str]]:
    table: dict[str, tuple[str, str]] = {}
    for module, listed in _MODULES.items():
        for entry in listed.split():
            name, _, attribute = entry.partition("=")
            table[name] = (module, attribute or name)
    return table


_TABLE: Final = _table()

_CONSTANTS: Final = {"Infinity": float("inf"), "NaN": float("nan"), "undefined": None}

#: Names that only some workers have: those with Node's globals.
NODE_NAMES: Final = {
    "Buffer": ("node_buffer", "Buffer"),
    "global": ("globals", "current_scope()"),
    "process": ("node_process", "process"),
}

#: Whether the running worker has Node's globals. Whoever loads a worker sets it for its context.
node_compat: ContextVar[bool] = ContextVar("node_compat", default=False)


def names() -> list[str]:
    """The names of the ``js`` module for the running worker, sorted."""
    return sorted([*_TABLE, *_CONSTANTS, *(NODE_NAMES if node_compat.get() else ())])


def resolve(name: str) -> Any:
    """The value of a global.

    Raises: AttributeError for a name that the runtime does not have, so that importing it is an ImportError.
    """
    if name in _CONSTANTS:
        return _CONSTANTS[name]
    place = _TABLE.get(name)
    if place is None and node_compat.get():
        place = NODE_NAMES.get(name)
    if place is None:
        raise AttributeError(name)
    module, attribute = place
    called = attribute.endswith("()")
    value = getattr(import_module(f".{module}", __package__), attribute.removesuffix("()"))
    if called:
        return value()
    return _function(name, value) if isinstance(value, FunctionType) else value


@cache
def _function(name: str, function: FunctionType) -> Any:
    """A global function as the JavaScript object that it is."""
    from .function import Function

    return Function.around(accepting(function, bound=0), name, required_arguments(function))


class GlobalScope(JsInstance, js_name="ServiceWorkerGlobalScope"):
    """``globalThis``: every global as an attribute; what a worker sets on it stays on it."""

    def __getattr__(self, name: str) -> Any:
        return resolve(name)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        # The module shows the same, and may have kept what was there before.
        give_way = getattr(sys.modules.get("js"), "give_way", None)
        if give_way is not None:
            give_way(name)

    def __dir__(self) -> list[str]:
        return sorted({*names(), *self.__dict__})


#: The global scope of the running worker. Whoever runs a worker sets one for its context.
global_scope: ContextVar[GlobalScope | None] = ContextVar("global_scope", default=None)

# For code that runs outside any worker.
_OUTSIDE_WORKERS: Final[GlobalScope] = GlobalScope._make()


def current_scope() -> GlobalScope:
    """The global scope of the running worker."""
    scope = global_scope.get()
    return _OUTSIDE_WORKERS if scope is None else scope


def reportError(error: Any) -> None:
    """Log an error as an uncaught one."""
    from .callbacks import report
    from .promise import as_error

    report(as_error(error))
