"""Python objects in JavaScript's hands: ``create_proxy``, ``create_once_callable`` and their buffers.

Natively a Python object needs no proxy, so a proxy forwards to the object it was made of and adds what JavaScript's
side has: ``destroy``, ``copy``, ``getBuffer``. The class of a proxy follows what its object can do, so that
``callable(proxy)``, ``iter(proxy)`` and ``await proxy`` are possible exactly when they are for the object.

Source: https://pyodide.org/en/stable/usage/api/python-api/ffi.html#pyodide.ffi.create_proxy and
https://pyodide.org/en/stable/usage/api/js-api.html#pyodide.ffi.PyProxy
"""

from __future__ import annotations

import weakref
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator
from functools import lru_cache
from typing import Any, Final

from . import typed_array_kinds
from .array_buffer import ArrayBuffer, as_bytes
from .error import Error
from .number import to_string
from .typed_array import TypedArray
from .typed_array_kinds import Uint8Array
from .value import JsClass, JsInstance, JsProxy

__all__ = [
    "JsDoubleProxy",
    "JsOnceCallable",
    "PyBufferView",
    "create_once_callable",
    "create_proxy",
    "destroy_proxies",
]

_DESTROYED: Final = object()
_new: Final = object.__new__


class JsDoubleProxy(JsProxy, metaclass=JsClass, js_name="PyProxy"):
    """What :func:`create_proxy` gives: a JavaScript proxy of a Python object, seen from Python."""

    __slots__ = ("__weakref__", "_capture_this", "_target")

    _tag = "Object"
    _target: Any
    _capture_this: bool

    def unwrap(self) -> Any:
        """The Python object. Raises: JsException when the proxy was destroyed."""
        target = self._target
        if target is _DESTROYED:
            raise Error("Object has already been destroyed")
        return target

    def destroy(self, message: Any = None, *_: Any) -> None:
        """Let go of the object; every later use but another ``destroy`` fails."""
        _set_target(self, _DESTROYED)

    def copy(self) -> JsDoubleProxy:
        """A second proxy of the same object with a life of its own."""
        return create_proxy(self.unwrap(), capture_this=self._capture_this)

    def getBuffer(self, kind: Any = None) -> PyBufferView:
        """A view on a Python buffer without a copy. Raises: JsException for an object that is none."""
        return _buffer_view(self.unwrap(), kind)

    def toJs(self, options: Any = None, **keywords: Any) -> Any:
        """Convert the object deeply, as ``to_js`` does."""
        from .from_python import to_js

        return to_js(self.unwrap(), **keywords)

    def to_py(self, *, depth: int = -1, default_converter: Any = None) -> Any:
        return self.unwrap()

    def toString(self) -> str:
        return str(self.unwrap())

    @property
    def type(self) -> str:
        """The name of the Python object's class."""
        return type(self.unwrap()).__name__

    @property
    def typeof(self) -> str:
        return "function" if callable(self.unwrap()) else "object"

    def __repr__(self) -> str:
        return "<destroyed proxy>" if self._target is _DESTROYED else repr(self._target)

    def __getattr__(self, name: str) -> Any:
        target = self.unwrap()
        try:
            return getattr(target, name)
        except AttributeError:
            if isinstance(target, dict) and name in target:
                return target[name]
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.unwrap(), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.unwrap(), name)

    def __bool__(self) -> bool:
        return bool(self.unwrap())

    def _proxied_buffer(self) -> bytes | memoryview | None:
        """The hook by which :func:`as_bytes` looks through the proxy."""
        return as_bytes(self.unwrap())


# A proxy's own slots, past its `__setattr__`, which writes to the object.
_set_target: Callable[[JsDoubleProxy, Any], None] = JsDoubleProxy.__dict__["_target"].__set__
_set_capture_this: Callable[[JsDoubleProxy, bool], None] = JsDoubleProxy.__dict__[
    "_capture_this"
].__set__


# What the class of a proxy gains when the class of its object has the same ability.


