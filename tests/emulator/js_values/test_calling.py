"""Methods and functions take arguments as JavaScript's do: surplus ones are ignored, missing ones are undefined."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import pytest

import pyflare.js
from pyflare.js import globals as js_globals
from pyflare.js.calling import accepting
from pyflare.js.error import JsException
from pyflare.js.function import Function
from pyflare.js.globals import current_scope
from pyflare.js.object_statics import ObjectStatics
from pyflare.js.value import JsClass, JsProxy, jsnull
from pyflare.pyodide.ffi.shapes import JsCallable

js = current_scope()

for found in pkgutil.walk_packages(pyflare.js.__path__, "pyflare.js."):
    if found.name != "pyflare.js.rpc.python_values":  # Needs a running worker.
        import_module(found.name)


def classes(base: type = JsProxy) -> Iterator[type]:
    subclasses: list[type] = type.__subclasses__(base)
    for each in subclasses:
        if isinstance(each, JsClass) and each._place[0].startswith("pyflare.js."):
            yield each
        if each is not JsClass:
            yield from classes(each)


def methods() -> list[Any]:
    """Every method that JavaScript knows, of every class of this room."""
    listed = {}
    for each in [*classes(), ObjectStatics]:
        shown = each._place[1] if isinstance(each, JsClass) else each.__name__
        python_names = each.__dict__.get("_python_names", ())
        for name, member in each.__dict__.items():
            function = getattr(member, "__func__", member)
            if not inspect.isfunction(function) or "_" in name[:1] + name.strip("_"):
                continue
            if name in python_names or (shown, name) == ("ReadableStream", "queued"):
                continue
            listed[f"{shown}.{name}"] = function
    return [pytest.param(function, id=name) for name, function in sorted(listed.items())]


@pytest.mark.parametrize("function", methods())
def test_a_method_takes_any_number_of_arguments_and_any_keyword(function: Any) -> None:
    kinds = {
        parameter.kind
        for parameter in inspect.signature(function, follow_wrapped=False).parameters.values()
    }
    assert {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD} <= kinds


@pytest.mark.parametrize("name", js_globals.names())
def test_every_global_function_takes_any_number_of_arguments_and_any_keyword(name: str) -> None:
    value = js_globals.resolve(name)
    if isinstance(value, Function):
        kinds = {
            each.kind
            for each in inspect.signature(value._function, follow_wrapped=False).parameters.values()
        }
        assert {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD} <= kinds
    else:
        assert not inspect.isfunction(value)


SURPLUS: dict[str, tuple[Callable[[], Any], Any]] = {
    "Headers.get": (lambda: js.Headers.new([["a", "1"]]).get("a", "b"), "1"),
    "Headers.has": (lambda: js.Headers.new([["a", "1"]]).has("a", 5, 6), True),
    "Headers.entries": (
        lambda: [[*e] for e in js.Headers.new([["a", "1"]]).entries(1)],
        [["a", "1"]],
    ),
    "URLSearchParams.get": (lambda: js.URLSearchParams.new("k=v").get("k", "default"), "v"),
    "FormData.has": (lambda: js.FormData.new().has("a", 1, 2), False),
    "atob": (lambda: js.atob("YQ==", 1), "a"),
    "structuredClone": (lambda: js.structuredClone(5, None, 3), 5),
    "encodeURIComponent": (lambda: js.encodeURIComponent("a b", 1), "a%20b"),
    "parseInt": (lambda: js.parseInt("11", 2, 3), 3),
    "Math.floor": (lambda: js.Math.floor(2.5, 2), 2),
    "crypto.randomUUID": (lambda: len(js.crypto.randomUUID(1)), 36),
    "Date.now": (lambda: type(js.Date.now(5)), int),
    "Array.at": (lambda: js.Array.new("a", "b").at(1, 2), "b"),
    "Map.has": (lambda: js.Map.new().has(1, 2, 3), False),
    "JSON.stringify": (lambda: js.JSON.stringify(1, None, 0, 5), "1"),
    "Object.keys": (lambda: [*js.Object.keys(js.Object.new(a=1), 2)], ["a"]),
    "Uint8Array.slice": (lambda: [*js.Uint8Array.of(1, 2).slice(1, 2, 3)], [2]),
    "AbortController.new": (lambda: js.AbortController.new(1).signal.aborted, False),
    "TextDecoder.decode": (lambda: js.TextDecoder.new().decode(js.Uint8Array.of(97), None, 1), "a"),
    "RegExp.test": (lambda: js.RegExp.new("a").test("a", 1), True),
    "URL.canParse": (lambda: js.URL.canParse("x:y", None, 1), True),
}


@pytest.mark.parametrize("name", SURPLUS)
def test_surplus_arguments_are_ignored(name: str) -> None:
    call, expected = SURPLUS[name]
    assert call() == expected


MISSING: dict[str, tuple[Callable[[], Any], Any]] = {
    "Headers.get": (lambda: js.Headers.new().get(), jsnull),
    "String.fromCharCode": (lambda: js.String.fromCharCode(), ""),
    "Number.isInteger": (lambda: js.Number.isInteger(), False),
    "encodeURIComponent": (lambda: js.encodeURIComponent(), "undefined"),
    "WeakMap.has": (lambda: js.WeakMap.new().has(), False),
}


@pytest.mark.parametrize("name", MISSING)
def test_missing_arguments_are_undefined(name: str) -> None:
    call, expected = MISSING[name]
    assert call() == expected


KEYWORDS: dict[str, tuple[Callable[[], Any], Any]] = {
    "JSON.stringify": (lambda: js.JSON.stringify(a=1), '{"a":1}'),
    "Object.assign": (lambda: js.Object.assign(js.Object.new(), a=1).a, 1),
    "Object.keys": (lambda: [*js.Object.keys(a=1)], ["a"]),
    "structuredClone": (lambda: js.structuredClone(a=1).a, 1),
    "URLPattern.test": (lambda: js.URLPattern.new(pathname="/x").test(pathname="/x"), True),
    "Array.push": (lambda: js.Array.new().push(a=1), 1),
    "Map.set": (lambda: js.Map.new().set("x", a=1).get("x").a, 1),
    "Map.set, keywords named as its parameters": (
        lambda: js.Map.new().set("x", value=1).get("x").value, 1,
    ),
    "Array.of": (lambda: js.Array.of(1, a=2)[1].a, 2),
    "a constructor": (lambda: js.Map.new(js.Array.of(js.Array.of("a", 1))).get("a"), 1),
    "TextDecoder.decode": (
        lambda: js.TextDecoder.new().decode(js.Uint8Array.of(0xC3), stream=True), "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", KEYWORDS)
def test_keywords_become_one_object_after_the_arguments(name: str) -> None:
    call, expected = KEYWORDS[name]
    assert call() == expected


def test_a_json_text_of_what_has_a_toJSON_method() -> None:
    assert js.JSON.stringify(js.Object.new(a=js.URL.new("https://a.b/"))) == '{"a":"https://a.b/"}'
    assert js.JSON.stringify(js.performance).startswith('{"timeOrigin":')


def test_functions_can_be_called_with_another_this() -> None:
    headers = js.Headers.new([["a", "1"]])
    assert js.Headers.new().get.call(headers, "a") == "1"
    assert js.Headers.prototype.get.apply(headers, ["a"]) == "1"
    assert js.Headers.new().get.bind(headers)("a") == "1"
    assert js.Math.max.apply(None, [1, 3, 2]) == 3
    assert js.Math.max.call(None, 1, 3) == 3
    assert js.Math.max.bind(None, 5)(1) == 5
    assert js.JSON.stringify.bind(None)(a=1) == '{"a":1}'
    assert js.atob.call(None, "YQ==") == "a"
    assert js.Array.isArray.apply(None, js.Array.of([])) is False


@pytest.mark.parametrize("this", [None, jsnull, 5, "x", object()])
def test_a_method_refuses_a_this_of_another_class(this: Any) -> None:
    with pytest.raises(JsException, match="Illegal invocation"):
        js.Headers.new().get.call(this, "a")


def test_functions_have_a_name_a_length_and_a_type() -> None:
    for function, name, length in (
        (js.Headers.new().get, "get", 1),
        (js.Math.pow, "pow", 2),
        (js.setTimeout, "setTimeout", 1),
    ):
        assert (function.name, function.length, function.typeof) == (name, length, "function")


def test_global_functions_are_javascript_objects() -> None:
    fetch: Any = js.fetch
    assert isinstance(fetch, JsProxy)
    assert isinstance(js.fetch, JsCallable)
    assert fetch is js.fetch
    assert fetch.constructor is js.Function
    assert str(fetch) == "function fetch() { [native code] }"
    assert fetch.bind(None).name == "bound fetch"


def test_prototypes_print_as_their_class() -> None:
    assert repr(js.Number.prototype) == "[object Number]"
    assert js.Headers.prototype.constructor is js.Headers
    assert js.Object.getPrototypeOf(js.Headers.new()) is js.Headers.prototype


def test_a_function_that_follows_the_rules_is_left_alone() -> None:
    def follows(self: Any, first: Any = None, *_: Any, **__: Any) -> None: ...

    def for_python(self: Any, *, depth: int = 0) -> None: ...

    functions: list[Any] = [follows, for_python]
    for function in functions:
        assert accepting(function, bound=1) is function


def test_a_function_is_shown_by_name_and_cannot_be_cloned() -> None:
    from pyflare.js.inspect_value import inspect

    assert inspect(js.Object.new(f=js.fetch)) == "{ f: [Function: fetch] }"
    with pytest.raises(JsException, match="DataCloneError"):
        js.structuredClone(js.fetch)
