"""How JavaScript calls functions, for methods that are written in Python.

A JavaScript function takes any number of arguments: missing ones are undefined, surplus ones are ignored. Keyword
arguments, which JavaScript lacks, become one object after the positional ones. :func:`adapt` gives the methods of
a class these rules, once, when the class is made.

A method that follows the rules by itself, with ``*_`` and ``**``, is left alone, which saves a call. So is one with
keyword-only arguments, which is for Python code.

Source: https://pyodide.org/en/stable/usage/api/python-api/ffi.html#pyodide.ffi.JsProxy
"""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import FunctionType
from typing import Any, Final, TypeVar

__all__ = ["accepting", "adapt", "by_keywords_too", "call_function", "required_arguments"]

C = TypeVar("C", bound=type)

_ABSENT: Final = object()
#: How ``new`` and a call of the class reach it; Python code writes them, JavaScript code calls them.
_CONSTRUCTORS: Final = frozenset({"_construct", "_call"})


def adapt(owner: type, namespace: Mapping[str, Any], python_names: Iterable[str] = ()) -> None:
    """Let the public methods of a class take arguments as JavaScript functions do.

    Names with an underscore inside, and ``python_names``, belong to Python and keep its rules.
    """
    for name, member in list(namespace.items()):
        if name in _CONSTRUCTORS:
            function: Any = member.__func__ if isinstance(member, classmethod) else member
            adapted = accepting(function, bound=1)
            if adapted is not function:
                setattr(owner, name, classmethod(adapted))
        elif not (name[0] == "_" or "_" in name.strip("_") or name in python_names):
            _adapt_method(owner, name, member)


def by_keywords_too(owner: C) -> C:
    """Let what a class calls ``from_`` or ``finally_`` be found by JavaScript's own name too, with ``getattr``."""
    for name, member in list(vars(owner).items()):
        if name[-1] == "_" and keyword.iskeyword(name[:-1]):
            setattr(owner, name[:-1], member)
    return owner


def _adapt_method(owner: type, name: str, member: Any) -> None:
    match member:
        case FunctionType():
            adapted = accepting(member, bound=1)
            _give_function_methods(adapted, name, partial(call_function, adapted, owner))
            if adapted is not member:
                setattr(owner, name, adapted)
        case staticmethod() if isinstance(member.__func__, FunctionType):
            adapted = accepting(member.__func__, bound=0)
            _give_function_methods(adapted, name, partial(_call_static, adapted))
            setattr(owner, name, staticmethod(adapted))
        case classmethod() if isinstance(member.__func__, FunctionType):
            adapted = accepting(member.__func__, bound=1)
            _give_function_methods(adapted, name, partial(_call_static, partial(adapted, owner)))
            setattr(owner, name, classmethod(adapted))


def accepting(function: FunctionType, *, bound: int) -> FunctionType:
    """The function itself if it follows JavaScript's rules, else one around it that does.

    ``bound`` is how many of its first arguments Python gives: 1 for ``self`` or the class.
    """
    code = function.__code__
    several = bool(code.co_flags & inspect.CO_VARARGS)
    keywords = bool(code.co_flags & inspect.CO_VARKEYWORDS)
    if several and code.co_varnames[code.co_argcount][0] == "_":
        # `*_` drops the surplus, and `**` takes the keywords.
        if keywords:
            return function
        several = False
    if code.co_kwonlyargcount:
        return function
    limit = code.co_argcount
    required = limit - len(function.__defaults__ or ())
    adapted: Any
    if several:
        adapted = function if keywords else _folding(function, required)
    elif keywords:
        adapted = _limited(function, limit, required)
    elif bound and limit <= 3:
        adapted = (_with_none, _with_one, _with_two)[limit - 1](function, required)
    else:
        adapted = _general(function, limit, required)
    if adapted is not function:
        adapted.__name__ = function.__name__
        adapted.__qualname__ = function.__qualname__
        adapted.__doc__ = function.__doc__
        adapted.__module__ = function.__module__
        adapted.__wrapped__ = function
    return adapted  # type: ignore[no-any-return]


