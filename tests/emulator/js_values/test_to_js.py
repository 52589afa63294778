"""``to_js``: which Python value becomes which JavaScript value."""

from __future__ import annotations

import array
import datetime
from collections import OrderedDict
from typing import Any

import pytest

from pyflare.js.array import JsArray
from pyflare.js.buffer import (
    BigInt64Array,
    Float32Array,
    Float64Array,
    Int8Array,
    Int16Array,
    Uint8Array,
    Uint16Array,
    Uint32Array,
)
from pyflare.js.collections import JsMap, JsSet, LiteralMap
from pyflare.js.error import Error
from pyflare.js.from_python import ConversionError, to_js
from pyflare.js.json import stringify
from pyflare.js.proxy import JsDoubleProxy
from pyflare.js.semantics import PYODIDE_314, semantics
from pyflare.js.value import JsObject, jsnull

from_entries = JsObject.fromEntries


class Thing:
    """A class without a JavaScript form."""


@pytest.mark.parametrize(
    "value", ["x", 1, 1.5, True, None, jsnull, JsObject.adopt({}), JsArray.adopt([]), Error("x")]
)
def test_unchanged_values_never_reach_a_converter(value: Any) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("a converter was asked")

    assert to_js(value, default_converter=refuse, eager_converter=refuse) is value
    assert to_js([value], default_converter=refuse)[0] is value


def test_lists_and_tuples_become_arrays_deeply() -> None:
    made = to_js([1, (2, [3])])
    assert isinstance(made, JsArray)
    assert str(made) == "1,2,3"
    assert isinstance(made[1][1], JsArray)


def test_the_source_is_copied() -> None:
    source = [1]
    made = to_js(source)
    made.push(2)
    assert source == [1]


def test_a_dict_becomes_a_literal_map() -> None:
    made = to_js({"a": {"b": 1}, 2: "x"})
    assert isinstance(made, LiteralMap)
    assert made.a.b == 1
    assert made.get(2) == "x"


def test_a_dict_becomes_what_the_converter_makes_of_its_pairs() -> None:
    made = to_js({"a": [1, {"b": None}]}, dict_converter=from_entries)
    assert type(made) is JsObject
    assert type(made.a[1]) is JsObject
    assert made.a[1].b is None


def test_the_dict_converter_gets_an_array_of_pairs() -> None:
    seen: list[Any] = []
    to_js({"a": 1, 2: "x"}, dict_converter=seen.append)
    assert [list(pair) for pair in seen[0]] == [["a", 1], [2, "x"]]


def test_keys_of_an_object_are_texts() -> None:
    made = to_js({1: "a", False: "b", None: "c", 1.5: "d"}, dict_converter=from_entries)
    assert made.__dict__ == {"1": "a", "false": "b", "undefined": "c", "1.5": "d"}


def test_subclasses_convert_like_their_base() -> None:
    assert type(to_js(OrderedDict(a=1), dict_converter=from_entries)) is JsObject
    assert to_js({"a": OrderedDict(b=1)}, dict_converter=from_entries).a.b == 1


def test_sets_become_sets() -> None:
    made = to_js({1, "a"})
    assert isinstance(made, JsSet)
    assert (made.size, made.has(1), made.has("a")) == (2, True, True)
    assert isinstance(to_js([frozenset({1})])[0], JsSet)


@pytest.mark.parametrize(
    ("source", "kind", "items"),
    [
        (b"ab", Uint8Array, [97, 98]),
        (bytearray(b"ab"), Uint8Array, [97, 98]),
        (memoryview(b"ab"), Uint8Array, [97, 98]),
        (memoryview(b"abcd")[::2], Uint8Array, [97, 99]),
        (array.array("b", [-1]), Int8Array, [-1]),
        (array.array("h", [-2]), Int16Array, [-2]),
        (array.array("H", [2]), Uint16Array, [2]),
        (array.array("I", [2]), Uint32Array, [2]),
        (array.array("f", [0.5]), Float32Array, [0.5]),
        (array.array("d", [0.5]), Float64Array, [0.5]),
        (array.array("q", [5]), BigInt64Array, [5]),
    ],
)
def test_buffers_become_typed_arrays(source: Any, kind: type, items: list[Any]) -> None:
    made = to_js(source)
    assert type(made) is kind
    assert list(made) == items


def test_a_mutable_buffer_is_copied() -> None:
    source = bytearray(b"a")
    made = to_js(source)
    source[0] = 0
    assert made.to_bytes() == b"a"


def test_a_buffer_of_two_dimensions_becomes_nested_arrays() -> None:
    made = to_js(memoryview(bytes(4)).cast("B", (2, 2)))
    assert [list(row) for row in made] == [[0, 0], [0, 0]]


