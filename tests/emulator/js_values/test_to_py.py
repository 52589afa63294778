"""``to_py``: which JavaScript value becomes which Python value."""

from __future__ import annotations

from typing import Any

import pytest

from pyflare.js.array import JsArray
from pyflare.js.buffer import ArrayBuffer, DataView, Uint8Array
from pyflare.js.collections import JsMap, JsSet
from pyflare.js.date import Date
from pyflare.js.error import JsException
from pyflare.js.json import parse
from pyflare.js.proxy import create_proxy
from pyflare.js.semantics import PYODIDE_0_26, semantics
from pyflare.js.to_python import to_python
from pyflare.js.value import JsObject, jsnull


def test_plain_objects_and_arrays_become_dicts_and_lists_deeply() -> None:
    value = parse('{"a":[1,{"b":"x"}],"n":null}')
    assert value.to_py() == {"a": [1, {"b": "x"}], "n": jsnull}


def test_the_result_is_independent_of_the_source() -> None:
    value = JsObject.adopt({"a": 1})
    copy = value.to_py()
    copy["a"] = 2
    assert value.a == 1


def test_maps_and_sets_become_dicts_and_sets() -> None:
    value = JsMap.new([["a", JsSet.new([1, "x"])], [2, JsArray.adopt([3])]])
    assert value.to_py() == {"a": {1, "x"}, 2: [3]}


@pytest.mark.parametrize(
    "value",
    [
        ArrayBuffer.adopt(b"ab"),
        Uint8Array.from_bytes(b"ab"),
        DataView.new(ArrayBuffer.adopt(b"ab")),
    ],
)
def test_buffers_become_memoryviews_of_a_copy(value: Any) -> None:
    view = value.to_py()
    assert isinstance(view, memoryview)
    assert view.tobytes() == b"ab"
    view[0] = 0
    assert value.to_bytes() == b"ab"


def test_shared_and_cyclic_parts_are_converted_once() -> None:
    shared = JsObject.adopt({"x": 1})
    loop = JsArray.adopt([shared, shared])
    loop.push(loop)
    copy = loop.to_py()
    assert copy[0] is copy[1]
    assert copy[2] is copy


def test_depth_limits_the_conversion() -> None:
    inner = JsArray.adopt([1])
    assert JsArray.adopt([inner]).to_py(depth=1) == [inner]
    assert inner.to_py(depth=0) is inner


def test_rows_beyond_the_depth_stay_what_they_are() -> None:
    row = JsObject.adopt({"id": 1})
    assert JsArray.adopt([row]).to_py(depth=1)[0] is row


def test_instances_of_classes_are_the_default_converters() -> None:
    date = Date.new(5)
    value = JsObject.adopt({"when": date})
    assert value.to_py()["when"] is date
    assert value.to_py(default_converter=lambda found, convert, cache: found.getTime()) == {
        "when": 5
    }


def test_the_default_converter_can_go_on_converting() -> None:
    date = Date.new(5)
    copy = JsArray.adopt([date]).to_py(
        default_converter=lambda found, convert, cache: convert(JsArray.adopt([1]))
    )
    assert copy == [[1]]


def test_python_values_inside_pass_unchanged() -> None:
    inner = {"a": JsArray.adopt([])}
    assert JsArray.adopt([inner]).to_py()[0] is inner


def test_a_proxy_gives_its_object() -> None:
    target = object()
    assert create_proxy(target).to_py() is target


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (
            JsMap.new([[1, "a"], [True, "b"]]),
            "Cannot faithfully convert Map into Python since it contains both 1 and true as keys.",
        ),
        (
            JsMap.new([[0, "a"], [False, "b"]]),
            "Cannot faithfully convert Map into Python since it contains both 0 and false as keys.",
        ),
        (
            JsMap.new([[JsArray.adopt([]), 1]]),
            "Cannot use key of type Array as a key to a Python dict",
        ),
        (
            JsSet.new([JsObject.adopt({})]),
            "Cannot use key of type Object as an element of a Python set",
        ),
    ],
)
def test_members_that_cannot_be_keys_in_python_are_refused(value: Any, text: str) -> None:
    with pytest.raises(JsException) as caught:
        value.to_py()
    assert caught.value.message == text


def test_null_stays_null_since_runtime_0_28() -> None:
    assert JsArray.adopt([jsnull]).to_py() == [jsnull]
    assert to_python(jsnull) is jsnull


def test_null_is_none_in_runtime_0_26() -> None:
    token = semantics.set(PYODIDE_0_26)
    try:
        assert JsObject.adopt({"a": jsnull, "b": JsArray.adopt([jsnull])}).to_py() == {
            "a": None,
            "b": [None],
        }
        assert to_python(jsnull) is None
    finally:
        semantics.reset(token)
