"""``as_object_map``: properties as a live mapping."""

from __future__ import annotations

import pytest

from pyflare.js.array import JsArray
from pyflare.js.from_python import to_js
from pyflare.js.json import stringify
from pyflare.js.object_map import ObjectMap
from pyflare.js.structured_clone import structured_clone
from pyflare.js.value import JsObject


def test_it_reads_and_writes_through() -> None:
    value = JsObject.adopt({"a": 1})
    mapping = value.as_object_map()
    mapping["b c"] = 2
    del mapping["a"]
    assert dict(mapping) == {"b c": 2}
    assert value.__dict__ == {"b c": 2}
    assert (len(mapping), "b c" in mapping, mapping.get("x")) == (1, True, None)


def test_an_absent_property_is_a_key_error() -> None:
    mapping = JsObject.adopt({}).as_object_map()
    with pytest.raises(KeyError):
        mapping["a"]
    with pytest.raises(KeyError):
        del mapping["a"]


def test_it_converts_like_the_object() -> None:
    assert JsObject.adopt({"a": 1}).as_object_map().to_py() == {"a": 1}


@pytest.mark.parametrize(("hereditary", "kind"), [(True, ObjectMap), (False, JsObject)])
def test_inner_objects_come_as_mappings_when_asked(hereditary: bool, kind: type) -> None:
    value = JsObject.adopt({"a": JsObject.adopt({"b": 1})})
    assert type(value.as_object_map(hereditary=hereditary)["a"]) is kind


def test_arrays_have_their_indices() -> None:
    assert dict(JsArray.adopt(["x"]).as_object_map()) == {"0": "x"}


def test_it_stands_for_its_object_everywhere_else() -> None:
    value = JsObject.adopt({"a": 1})
    mapping = value.as_object_map()
    assert to_js([mapping])[0] is mapping
    assert stringify(mapping) == '{"a":1}'
    assert structured_clone(mapping).a == 1
    assert (mapping.constructor.name, mapping.a, str(mapping)) == ("Object", 1, "[object Object]")