def _call(self: JsDoubleProxy, *args: Any, **kwargs: Any) -> Any:
    target = self._target
    if target is _DESTROYED:
        raise Error("Object has already been destroyed")
    return target(None, *args, **kwargs) if self._capture_this else target(*args, **kwargs)


def _await(self: JsDoubleProxy) -> Generator[Any, Any, Any]:
    return self.unwrap().__await__()  # type: ignore[no-any-return]


def _iter(self: JsDoubleProxy) -> Iterator[Any]:
    return iter(self.unwrap())


def _next(self: JsDoubleProxy) -> Any:
    return next(self.unwrap())


def _aiter(self: JsDoubleProxy) -> AsyncIterator[Any]:
    return aiter(self.unwrap())


def _anext(self: JsDoubleProxy) -> Any:
    return anext(self.unwrap())


def _len(self: JsDoubleProxy) -> int:
    return len(self.unwrap())


def _getitem(self: JsDoubleProxy, key: Any) -> Any:
    return self.unwrap()[key]


def _setitem(self: JsDoubleProxy, key: Any, value: Any) -> None:
    self.unwrap()[key] = value


def _delitem(self: JsDoubleProxy, key: Any) -> None:
    del self.unwrap()[key]


def _contains(self: JsDoubleProxy, item: Any) -> bool:
    return item in self.unwrap()


_ABILITIES: Final[dict[str, Callable[..., Any]]] = {
    "__call__": _call,
    "__await__": _await,
    "__iter__": _iter,
    "__next__": _next,
    "__aiter__": _aiter,
    "__anext__": _anext,
    "__len__": _len,
    "__getitem__": _getitem,
    "__setitem__": _setitem,
    "__delitem__": _delitem,
    "__contains__": _contains,
}


#: The class for proxies of objects of a class. Classes of a reloaded worker must not be kept by it.
_classes: weakref.WeakKeyDictionary[type, type[JsDoubleProxy]] = weakref.WeakKeyDictionary()


def _proxy_class(kind: type) -> type[JsDoubleProxy]:
    found = _classes.get(kind)
    if found is None:
        abilities = tuple(name for name in _ABILITIES if _has(kind, name))
        found = _classes[kind] = _class_with(abilities)
    return found


def _has(kind: type, name: str) -> bool:
    # Not `getattr`, which also finds what the class itself can do by its metaclass.
    return any(base.__dict__.get(name) is not None for base in kind.__mro__)


@lru_cache(maxsize=256)
def _class_with(abilities: tuple[str, ...]) -> type[JsDoubleProxy]:
    """Classes with equal abilities share one proxy class."""
    namespace: dict[str, Any] = {name: _ABILITIES[name] for name in abilities}
    namespace["__slots__"] = ()
    made: Any = JsClass("JsDoubleProxy", (JsDoubleProxy,), namespace, js_name="PyProxy")
    return made  # type: ignore[no-any-return]


def create_proxy(
    obj: Any, /, *, capture_this: bool = False, roundtrip: bool = True
) -> JsDoubleProxy:
    """A proxy that lives until it is destroyed.

    ``capture_this`` puts JavaScript's ``this`` before the arguments of a call; natively it is always undefined.
    ``roundtrip`` is accepted: the proxy is what JavaScript code here hands around in either case.
    """
    made: JsDoubleProxy = _new(_proxy_class(type(obj)))
    _set_target(made, obj)
    _set_capture_this(made, capture_this)
    return made


