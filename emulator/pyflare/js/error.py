"""JavaScript's errors as Python exceptions that are JavaScript values at the same time.

``JsException`` is what ``pyodide.ffi`` exports; ``js.Error`` and its kin are its subclasses, so an instance can be
raised from worker code, caught as ``JsException`` and passed on as a value.
"""

from __future__ import annotations

from typing import Any, ClassVar

from .value import JsClass, JsProxy, get_property, is_nullish

__all__ = [
    "AggregateError",
    "DOMException",
    "Error",
    "EvalError",
    "JsException",
    "RangeError",
    "ReferenceError_",
    "SyntaxError_",
    "TypeError_",
    "URIError",
    "data_clone_error",
    "python_error",
]


class JsException(Exception, JsProxy, metaclass=JsClass, js_name="Error"):
    """An error thrown by JavaScript. ``str(e)`` is ``"NAME: MESSAGE"``.

    Args: ``name`` the error's name, ``message`` its text, ``stack`` a stack as text. Picklable.
    """

    name: str
    message: str
    stack: str
    stackTraceLimit: ClassVar[int] = 10

    def __init__(self, name: str, message: str = "", stack: str = "") -> None:
        Exception.__init__(self, name, message, stack)
        self.name = name
        self.message = message
        self.stack = stack or self.toString()

    @classmethod
    def _call(cls, *args: Any) -> Any:
        return type.__call__(cls, *args)

    @classmethod
    def _construct(cls, *args: Any) -> Any:
        return type.__call__(cls, *args)

    def toString(self) -> str:
        """``Error.prototype.toString``."""
        if not self.name:
            return self.message
        return f"{self.name}: {self.message}" if self.message else self.name

    def __str__(self) -> str:
        return self.toString()

    def __repr__(self) -> str:
        return self.toString()

    @property
    def args(self) -> tuple[Any, ...]:  # type: ignore[override]
        """The error itself, as of an exception that was made around it."""
        return (self,)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_unpickle, (type(self)._js_name, self.__dict__.copy()))


def _unpickle(js_name: str, attributes: dict[str, Any]) -> JsException:
    cls = _BY_NAME.get(js_name, JsException)
    made = cls.__new__(cls)
    Exception.__init__(made, attributes.get("name"), attributes.get("message"))
    made.__dict__.update(attributes)
    return made


class Error(JsException, js_name="Error"):
    """``js.Error``: ``Error(message, {"cause": ...})``."""

    error_name: ClassVar[str] = "Error"

    def __init__(self, message: Any = "", options: Any = None) -> None:
        super().__init__(self.error_name, "" if message is None else _text(message))
        if not is_nullish(options):
            cause = get_property(options, "cause")
            if cause is not None:
                self.cause = cause


def _text(message: Any) -> str:
    if isinstance(message, str):
        return message
    from .number import to_string

    return to_string(message)


class EvalError(Error, js_name="EvalError"):
    error_name = "EvalError"


class RangeError(Error, js_name="RangeError"):
    error_name = "RangeError"


class ReferenceError_(Error, js_name="ReferenceError"):
    error_name = "ReferenceError"


class SyntaxError_(Error, js_name="SyntaxError"):
    error_name = "SyntaxError"


class TypeError_(Error, js_name="TypeError"):
    error_name = "TypeError"


class URIError(Error, js_name="URIError"):
    error_name = "URIError"


class AggregateError(Error, js_name="AggregateError"):
    """``AggregateError(errors, message)``, as ``Promise.any`` rejects with."""

    error_name = "AggregateError"

    def __init__(self, errors: Any = (), message: Any = "", options: Any = None) -> None:
        super().__init__(message, options)
        from .array import JsArray

        self.errors = JsArray.adopt(list(errors))


#: Names of DOM exceptions that still carry a legacy code (https://webidl.spec.whatwg.org/#idl-DOMException-error-names).
_LEGACY_CODES = {
    "IndexSizeError": 1,
    "HierarchyRequestError": 3,
    "WrongDocumentError": 4,
    "InvalidCharacterError": 5,
    "NoModificationAllowedError": 7,
    "NotFoundError": 8,
    "NotSupportedError": 9,
    "InUseAttributeError": 10,
    "InvalidStateError": 11,
    "SyntaxError": 12,
    "InvalidModificationError": 13,
    "NamespaceError": 14,
    "InvalidAccessError": 15,
    "TypeMismatchError": 17,
    "SecurityError": 18,
    "NetworkError": 19,
    "AbortError": 20,
    "URLMismatchError": 21,
    "QuotaExceededError": 22,
    "TimeoutError": 23,
    "InvalidNodeTypeError": 24,
    "DataCloneError": 25,
}


class DOMException(JsException, js_name="DOMException"):
    """``DOMException(message, name)``."""

    def __init__(self, message: Any = "", name: Any = "Error") -> None:
        if not isinstance(name, str) and not is_nullish(name):
            name = get_property(name, "name") or "Error"
        super().__init__(name or "Error", "" if message is None else _text(message))

    @property
    def code(self) -> int:
        """The legacy code, 0 for names without one."""
        return _LEGACY_CODES.get(self.name, 0)


_BY_NAME = {
    cls._js_name: cls
    for cls in (
        Error,
        EvalError,
        RangeError,
        ReferenceError_,
        SyntaxError_,
        TypeError_,
        URIError,
        AggregateError,
        DOMException,
    )
}


def data_clone_error(what: str) -> DOMException:
    """The error of a value that the structured clone cannot carry; ``what`` is its text form."""
    return DOMException(f"{what} could not be cloned.", "DataCloneError")


def python_error(exception: BaseException) -> JsException:
    """A Python exception as JavaScript sees it: name ``PythonError``, message the formatted traceback.

    ``type`` holds the bare class name. Source: https://pyodide.org/en/stable/usage/type-conversions.html#errors
    """
    import traceback

    if isinstance(exception, JsException):
        return exception
    made = JsException("PythonError", "".join(traceback.format_exception(exception)))
    made.type = type(exception).__name__  # type: ignore[attr-defined]
    made.__cause__ = exception
    return made
