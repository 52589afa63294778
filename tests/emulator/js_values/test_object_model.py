"""What every JavaScript value looks like from Python."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

import pytest

from pyflare.js import globals as js_globals
from pyflare.js.array import JsArray
from pyflare.js.buffer import Uint8Array
from pyflare.js.collections import JsMap, JsSet
from pyflare.js.date import Date
from pyflare.js.error import Error, EvalError, JsException, TypeError_
from pyflare.js.function import Function
from pyflare.js.promise import resolved
from pyflare.js.regexp import RegExp
from pyflare.js.value import JsObject, JsProxy, jsnull, object_tag, type_of
from pyflare.pyodide.webloop import PyodideTask

VALUES = [
    (lambda: JsObject.new(), "Object", "[object Object]"),
    (lambda: JsArray.new(1, 2), "Array", "1,2"),
    (lambda: JsMap.new(), "Map", "[object Map]"),
    (lambda: JsSet.new(), "Set", "[object Set]"),
    (lambda: Uint8Array.of(1, 2), "Uint8Array", "1,2"),
    (lambda: RegExp.new("a", "g"), "RegExp", "/a/g"),
    (lambda: Error.new("boom"), "Error", "Error: boom"),
    (lambda: Date.new(0), "Date", "Thu Jan 01 1970 00:00:00 GMT+0000 (Coordinated Universal Time)"),
]


@pytest.mark.parametrize(("make", "name", "text"), VALUES, ids=[name for _, name, _ in VALUES])
def test_a_value_tells_its_class_and_its_text(make: Any, name: str, text: str) -> None:
    value = make()
    assert isinstance(value, JsProxy)
    assert value.constructor.name == name
    assert str(value) == text


@pytest.mark.parametrize("value", [1, 1.5, "x", None, True, jsnull, [1], {"a": 1}, b"x", object()])
def test_python_values_have_no_constructor(value: Any) -> None:
    assert not hasattr(value, "constructor")
    assert not isinstance(value, JsProxy)


def test_a_promise_is_a_future_and_no_proxy() -> None:
    async def main() -> None:
        promise = resolved(1)
        assert isinstance(promise, asyncio.Future)
        assert not isinstance(promise, JsProxy)

    asyncio.run(main())


def test_an_absent_property_is_an_attribute_error_with_the_bare_name() -> None:
    with pytest.raises(AttributeError) as caught:
        JsObject.new().missing  # noqa: B018
    assert str(caught.value) == "missing"


@pytest.mark.parametrize(
    "name", ["keys", "values", "entries", "assign", "freeze", "adopt", "fromEntries"]
)
def test_the_statics_of_object_are_no_properties_of_objects(name: str) -> None:
    assert not hasattr(JsObject.new(), name)


def test_an_undefined_property_is_there_and_none() -> None:
    value = JsObject.adopt({"a": None})
    assert hasattr(value, "a")
    assert value.a is None


def test_reserved_words_are_reached_with_an_underscore() -> None:
    value = JsObject.adopt({"from": 1})
    value.class_ = 2
    assert (value.from_, value.object_keys()._list) == (1, ["from", "class"])


def test_properties_can_be_set_and_deleted() -> None:
    value = JsObject.new()
    value.a = 1
    del value.a
    assert value.object_keys().length == 0


def test_keywords_of_new_become_the_last_object() -> None:
    error = Error.new("x", cause="y")
    assert error.cause == "y"


def test_equality_is_identity() -> None:
    left, right = JsObject.adopt({"a": 1}), JsObject.adopt({"a": 1})
    assert left != right
    assert left == left
    assert left.js_id == left.js_id != right.js_id


def test_object_statics() -> None:
    value = JsObject.fromEntries([["b", 1], ["a", 2], [1, 3]])
    assert list(JsObject.keys(value)) == ["1", "b", "a"]
    assert list(JsObject.values(value)) == [3, 1, 2]
    assert [list(pair) for pair in JsObject.entries(value)] == [["1", 3], ["b", 1], ["a", 2]]
    assert JsObject.hasOwn(value, "b")
    assert JsObject.assign(JsObject.new(), value).a == 2
    assert value.hasOwnProperty("a")


@pytest.mark.parametrize(
    ("value", "tag"),
    [
        (JsObject.adopt({}), "[object Object]"),
        (JsArray.adopt([]), "[object Array]"),
        (Date.new(0), "[object Date]"),
        (Uint8Array.of(1), "[object Uint8Array]"),
        (jsnull, "[object Null]"),
        (None, "[object Undefined]"),
        (1, "[object Number]"),
        ("a", "[object String]"),
        (JsObject, "[object Function]"),
    ],
)
def test_object_prototype_to_string_gives_the_tag(value: Any, tag: str) -> None:
    assert JsObject.prototype.toString.call(value) == tag
    assert object_tag(value) == tag


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, "undefined"), (jsnull, "object"), (True, "boolean"), (1, "number"), (1.5, "number"), (2**60, "bigint"),
        ("a", "string"), (JsObject.adopt({}), "object"), (JsObject, "function"), (print, "function"), ({}, "object"),
    ],
)  # fmt: skip
def test_typeof(value: Any, kind: str) -> None:
    assert type_of(value) == kind


KEYWORDS = [
    ("console", "assert"),
    ("Array", "from"),
    ("Uint8Array", "from"),
    ("ReadableStream", "from"),
    ("EventSource", "from"),
    ("Symbol", "for"),
    ("Object", "is"),
    ("Array.new()", "with"),
    ("Uint8Array.new(1)", "with"),
    ('RegExp.new("a", "g")', "global"),
    ("Promise.resolve(1)", "finally"),
]


@pytest.mark.parametrize(("expression", "name"), KEYWORDS)
def test_a_property_with_a_keyword_for_a_name_has_both_spellings(
    expression: str, name: str
) -> None:
    async def found() -> tuple[Any, Any]:
        start, _, rest = expression.partition(".")
        value = eval(f"start.{rest}".rstrip("."), {"start": js_globals.resolve(start)})
        return getattr(value, name), getattr(value, f"{name}_")

    plain, spelled = asyncio.run(found())
    assert plain == spelled


def test_a_task_has_both_spellings_too() -> None:
    assert getattr(PyodideTask, "finally") is PyodideTask.finally_


def test_a_class_is_a_function() -> None:
    assert Date.typeof == "function"
    assert Date.name == "Date"
    assert Date.constructor is Function


def test_code_generation_is_refused() -> None:
    with pytest.raises(EvalError) as caught:
        Function.new("return 1")
    assert caught.value.message == "Code generation from strings disallowed for this context"


def test_null_is_one_falsy_value() -> None:
    assert not jsnull
    assert pickle.loads(pickle.dumps(jsnull)) is jsnull


def test_an_error_can_be_raised_and_caught_as_js_exception() -> None:
    with pytest.raises(JsException) as caught:
        raise TypeError_.new("bad")
    assert str(caught.value) == "TypeError: bad"


def test_an_error_survives_pickling_with_its_properties() -> None:
    error = Error.new("x")
    error.remote = True
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), copy.message, copy.remote) == (Error, "x", True)
