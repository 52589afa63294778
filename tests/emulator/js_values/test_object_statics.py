"""``js.Object``'s statics, and the order and life of properties."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pyflare.js.error import JsException
from pyflare.js.globals import current_scope
from pyflare.js.json import parse, stringify
from pyflare.js.value import JsObject, jsnull

js = current_scope()


def test_integer_keys_come_first_and_in_order() -> None:
    value = JsObject.fromEntries([["2", 1], ["b", 0], ["1", 2], ["a", 3], ["01", 4]])
    assert [*js.Object.keys(value)] == ["1", "2", "b", "a", "01"]
    assert stringify(value) == '{"1":2,"2":1,"b":0,"a":3,"01":4}'
    assert stringify(parse('{"2":1,"1":2,"a":3}')) == '{"1":2,"2":1,"a":3}'
    later = JsObject.new()
    later.a = 1
    setattr(later, "0", 2)
    assert [*js.Object.keys(later)] == ["0", "a"]


def test_entries_may_be_short_but_must_be_objects() -> None:
    value = JsObject.fromEntries([["a", 1], ["b"]])
    assert (value.a, value.b) == (1, None)
    with pytest.raises(JsException, match="Iterator value 5 is not an entry object"):
        JsObject.fromEntries([5])
    with pytest.raises(JsException, match="is not iterable"):
        JsObject.fromEntries(jsnull)


def test_deleting_an_absent_property_does_nothing() -> None:
    value = JsObject.new(a=1)
    del value.missing
    del value.a
    assert [*js.Object.keys(value)] == []


def test_whole_numbers_are_ints_when_they_are_read_back() -> None:
    from pyflare.js.from_python import to_js

    value = JsObject.new()
    value.f = 5.0
    value.zero = -0.0
    assert type(value.f) is int
    assert str(value.zero) == "0"
    assert [type(item) for item in to_js([5.0, 5.5, 1e300])] == [int, float, float]
    assert type(to_js({"a": 5.0}, dict_converter=js.Object.fromEntries).a) is int


def test_properties_can_be_defined_and_described() -> None:
    value = js.Object.create(jsnull)
    descriptor = js.Object.new(value=1, enumerable=True)
    assert js.Object.defineProperty(value, "a", descriptor) is value
    js.Object.defineProperties(value, js.Object.new(b=js.Object.new(value=2)))
    assert (value.a, value.b) == (1, 2)
    assert js.Object.getOwnPropertyDescriptor(value, "a").value == 1
    assert js.Object.getOwnPropertyDescriptor(value, "c") is None
    assert js.Object.getOwnPropertyDescriptors(value).b.value == 2
    assert js.Object.getOwnPropertySymbols(value).length == 0
    assert [*js.Object.getOwnPropertyNames(value)] == ["a", "b"]


def test_freezing_leaves_the_object_as_it_is_and_says_so() -> None:
    value = JsObject.new(a=1)
    for static in ("freeze", "seal", "preventExtensions"):
        assert getattr(js.Object, static)(value) is value
    assert not js.Object.isFrozen(value)
    assert not js.Object.isSealed(value)
    assert js.Object.isExtensible(value)
    assert js.Object.isFrozen(5)


def test_values_are_grouped_by_what_a_function_gives() -> None:
    groups = js.Object.groupBy([1, 2, 3], lambda item, _: "odd" if item % 2 else "even")
    assert ([*groups.odd], [*groups.even]) == ([1, 3], [2])


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "keys of undefined": (lambda: js.Object.keys(), "Cannot convert undefined or null to object"),
    "keys of null": (lambda: js.Object.keys(jsnull), "Cannot convert undefined or null to object"),
    "assign to undefined": (lambda: js.Object.assign(), "Cannot convert undefined or null"),
    "a prototype that is no object": (
        lambda: js.Object.create(5), "Object prototype may only be an Object or null: 5",
    ),
    "another prototype": (
        lambda: js.Object.create(js.Headers.prototype), "not supported by Pyflare",
    ),
    "another prototype later": (
        lambda: js.Object.setPrototypeOf(js.Object.new(), jsnull), "not supported by Pyflare",
    ),
    "an accessor": (
        lambda: js.Object.defineProperty(js.Object.new(), "a", js.Object.new(get=len)),
        "Cannot define property a: accessors are not supported by Pyflare",
    ),
    "a property of no object": (
        lambda: js.Object.defineProperty(5, "a", js.Object.new()),
        "Object.defineProperty called on non-object",
    ),
    "no descriptor": (
        lambda: js.Object.defineProperty(js.Object.new(), "a", 5),
        "Property description must be an object: 5",
    ),
    "signals that are none": (lambda: js.AbortSignal.any([5]), "parameter 1 is not of type"),
    "a text of signals": (lambda: js.AbortSignal.any("x"), "parameter 1 is not of type"),
    "an event that is none": (
        lambda: js.EventTarget.new().dispatchEvent("x"), "parameter 1 is not of type 'Event'",
    ),
    "a timer without function": (lambda: js.setTimeout(), "must be of type function. Received undefined"),
    "a request's signal that is none": (
        lambda: js.Request.new("https://a.b/", signal=5), "not of type 'AbortSignal'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_bad_arguments_are_refused_by_a_type_error_of_javascript(name: str) -> None:
    call, text = REFUSED[name]
    with pytest.raises(JsException, match=text) as caught:
        call()
    assert caught.value.name == "TypeError"


STRINGS = [
    "x[0].toUpperCase()", "x[0].toLowerCase()", "x[0].slice(-3, -1)", "x[0].slice(1)", "x[0].substring(3, 1)",
    "x[0].substr(-3, 2)", "x[0].charAt(1)", "x[0].charCodeAt(2)", "x[0].codePointAt(1)", "x[0].at(-1)",
    "x[0].indexOf('b')", "x[0].lastIndexOf('b')", "x[0].includes('b', 1)", "x[0].startsWith('b', 1)",
    "x[0].endsWith('b', 2)", "x[0].padStart(8, '12')", "x[0].padEnd(8, '12')", "x[0].repeat(2)",
    "x[0].split('b')", "x[0].split('b', 1)", "x[0].replace('b', '[$&$$]')", "x[0].replaceAll('b', 'x')",
    "x[0].trim()", "x[0].trimStart()", "x[0].trimEnd()", "x[0].concat('a', 1)", "x[0].normalize('NFD')",
]  # fmt: skip
TEXTS = ["", "b", "abcb", " a😀bc ", "Éßb\ufeff", "aaaaaaaaaaaa"]


@pytest.mark.parametrize("expression", STRINGS)
def test_methods_of_strings_are_nodes_when_called_from_the_prototype(
    expression: str, node: Any
) -> None:
    name, _, listed = expression.removeprefix("x[0].").partition("(")
    args = eval(f"({listed[:-1]},)") if listed != ")" else ()
    method = getattr(js.String.prototype, name)
    ours = []
    for text in TEXTS:
        made = method.call(text, *args)
        ours.append([*made] if isinstance(made, JsObject | type(js.Array.new())) else made)
    expected = node(f"(r => r === undefined ? null : r)({expression})", [[text] for text in TEXTS])
    assert [None if each != each else each for each in ours] == expected


def test_methods_of_strings_work_on_boxed_ones_and_refuse_nothing() -> None:
    assert js.String.new("ab").toUpperCase() == "AB"
    with pytest.raises(JsException, match="Illegal invocation"):
        js.String.prototype.trim.call(None)
    with pytest.raises(JsException, match="regular expression is not supported by Pyflare"):
        js.String.prototype.split.call("a", js.RegExp.new("a"))