class JsOnceCallable(JsInstance, js_name="Function"):
    """What :func:`create_once_callable` gives: may be called once."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function: Callable[..., Any] | None = function

    @property
    def typeof(self) -> str:
        return "function"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        function = self._function
        if function is None:
            raise Error("OnceProxy can only be called once")
        self._function = None
        return function(*args, **kwargs)

    def destroy(self) -> None:
        """Give up the call. Raises: JsException when it was made or given up before."""
        if self._function is None:
            raise Error("OnceProxy has already been destroyed")
        self._function = None


def create_once_callable(obj: Callable[..., Any], /) -> JsOnceCallable:
    """A callable that destroys itself with its first call."""
    made: JsOnceCallable = JsOnceCallable._make(obj)
    return made


def destroy_proxies(pyproxies: Iterable[Any], /) -> None:
    """Destroy each of an array of proxies."""
    for proxy in pyproxies:
        destroy = getattr(proxy, "destroy", None)
        if destroy is not None:
            destroy()


class PyBufferView(JsProxy, metaclass=JsClass, js_name="PyBufferView"):
    """What ``getBuffer`` gives: ``data`` is a typed array over the Python object's own memory."""

    __slots__ = ("_source", "data")

    data: Any
    _source: Any

    @classmethod
    def over(cls, source: Any, data: Any) -> PyBufferView:
        """The view of a Python buffer, with the JavaScript array that shares its memory."""
        made: PyBufferView = _new(cls)
        made._source = source
        made.data = data
        return made

    @property
    def _memory(self) -> memoryview:
        return memoryview(self._source)

    @property
    def readonly(self) -> bool:
        return self._memory.readonly

    @property
    def format(self) -> str:
        return self._memory.format

    @property
    def itemsize(self) -> int:
        return self._memory.itemsize

    @property
    def ndim(self) -> int:
        return self._memory.ndim

    @property
    def nbytes(self) -> int:
        return self._memory.nbytes

    @property
    def offset(self) -> int:
        return 0

    @property
    def c_contiguous(self) -> bool:
        return self._memory.c_contiguous

    @property
    def f_contiguous(self) -> bool:
        return self._memory.f_contiguous

    @property
    def shape(self) -> Any:
        return _array(self._memory.shape or ())

    @property
    def strides(self) -> Any:
        """The distance of neighbours in each dimension, in elements."""
        return _array(stride // self.itemsize for stride in self._memory.strides or ())

    def release(self) -> None:
        """Say that the view is used no more. What was made of it without a copy stays good."""


def _array(items: Iterable[Any]) -> Any:
    from .array import JsArray

    return JsArray.adopt(list(items))


#: Names that `getBuffer` takes for the element type, and the class each stands for.
_BUFFER_KINDS: Final = {
    "i8": "Int8Array",
    "u8": "Uint8Array",
    "u8clamped": "Uint8ClampedArray",
    "i16": "Int16Array",
    "u16": "Uint16Array",
    "i32": "Int32Array",
    "u32": "Uint32Array",
    "i64": "BigInt64Array",
    "u64": "BigUint64Array",
    "f16": "Float16Array",
    "f32": "Float32Array",
    "f64": "Float64Array",
}


def _buffer_view(target: Any, kind: Any) -> PyBufferView:
    if type(target) is bytes and kind is None:
        # The way of every body that the SDK sends: nothing is copied.
        return PyBufferView.over(target, Uint8Array.from_bytes(target))
    try:
        view = memoryview(target)
    except TypeError:
        raise Error(f"Failed to get a buffer: {type(target).__name__} is no buffer") from None
    if not view.c_contiguous:
        raise Error("Failed to get a buffer: only contiguous buffers can be viewed")
    flat = view if view.ndim == 1 and view.format == "B" else view.cast("B")
    memory = target if isinstance(target, bytes | bytearray) else flat
    if kind == "dataview":
        from .data_view import DataView

        data = DataView._make(ArrayBuffer.adopt(memory), 0, view.nbytes)
    else:
        data = _array_class(view.format, kind).from_bytes(memory)
    return PyBufferView.over(target, data)


def _array_class(format: str, kind: Any) -> type[TypedArray]:
    if kind is not None:
        name = _BUFFER_KINDS.get(to_string(kind))
        if name is None:
            raise Error(f"Unknown type {to_string(kind)}")
        return getattr(typed_array_kinds, name)  # type: ignore[no-any-return]
    found = typed_array_kinds.class_of_format(format)
    if found is None:
        raise Error(f"A buffer of format '{format}' has no typed array; name a type for getBuffer")
    return found
