"""What Python sees of JavaScript's values: errors, views of JSON, maps made of dicts."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Sequence
from typing import Any

import pytest

from pyflare.js.array import JsArray
from pyflare.js.collections import JsMap, JsSet
from pyflare.js.error import Error, TypeError_
from pyflare.js.from_python import to_js
from pyflare.js.json import parse, stringify
from pyflare.js.number import Number
from pyflare.js.string import String
from pyflare.js.typed_array_kinds import Uint8Array
from pyflare.js.value import JsObject
from pyflare.js.weak import WeakMap
from pyflare.pyodide import ffi


def test_an_error_is_shown_as_its_text() -> None:
    error = TypeError_("boo")
    assert repr(error) == str(error) == "TypeError: boo"
    assert f"{[error]}" == "[TypeError: boo]"


def test_the_argument_of_an_error_is_the_error() -> None:
    error = Error("boo")
    assert error.args == (error,)
    assert str(pickle.loads(pickle.dumps(error))) == "Error: boo"


def test_json_is_seen_as_mappings_and_sequences_all_the_way() -> None:
    value = parse('{"a":1,"b":{"c":[1,null,{"d":2}]}}')
    view = value.as_py_json()
    assert view["b"]["c"][0] == 1
    assert view["b"]["c"][1:][1]["d"] == 2
    assert [*view["b"]["c"]][2]["d"] == 2
    assert next(reversed(view["b"]["c"]))["d"] == 2
    assert (list(view), view.get("x")) == (["a", "b"], None)


def test_the_view_of_json_is_live() -> None:
    value = parse('[{"a":1}]')
    view = value.as_py_json()
    view[0]["a"] = 2
    assert stringify(value) == '[{"a":2}]'
    assert view.pop()["a"] == 2
    assert len(value) == 0


def test_a_view_of_properties_is_a_mutable_map() -> None:
    value = JsObject.adopt({"a": 1})
    assert isinstance(value.as_object_map(), ffi.JsMutableMap)
    assert repr(value.as_object_map()) == "[object Object]"


def test_a_weak_reference_of_a_proxy() -> None:
    value = JsArray.of(1)
    assert value.to_weakref().deref() is value


def test_properties_set_on_a_map_of_a_dict_are_entries() -> None:
    made = to_js({"a": 1})
    made.b = 2
    del made.a
    assert made.to_py() == {"b": 2}


def _written_through_a_view(number: float) -> Any:
    value = JsObject.new()
    value.as_object_map()["a"] = number
    return value


@pytest.mark.parametrize(
    "read",
    [
        lambda: JsMap.new([["a", 1.0]])["a"],
        lambda: JsMap.new().set("a", 1.0)["a"],
        lambda: next(iter(JsMap.new([[1.0, "a"]]))),
        lambda: next(iter(JsSet.new([1.0]))),
        lambda: JsObject.fromEntries([["a", 1.0]]).a,
        lambda: JsObject.assign(JsObject.new(), {"a": 1.0}).a,
        lambda: _written_through_a_view(1.0).a,
    ],
)
def test_whole_numbers_are_ints_in_every_container(read: Any) -> None:
    assert type(read()) is int


def test_a_weak_map_is_used_as_a_mapping() -> None:
    held, key = WeakMap.new(), JsArray.of()
    held[key] = 1
    assert (key in held, held[key]) == (True, 1)
    del held[key]
    with pytest.raises(KeyError):
        held[key]
    with pytest.raises(KeyError):
        del held[key]


def test_what_pyodide_makes_of_python_values() -> None:
    assert isinstance(Uint8Array.new(1), Sequence)
    assert not Number.isInteger(2**53)
    assert stringify(b"a") == "[97]"
    assert stringify(deque([1])) == "[1]"
    assert stringify(JsObject.adopt({"a": 1, "b": 2}), ["a"]) == '{"a":1,"b":2}'
    assert String.new("")