def _object_of(keywords: dict[str, Any]) -> Any:
    from .value import JsObject

    return JsObject.adopt(keywords)


# Around a method of no, one and two arguments: most methods, without making tuples.


def _with_none(function: Callable[..., Any], required: int) -> Callable[..., Any]:
    def method(self: Any, /, *_: Any, **__: Any) -> Any:
        return function(self)

    return method


def _with_one(function: Callable[..., Any], required: int) -> Callable[..., Any]:
    default = None if required == 2 else (function.__defaults__ or (None,))[0]

    def method(self: Any, first: Any = _ABSENT, /, *_: Any, **keywords: Any) -> Any:
        if first is _ABSENT:
            first = _object_of(keywords) if keywords else default
        return function(self, first)

    return method


def _with_two(function: Callable[..., Any], required: int) -> Callable[..., Any]:
    defaults = (None,) * (required - 1) + (function.__defaults__ or ())
    default, second_default = defaults[-2:]

    def method(
        self: Any, first: Any = _ABSENT, second: Any = _ABSENT, /, *_: Any, **keywords: Any
    ) -> Any:
        if second is _ABSENT:
            if first is _ABSENT:
                first = _object_of(keywords) if keywords else default
                second = second_default
            else:
                second = _object_of(keywords) if keywords else second_default
        return function(self, first, second)

    return method


# Around any function.


def _general(function: Callable[..., Any], limit: int, required: int) -> Callable[..., Any]:
    def general(*args: Any, **keywords: Any) -> Any:
        if keywords:
            args = (*args, _object_of(keywords))
        if len(args) < required:
            args += (None,) * (required - len(args))
        return function(*args[:limit])

    return general


def _folding(function: Callable[..., Any], required: int) -> Callable[..., Any]:
    """Around a function of any number of arguments."""

    def folding(*args: Any, **keywords: Any) -> Any:
        if keywords:
            args = (*args, _object_of(keywords))
        if len(args) < required:
            args += (None,) * (required - len(args))
        return function(*args)

    return folding


def _limited(function: Callable[..., Any], limit: int, required: int) -> Callable[..., Any]:
    """Around a function that reads the keywords by itself."""

    def limited(*args: Any, **keywords: Any) -> Any:
        if len(args) < required:
            args += (None,) * (required - len(args))
        return function(*args[:limit], **keywords)

    return limited


# What `Function.prototype` gives every function. As attributes of the Python function they are found on methods
# that were taken from an object, too, and calling a method costs what it did.


def _give_function_methods(function: Any, name: str, call: Callable[..., Any]) -> None:
    code = getattr(function, "__wrapped__", function).__code__
    own = function.__dict__
    own["name"] = name.removesuffix("_")
    own["typeof"] = "function"
    own["length"] = max(0, code.co_argcount - (code.co_varnames[:1] in (("self",), ("cls",))))
    own["call"] = call
    own["apply"] = partial(_apply, call)
    own["bind"] = partial(_bind, call, own["name"])


def required_arguments(function: FunctionType) -> int:
    """How many arguments a function needs, which is JavaScript's ``length``."""
    return function.__code__.co_argcount - len(function.__defaults__ or ())


def call_function(
    function: Callable[..., Any], owner: type, this: Any = None, *args: Any, **keywords: Any
) -> Any:
    """``method.call(this, ...)``. Raises: TypeError for a ``this`` of another class."""
    if not isinstance(this, owner) and not isinstance(this, getattr(owner, "_primitives", ())):
        from .error import TypeError_

        raise TypeError_("Illegal invocation")
    return function(this, *args, **keywords)


def _call_static(
    function: Callable[..., Any], this: Any = None, *args: Any, **keywords: Any
) -> Any:
    return function(*args, **keywords)


def _apply(call: Callable[..., Any], this: Any = None, args: Any = None, *_: Any) -> Any:
    from .array import items_of
    from .value import is_nullish

    return call(this, *(() if is_nullish(args) else items_of(args)))


def _bind(call: Callable[..., Any], name: str, this: Any = None, *args: Any) -> Any:
    from .function import Function

    return Function.around(partial(call, this, *args), f"bound {name}")
