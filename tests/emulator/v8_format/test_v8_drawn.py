"""Drawn values survive the round trip, and drawn damage never does more than raise a JavaScript error."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pyflare.js.array import JsArray
from pyflare.js.collections import JsMap, JsSet
from pyflare.js.date import Date
from pyflare.js.error import Error, JsException
from pyflare.js.typed_array_kinds import Float64Array, Uint8Array
from pyflare.js.v8_format import deserialize, serialize
from pyflare.js.value import JsObject, jsnull

_SCALARS = (
    st.none()
    | st.just(jsnull)
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()))
)
_TIMES = st.integers(-(8 * 10**15), 8 * 10**15)


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return (
        st.lists(inner, max_size=5).map(JsArray.adopt)
        | st.dictionaries(st.text(max_size=4), inner, max_size=5).map(JsObject.adopt)
        | st.lists(st.tuples(inner, inner), max_size=4).map(_map)
        | st.lists(inner, max_size=4).map(JsSet.of_items)
        | inner.map(lambda cause: Error("m", JsObject.adopt({"cause": cause})))
        # The same part twice.
        | inner.map(lambda part: JsArray.adopt([part, JsObject.adopt({"again": part})]))
    )


def _map(pairs: list[tuple[Any, Any]]) -> JsMap:
    made = JsMap.empty()
    for key, value in pairs:
        made.set(key, value)
    return made


_LEAVES = (
    _SCALARS
    | _TIMES.map(Date._make)
    | st.binary(max_size=8).map(Uint8Array.from_bytes)
    | st.lists(st.floats(width=64), max_size=3).map(Float64Array._construct)
)
VALUES = st.recursive(_LEAVES, _containers, max_leaves=12)


@settings(max_examples=300, deadline=None)
@given(VALUES)
def test_a_value_read_and_written_again_gives_the_same_bytes(value: Any) -> None:
    data = serialize(value)
    again = serialize(deserialize(data))
    # Integral floats come back as int and indices get their order, so the second time decides.
    assert serialize(deserialize(again)) == again


@settings(max_examples=300, deadline=None)
@given(_SCALARS)
def test_a_primitive_comes_back_as_it_went(value: Any) -> None:
    back = deserialize(serialize(value))
    if isinstance(value, float) and math.isnan(value):
        assert math.isnan(back)
    else:
        assert back == value
        assert isinstance(back, bool) == isinstance(value, bool)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.text(), _SCALARS.filter(lambda item: item == item), max_size=8))
def test_the_short_way_and_the_long_way_write_the_same(properties: dict[str, Any]) -> None:
    from pyflare.js.v8_format.reader import read
    from pyflare.js.v8_format.writer import write

    value = JsObject.adopt(properties)
    data = serialize(value)
    assert data == write(value, False)
    assert read(data).__dict__ == deserialize(data).__dict__


@settings(max_examples=600, deadline=None)
@given(VALUES, st.data())
def test_damage_gives_a_javascript_error_or_another_value(value: Any, data: st.DataObject) -> None:
    damaged = bytearray(serialize(value))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(2, max(2, len(damaged) - 1)))
        damaged[at : at + 1] = data.draw(st.binary(max_size=2))
    _read_or_refuse(bytes(damaged))


@settings(max_examples=600, deadline=None)
@given(st.binary(max_size=40))
def test_noise_gives_a_javascript_error_or_a_value(noise: bytes) -> None:
    _read_or_refuse(b"\xff\x0f" + noise)
    _read_or_refuse(noise)


@settings(max_examples=100, deadline=None)
@given(VALUES)
def test_bytes_that_end_early_are_refused(value: Any) -> None:
    data = serialize(value)
    for length in range(len(data)):
        _read_or_refuse(data[:length])


def _read_or_refuse(data: bytes) -> None:
    try:
        deserialize(data)
    except JsException:
        pass
