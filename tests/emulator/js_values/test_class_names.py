"""The class of a JavaScript value as Python shows it is production's `pyodide.ffi.JsProxy`."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from pyflare.env.r2_objects import Checksums
from pyflare.js.array import JsArray
from pyflare.js.buffer import Uint8Array
from pyflare.js.collections import JsMap
from pyflare.js.console import console
from pyflare.js.date import Date
from pyflare.js.deferred import DeferredPromise
from pyflare.js.error import DOMException, Error, JsException, TypeError_
from pyflare.js.globals import current_scope
from pyflare.js.headers import Headers
from pyflare.js.promise import resolved
from pyflare.js.proxy import create_proxy
from pyflare.js.response import Response
from pyflare.js.value import JsBigInt, JsObject, JsProxy, jsnull
from pyflare.testing.blocking import blocking

js = current_scope()
#: The name that a class has in JavaScript, and a value of it.
VALUES: list[tuple[str, Any]] = [
    ("Object", JsObject.adopt({"a": 1})),
    ("Array", JsArray.adopt([1])),
    ("Date", Date.new(0)),
    ("Headers", Headers.new()),
    ("Response", Response.new("x")),
    ("Uint8Array", Uint8Array.from_bytes(b"x")),
    ("Map", JsMap.new()),
    ("Checksums", Checksums._make({})),
    ("Function", js.setTimeout),
    ("Function", Date),
    ("Function", JsObject),
    ("console", console),
    ("ServiceWorkerGlobalScope", js),
]
ERRORS = [Error("x"), TypeError_("x"), DOMException("x", "AbortError"), JsException("MyError", "x")]


class OfWorker(JsObject):
    """What a Worker's own module may define."""


class ErrorOfWorker(JsException):
    """An error of a Worker's own."""


def names(value: Any) -> tuple[str, ...]:
    kind = type(value)
    shown = value.__class__.__name__
    return kind.__name__, kind.__qualname__, kind.__module__, shown


@pytest.mark.parametrize("value", [value for _, value in VALUES] + [create_proxy([])])
def test_every_value_is_of_the_class_jsproxy(value: Any) -> None:
    assert names(value) == ("JsProxy", "JsProxy", "pyodide.ffi", "JsProxy")


@pytest.mark.parametrize("error", ERRORS)
def test_every_error_is_of_the_class_jsexception(error: Any) -> None:
    assert names(error) == ("JsException", "JsException", "pyodide.ffi", "JsException")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (jsnull, "<class 'pyodide.ffi.JsNull'>"),
        (JsBigInt(1), "<class 'pyodide.ffi.JsBigInt'>"),
        (Date, "<class 'pyodide.ffi.JsProxy'>"),
        (JsObject, "<class 'pyodide.ffi.JsProxy'>"),
    ],
)
def test_the_text_of_a_class_that_is_no_javascript_class(value: Any, text: str) -> None:
    assert str(type(value)) == text


def test_the_class_that_programs_import_has_the_name() -> None:
    assert str(JsProxy) == "<class 'pyodide.ffi.JsProxy'>"


@pytest.mark.parametrize(("name", "value"), VALUES)
def test_javascript_has_its_own_name_for_the_class(name: str, value: Any) -> None:
    assert value.constructor.name == name


def test_the_type_of_a_value_has_the_text_of_production() -> None:
    assert str(type(Date.new(0))) == "<class 'pyodide.ffi.JsProxy'>"
    assert f"{type(TypeError_('x'))}" == "<class 'pyodide.ffi.JsException'>"


def test_a_class_is_shown_as_javascript_shows_it() -> None:
    assert (Date.name, repr(Date)) == ("Date", "function Date() { [native code] }")
    assert TypeError_("x").constructor.name == "TypeError"


def test_a_workers_own_class_keeps_its_names() -> None:
    own = object.__new__(OfWorker)
    assert names(own) == ("OfWorker", "OfWorker", __name__, "OfWorker")
    error = ErrorOfWorker("MyError", "x")
    assert names(error) == ("ErrorOfWorker", "ErrorOfWorker", __name__, "ErrorOfWorker")
    assert str(ErrorOfWorker) == f"<class '{__name__}.ErrorOfWorker'>"
    assert isinstance(error, JsException)


def test_a_workers_own_class_can_be_renamed() -> None:
    class Own(JsObject):
        pass

    Own.__name__ = "Other"
    assert Own.__name__ == "Other"


@pytest.mark.parametrize(
    ("program", "text"),
    [
        (lambda value: value["a"], "'pyodide.ffi.JsProxy' object is not subscriptable"),
        (len, "object of type 'pyodide.ffi.JsProxy' has no len()"),
        (
            lambda value: value < 1,
            "'<' not supported between instances of 'pyodide.ffi.JsProxy' and 'int'",
        ),
        (lambda value: "a" + value, 'can only concatenate str (not "pyodide.ffi.JsProxy") to str'),
        (json.dumps, "Object of type JsProxy is not JSON serializable"),
    ],
)
def test_pythons_own_texts_name_the_class_as_in_production(
    program: Callable[[Any], Any], text: str
) -> None:
    with pytest.raises(TypeError) as caught:
        program(JsObject.adopt({}))
    assert str(caught.value) == text


def test_a_traceback_names_the_class_of_the_error() -> None:
    with pytest.raises(TypeError_) as caught:
        raise TypeError_("wrong")
    lines = traceback.format_exception(caught.value)
    assert lines[-1] == "pyodide.ffi.JsException: TypeError: wrong\n"


@pytest.mark.parametrize("cls", [Date, JsObject, JsArray, Error, OfWorker])
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_class_is_found_again_by_a_pickle(cls: Any, protocol: int) -> None:
    assert pickle.loads(pickle.dumps(cls, protocol)) is cls
    assert copy.copy(cls) is copy.deepcopy(cls) is cls


def test_values_survive_pickles_and_copies() -> None:
    value = JsObject.adopt(
        {"d": Date.new(5), "n": jsnull, "b": JsBigInt(1), "l": JsArray.adopt([1])}
    )
    for copied in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value)):
        assert type(copied) is JsObject
        assert copied.d.getTime() == 5
        assert copied.n is jsnull
        assert (copied.b, type(copied.b), list(copied.l)) == (1, JsBigInt, [1])


def test_a_promise_has_pyodides_name() -> None:
    async def main() -> Any:
        promise = resolved(1)
        return names(promise), repr(promise)

    shown = ("PyodideFuture", "PyodideFuture", "pyodide.webloop", "PyodideFuture")
    assert asyncio.run(main()) == (shown, "<PyodideFuture finished result=1>")


def test_the_promise_of_a_call_that_has_not_begun_has_it_too() -> None:
    assert str(DeferredPromise) == "<class 'pyodide.webloop.PyodideFuture'>"


def test_plain_values_are_themselves_in_a_test_without_await() -> None:
    assert blocking(lambda function: function(), jsnull) is jsnull