def test_a_buffer_of_booleans_becomes_an_array() -> None:
    assert list(to_js(memoryview(b"\0\1").cast("?"))) == [False, True]


def test_shared_and_cyclic_containers_are_converted_once() -> None:
    shared = [1]
    loop: list[Any] = [shared, shared, {"s": shared}]
    loop.append(loop)
    made = to_js(loop, dict_converter=from_entries)
    assert made[0] is made[1] is made[2].s
    assert made[3] is made


@pytest.mark.parametrize("converter", [None, from_entries])
def test_a_dict_may_hold_itself(converter: Any) -> None:
    loop: dict[str, Any] = {}
    loop["self"] = loop
    made = to_js(loop, dict_converter=converter)
    assert made.self is made


def test_depth_limits_the_conversion() -> None:
    inner = [2]
    made = to_js([1, inner], depth=1)
    assert isinstance(made, JsArray)
    assert made[1] is inner


def test_depth_zero_proxies_the_value_itself() -> None:
    source = [1]
    made = to_js(source, depth=0)
    assert isinstance(made, JsDoubleProxy)
    assert made.unwrap() is source


def test_a_value_without_a_form_stands_as_a_proxy() -> None:
    thing = Thing()
    made = to_js(thing)
    assert isinstance(made, JsDoubleProxy)
    assert made.unwrap() is thing
    assert to_js([thing])[0] is thing


def test_proxies_made_on_the_way_are_recorded() -> None:
    thing = Thing()
    proxies = JsArray.of()
    to_js([thing], pyproxies=proxies)
    assert [proxy.unwrap() for proxy in proxies] == [thing]


def test_proxies_are_recorded_in_a_javascript_array() -> None:
    with pytest.raises(TypeError, match="Expected a JsArray for the pyproxies argument"):
        to_js([Thing()], pyproxies=[])


def test_without_proxies_a_value_without_a_form_is_refused() -> None:
    with pytest.raises(ConversionError) as caught:
        to_js([1j], create_pyproxies=False)
    assert str(caught.value) == "No conversion known for x."


def test_the_default_converter_is_asked_for_values_without_a_form() -> None:
    made = to_js([1j, "x"], default_converter=lambda value, convert, cache: convert([value.imag]))
    assert list(made[0]) == [1]
    assert made[1] == "x"


def test_a_default_converter_that_gives_its_argument_makes_a_proxy() -> None:
    thing = Thing()
    assert to_js(thing, default_converter=lambda value, *_: value).unwrap() is thing


def test_the_default_converter_may_cache_for_cycles() -> None:
    class Pair:
        second: Any

    pair = Pair()
    pair.second = pair

    def convert_pair(value: Any, convert: Any, cache: Any) -> Any:
        made = JsArray.adopt([])
        cache(value, made)
        made.push(convert(value.second))
        return made

    made = to_js(pair, default_converter=convert_pair)
    assert made[0] is made


def test_the_eager_converter_comes_before_every_rule() -> None:
    def eager(value: Any, convert: Any, cache: Any) -> Any:
        return "a tuple" if isinstance(value, tuple) else value

    assert to_js([(1,), [2]], eager_converter=eager)[0] == "a tuple"


def test_the_eager_converter_can_leave_an_object_to_the_rules() -> None:
    def eager(value: Any, convert: Any, cache: Any) -> Any:
        if isinstance(value, dict):
            return JsObject.fromEntries([[key, convert(item)] for key, item in value.items()])
        return convert(value)

    made = to_js({"a": [{"b": (1, "x")}]}, eager_converter=eager)
    assert stringify(made) == '{"a":[{"b":[1,"x"]}]}'


def test_datetimes_have_no_form_of_their_own() -> None:
    moment = datetime.datetime(2020, 1, 1)
    assert to_js([moment])[0] is moment


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({(1, 2)}, "Cannot use (1, 2) as a key for a Javascript Set"),
        ({(1, 2): 1}, "Cannot use (1, 2) as a key for a Javascript Map"),
    ],
)
def test_keys_that_javascript_cannot_hold_are_refused(value: Any, text: str) -> None:
    with pytest.raises(ConversionError) as caught:
        to_js(value)
    assert str(caught.value) == text


def test_from_runtime_314_on_a_dict_becomes_an_object() -> None:
    token = semantics.set(PYODIDE_314)
    try:
        assert type(to_js({"a": {"b": 1}}).a) is JsObject
        with pytest.raises(
            ConversionError, match="Key collision when converting Python dictionary to JavaScript"
        ):
            to_js({"toString": 1})
    finally:
        semantics.reset(token)


def test_a_map_is_a_possible_dict_converter() -> None:
    assert dict(to_js({"a": 1}, dict_converter=JsMap.new)) == {"a": 1}
