"""``Reflect``, and the globals ``isNaN`` and ``isFinite``."""

from __future__ import annotations

from typing import Any

import pytest

from pyflare.js.array import JsArray
from pyflare.js.error import JsException
from pyflare.js.globals import resolve
from pyflare.js.headers import Headers
from pyflare.js.math import Math
from pyflare.js.reflect import Reflect
from pyflare.js.value import JsObject, JsProxy, jsnull, object_tag


def plain(**properties: Any) -> JsObject:
    return JsObject.adopt(properties)


def test_it_is_a_namespace() -> None:
    assert resolve("Reflect") is Reflect
    assert object_tag(Reflect) == "[object Reflect]"


def test_properties_are_read_and_written() -> None:
    target = plain(a=1)
    assert Reflect.get(target, "a") == 1
    assert Reflect.get(target, "b") is None
    assert Reflect.set(target, "class", 2) is True
    assert list(Reflect.ownKeys(target)) == ["a", "class"]
    assert Reflect.deleteProperty(target, "a") is True
    assert Reflect.deleteProperty(target, "a") is True
    assert list(Reflect.ownKeys(target)) == ["class"]


def test_elements_of_an_array_are_properties() -> None:
    target = JsArray.of("a", "b")
    assert list(Reflect.ownKeys(target)) == ["0", "1", "length"]
    assert Reflect.get(target, 1) == "b"
    assert Reflect.set(target, "3", "d") is True
    assert list(target) == ["a", "b", None, "d"]
    assert Reflect.deleteProperty(target, "0") is True
    assert list(target) == [None, "b", None, "d"]
    assert Reflect.deleteProperty(target, "length") is False


def test_a_python_dict_stands_for_an_object() -> None:
    target = {"a": 1}
    assert Reflect.set(target, "b", 2) is True
    assert Reflect.get(target, "b") == 2
    assert Reflect.deleteProperty(target, "a") is True
    assert target == {"b": 2}


@pytest.mark.parametrize(
    ("key", "expected"),
    [("a", True), ("toString", True), ("b", False), ("to_py", False), ("__dict__", False)],
)
def test_what_an_object_has(key: str, expected: bool) -> None:
    assert Reflect.has(plain(a=1), key) is expected


def test_what_belongs_to_python_is_not_read() -> None:
    assert Reflect.get(plain(), "to_py") is None


def test_a_read_only_attribute_is_not_set() -> None:
    assert Reflect.set(resolve("crypto"), "subtle", 1) is False


def test_functions_are_called_and_classes_constructed() -> None:
    assert Reflect.apply(Math.max, None, [1, 3, 2]) == 3
    assert Reflect.apply(JsObject.prototype.toString, JsArray.of(), []) == "[object Array]"
    made = Reflect.construct(Headers, JsArray.of([("a", "b")]))
    assert isinstance(made, Headers)
    assert made.get("a") == "b"


def test_descriptors() -> None:
    target = plain(a=1)
    described = Reflect.getOwnPropertyDescriptor(target, "a")
    assert described.to_py() == {
        "value": 1,
        "writable": True,
        "enumerable": True,
        "configurable": True,
    }
    assert Reflect.getOwnPropertyDescriptor(JsArray.of(), "length").enumerable is False
    assert Reflect.getOwnPropertyDescriptor(target, "b") is None
    assert Reflect.defineProperty(target, "b", plain(value=2)) is True
    assert target.b == 2


def test_what_objects_cannot_do_is_answered_with_false() -> None:
    target = plain()
    assert Reflect.defineProperty(target, "a", plain(get=lambda: 1)) is False
    assert Reflect.setPrototypeOf(target, jsnull) is False
    assert Reflect.preventExtensions(target) is False
    assert Reflect.isExtensible(target) is True
    assert not hasattr(target, "a")


def test_prototypes() -> None:
    assert isinstance(Reflect.getPrototypeOf(JsArray.of()), JsProxy)
    assert Reflect.getPrototypeOf({}) is jsnull


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: Reflect.ownKeys(1), "TypeError: Reflect.ownKeys called on non-object"),
        (lambda: Reflect.get(None, "a"), "TypeError: Reflect.get called on non-object"),
        (lambda: Reflect.has(jsnull, "a"), "TypeError: Reflect.has called on non-object"),
        (
            lambda: Reflect.apply("text", None, []),
            "TypeError: Function.prototype.apply was called on text, which is not a function",
        ),
        (lambda: Reflect.construct(len, []), f"TypeError: {len} is not a constructor"),
    ],
)
def test_errors(call: Any, expected: str) -> None:
    with pytest.raises(JsException) as caught:
        call()
    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("value", "nan", "finite"),
    [(1, False, True), ("12", False, True), ("x", True, False), (None, True, False),
     (jsnull, False, True), (float("inf"), False, False), (True, False, True)],
)  # fmt: skip
def test_global_number_checks_convert(value: Any, nan: bool, finite: bool) -> None:
    assert resolve("isNaN")(value) is nan
    assert resolve("isFinite")(value) is finite
