"""Headers, forms and search parameters as Pyodide's proxies show them to Python: subscripts, `del`, mappings."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from contextvars import copy_context
from typing import Any

import pytest

from pyflare.js.array import JsArray
from pyflare.js.collections import JsMap, JsSet
from pyflare.js.formdata import FormData
from pyflare.js.headers import Headers
from pyflare.js.inspect_value import inspect
from pyflare.js.object_statics import ObjectStatics
from pyflare.js.searchparams import URLSearchParams
from pyflare.js.semantics import PYODIDE_0_26, PYODIDE_0_28, semantics
from pyflare.js.url import URL
from pyflare.js.value import jsnull

KINDS = [Headers, FormData, URLSearchParams]


def filled(kind: Any, *pairs: tuple[str, str]) -> Any:
    made = kind.new()
    for name, value in pairs or (("a", "1"), ("b", "2")):
        made.append(name, value)
    return made


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("version", "null"), [(PYODIDE_0_26, None), (PYODIDE_0_28, jsnull)])
def test_a_subscript_reads_null_where_there_is_nothing(
    kind: Any, version: Any, null: object
) -> None:
    def check() -> None:
        semantics.set(version)
        assert filled(kind)["b"] == "2"
        assert filled(kind)["missing"] is null
        assert (filled(kind)["missing"] or "default") == "default"

    copy_context().run(check)


def test_a_subscript_of_a_map_is_a_key_error_where_there_is_nothing() -> None:
    with pytest.raises(KeyError):
        JsMap.new()["missing"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["a", "missing"])
def test_del_deletes_and_is_a_key_error_whatever_there_was(kind: Any, name: str) -> None:
    made = filled(kind)

    with pytest.raises(KeyError, match=name):
        del made[name]

    assert name not in made
    assert "b" in made


@pytest.mark.parametrize("kind", KINDS)
def test_delete_as_a_method_is_quiet(kind: Any) -> None:
    made = filled(kind)

    made.delete("a")
    made.delete("missing")

    assert list(made.entries().next().value) == ["b", "2"]


@pytest.mark.parametrize("kind", [Headers, FormData])
def test_what_has_no_size_is_no_mapping_and_iterates_as_pairs(kind: Any) -> None:
    made = filled(kind)

    assert [tuple(pair) for pair in made] == [("a", "1"), ("b", "2")]
    assert not isinstance(made, Mapping)
    assert not hasattr(made, "items")
    with pytest.raises(TypeError):
        len(made)


class TestSearchParameters:
    """They have a size, so that they are a mutable mapping; its methods follow from subscripts and `del`."""

    @pytest.fixture
    def params(self) -> Any:
        return URL.new("http://x/?a=1&b=2&a=3").searchParams

    def test_are_a_mutable_mapping(self, params: Any) -> None:
        assert isinstance(params, MutableMapping)
        assert len(params) == 3
        match params:
            case {"b": value}:
                assert value == "2"
            case _:
                pytest.fail("no mapping")

    def test_iterate_over_their_names(self, params: Any) -> None:
        assert list(params) == ["a", "b", "a"]
        assert list(params.keys()) == ["a", "b", "a"]

    def test_have_the_first_value_of_each_name_as_values_and_items(self, params: Any) -> None:
        assert list(params.values()) == ["1", "2", "1"]
        assert list(params.items()) == [("a", "1"), ("b", "2"), ("a", "1")]
        assert dict(params) == {"a": "1", "b": "2"}

    def test_have_all_values_as_entries(self, params: Any) -> None:
        assert [list(pair) for pair in params.entries()] == [["a", "1"], ["b", "2"], ["a", "3"]]

    def test_have_views_that_follow_changes(self, params: Any) -> None:
        names, items = params.keys(), params.items()

        params.append("c", "4")

        assert "c" in names
        assert ("c", "4") in items
        assert len(items) == 4

    def test_get_gives_null_and_not_the_default_where_there_is_nothing(self, params: Any) -> None:
        assert params.get("a", "default") == "1"
        assert params.get("missing") is jsnull
        assert params.get("missing", "default") is jsnull

    def test_update_takes_mappings_pairs_and_keywords(self, params: Any) -> None:
        params.update({"b": "9"}, c="4")
        params.update([("d", 5)])
        params.update()

        assert params.toString() == "a=1&b=9&a=3&c=4&d=5"

    def test_update_changes_the_url_too(self) -> None:
        url = URL.new("http://x/?a=1")

        url.searchParams.update(b="2")

        assert url.href == "http://x/?a=1&b=2"

    def test_setdefault_sets_nothing_since_null_is_there(self, params: Any) -> None:
        assert params.setdefault("b", "9") == "2"
        assert params.setdefault("new", "5") is jsnull
        assert params.toString() == "a=1&b=2&a=3"

    @pytest.mark.parametrize("default", [(), ("default",)])
    def test_pop_deletes_and_is_a_key_error_as_del_is(self, params: Any, default: Any) -> None:
        with pytest.raises(KeyError, match="a"):
            params.pop("a", *default)

        assert params.toString() == "b=2"

    def test_popitem_deletes_the_first_and_is_a_key_error(self, params: Any) -> None:
        with pytest.raises(KeyError):
            params.popitem()

        assert params.toString() == "b=2"

    def test_clear_ends_with_the_first_name(self, params: Any) -> None:
        params.clear()

        assert params.toString() == "b=2"

    def test_are_pairs_to_javascript(self, params: Any) -> None:
        pairs = [["a", "1"], ["b", "2"], ["a", "3"]]

        assert [list(pair) for pair in JsArray.from_(params)] == pairs
        assert [list(pair) for pair in JsSet.new(params)] == pairs
        assert dict(JsMap.new(params).items()) == {"a": "3", "b": "2"}
        assert URLSearchParams.new(params).toString() == "a=1&b=2&a=3"
        assert [tuple(pair) for pair in Headers.new(params)] == [("a", "1, 3"), ("b", "2")]
        assert inspect(params) == "URLSearchParams(3) { 'a' => '1', 'b' => '2', 'a' => '3' }"

    def test_make_an_object(self, params: Any) -> None:
        made = ObjectStatics.fromEntries(params)

        assert (made.a, made.b) == ("3", "2")


def test_a_map_is_pairs_to_javascript() -> None:
    # Names of two letters, which unpack like pairs.
    map_ = JsMap.from_dict({"ab": 1, "cd": 2})

    assert [list(pair) for pair in JsArray.from_(map_)] == [["ab", 1], ["cd", 2]]
    assert [list(pair) for pair in JsSet.new(map_)] == [["ab", 1], ["cd", 2]]
    assert ObjectStatics.fromEntries(map_).ab == 1
    assert dict(JsMap.new(map_).items()) == {"ab": 1, "cd": 2}
