"""The names of ``pyodide.ffi`` and what ``isinstance`` says with them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from pyflare.js.array import JsArray
from pyflare.js.buffer import ArrayBuffer, Uint8Array
from pyflare.js.collections import JsMap, JsSet
from pyflare.js.date import Date
from pyflare.js.error import Error
from pyflare.js.headers import Headers
from pyflare.js.response import Response
from pyflare.js.value import JsObject
from pyflare.pyodide import ffi


@pytest.mark.parametrize("name", ffi.__all__)
def test_every_name_is_there(name: str) -> None:
    assert hasattr(ffi, name)


CASES: list[tuple[Callable[[], Any], set[str]]] = [
    (lambda: JsArray.adopt([]), {"JsArray", "JsIterable"}),
    (lambda: JsObject.adopt({}), set()),
    (lambda: JsMap.new(), {"JsMap", "JsMutableMap", "JsIterable"}),
    (lambda: JsSet.new(), {"JsIterable"}),
    (lambda: Uint8Array.of(1), {"JsBuffer", "JsTypedArray", "JsIterable"}),
    (lambda: ArrayBuffer.new(1), {"JsBuffer"}),
    (lambda: JsArray.adopt([1]).values(), {"JsIterable", "JsIterator"}),
    (lambda: Date, {"JsCallable"}),
    (lambda: ffi.create_proxy(len), {"JsDoubleProxy", "JsCallable"}),
    (lambda: ffi.create_proxy(1), {"JsDoubleProxy"}),
    (lambda: ffi.create_once_callable(len), {"JsOnceCallable", "JsCallable"}),
    (lambda: Response.new("x"), {"JsFetchResponse"}),
    (lambda: Error.new("x"), {"JsException"}),
    (lambda: Headers.new(), {"JsIterable"}),
]
SHAPES = [
    "JsArray", "JsAsyncGenerator", "JsAsyncIterable", "JsAsyncIterator", "JsBuffer", "JsCallable", "JsDomElement",
    "JsDoubleProxy", "JsException", "JsFetchResponse", "JsGenerator", "JsIterable", "JsIterator", "JsMap",
    "JsMutableMap", "JsOnceCallable", "JsTypedArray",
]  # fmt: skip


@pytest.mark.parametrize(("make", "shapes"), CASES)
def test_a_value_is_an_instance_of_what_it_can_do(
    make: Callable[[], Any], shapes: set[str]
) -> None:
    value = make()
    assert {name for name in SHAPES if isinstance(value, getattr(ffi, name))} == shapes
    assert isinstance(value, ffi.JsProxy)


@pytest.mark.parametrize("value", [[], {}, len, b"x", 1, None, ffi.jsnull, iter([])])
def test_python_values_are_none_of_these(value: Any) -> None:
    assert not [name for name in SHAPES if isinstance(value, getattr(ffi, name))]


def test_shapes_can_be_subscripted_in_annotations() -> None:
    assert ffi.JsMap[str, int] is ffi.JsMap


def test_subclasses_are_recognised() -> None:
    assert issubclass(JsMap, ffi.JsMap)
    assert not issubclass(JsArray, ffi.JsMap)


def test_jsnull_is_the_only_instance_of_its_class() -> None:
    assert isinstance(ffi.jsnull, ffi.JsNull)
    assert ffi.JsNull() is ffi.jsnull


def test_a_js_exception_is_made_of_name_message_and_stack() -> None:
    error = ffi.JsException("MyError", "went wrong", "the stack")
    assert (str(error), error.stack) == ("MyError: went wrong", "the stack")
    assert str(pickle.loads(pickle.dumps(error))) == "MyError: went wrong"


def test_a_bigint_is_an_int() -> None:
    assert ffi.JsBigInt(5) + 1 == 6
