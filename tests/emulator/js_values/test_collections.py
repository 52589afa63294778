"""``Map``, ``Set`` and their weak kin compare keys as JavaScript does."""

from __future__ import annotations

import gc
from collections.abc import Callable, MutableMapping
from typing import Any

import pytest

from pyflare.js.array import JsArray
from pyflare.js.collections import JsMap, JsSet, LiteralMap
from pyflare.js.error import TypeError_
from pyflare.js.value import JsObject, jsnull
from pyflare.js.weak import FinalizationRegistry, WeakMap, WeakRef, WeakSet

Evaluate = Callable[[str, Any], list[Any]]
NAN = float("nan")
DISTINCT_KEYS: list[Any] = [1, True, 0, False, "1", None, jsnull, (1,), 1.5]


def test_keys_that_javascript_tells_apart_are_apart() -> None:
    made = JsMap.new([[key, index] for index, key in enumerate(DISTINCT_KEYS)])
    assert made.size == len(DISTINCT_KEYS)
    assert [made.get(key) for key in DISTINCT_KEYS] == list(range(len(DISTINCT_KEYS)))


def test_nan_is_one_key_and_zero_has_no_sign() -> None:
    made = JsMap.new([[NAN, "a"], [-0.0, "b"]])
    assert (made.get(float("nan")), made.get(0)) == ("a", "b")


def test_objects_are_keys_by_identity() -> None:
    first, second = JsObject.new(), JsObject.new()
    made = JsMap.new([[first, 1]])
    assert made.has(first)
    assert not made.has(second)


def test_equal_tuples_are_different_keys() -> None:
    first, second = tuple(range(2)), tuple(range(2))
    made = JsMap.new([[first, 1]])
    assert made.has(first)
    assert not made.has(second)


def test_map_is_a_mutable_mapping_over_keys() -> None:
    made = JsMap.new([["a", 1], ["b", 2]])
    assert isinstance(made, MutableMapping)
    assert list(made) == ["a", "b"]
    assert dict(made) == {"a": 1, "b": 2}
    assert list(made.items()) == [("a", 1), ("b", 2)]
    assert list(made.values()) == [1, 2]
    made.update({"c": 3}, d=4)
    assert made.pop("c") == 3
    assert made.popitem() == ("d", 4)
    assert made.setdefault("e", 5) == 5
    del made["e"]
    assert "e" not in made
    assert made.get("e", "default") == "default"


def test_map_javascript_methods() -> None:
    made = JsMap.new()
    assert made.set("a", 1) is made
    assert made.delete("a") is True
    assert made.delete("a") is False
    made.set("b", 2)
    seen: list[Any] = []
    made.forEach(lambda value, key, whole: seen.append((value, key, whole is made)))
    assert seen == [(2, "b", True)]
    assert [list(pair) for pair in made.entries()] == [["b", 2]]
    made.clear()
    assert not made


def test_what_is_removed_during_iteration_is_skipped() -> None:
    made = JsMap.new([["a", 1], ["b", 2], ["c", 3]])
    seen = []
    for key in made:
        seen.append(key)
        made.delete("b")
    assert seen == ["a", "c"]


CHANGES = [
    [["delete", "b"]],
    [["delete", "a"]],
    [["set", "d"]],
    [["set", "b"]],
    [["delete", "b"], ["set", "b"]],
    [["delete", "a"], ["set", "a"], ["delete", "c"]],
    [["clear"]],
    [["clear"], ["set", "d"], ["set", "a"]],
    [["set", "d"], ["delete", "d"], ["set", "e"], ["delete", "c"]],
]


@pytest.mark.parametrize("when", ["a", "b", "c"])
def test_changes_during_iteration_are_seen_as_in_node(node: Evaluate, when: str) -> None:
    program = (
        "(() => { const m = new Map([['a', 1], ['b', 1], ['c', 1]]), seen = []; let done = false;"
        " for (const k of m.keys()) { seen.push(k);"
        f" if (k === {when!r} && !done) {{ done = true; for (const [f, k2] of x) m[f](k2, 2); }} }}"
        " return seen; })()"
    )
    for changes, expected in zip(CHANGES, node(program, CHANGES), strict=True):
        for made in (JsMap.new([["a", 1], ["b", 1], ["c", 1]]), JsSet.new(["a", "b", "c"])):
            seen: list[str] = []
            for key in made:
                seen.append(key)
                if key == when and seen.count(when) == 1:
                    for method, *arguments in changes:
                        name = "add" if method == "set" and isinstance(made, JsSet) else method
                        getattr(made, name)(*arguments)
            assert seen == expected, changes


def test_python_methods_are_seen_during_iteration_too() -> None:
    made = JsMap.new([["a", 1], ["b", 2], ["c", 3]])
    seen = []
    for key, value in made.items():
        seen.append((key, value))
        if key == "a":
            made.pop("b")
            made.popitem()
            made.setdefault("d", 4)
            made.update(e=5)
            made["f"] = 6
    assert seen == [("a", 1), ("d", 4), ("e", 5), ("f", 6)]


def test_an_iteration_that_is_given_up_is_forgotten() -> None:
    made = JsMap.new([["a", 1], ["b", 2]])
    for _ in made:
        break
    gc.collect()
    assert not made._walks


@pytest.mark.parametrize(
    "operation", [lambda m: m["x"], lambda m: m.__delitem__("x"), lambda m: m.pop("x")]
)
def test_an_absent_key_is_a_key_error(operation: Any) -> None:
    with pytest.raises(KeyError) as caught:
        operation(JsMap.new())
    assert caught.value.args == ("x",)


def test_map_takes_python_pairs_and_maps() -> None:
    assert dict(JsMap.new([("a", 1)])) == dict(JsMap.new(JsMap.new([["a", 1]]))) == {"a": 1}


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: JsMap(), "Constructor Map requires 'new'"),
        (lambda: JsSet(), "Constructor Set requires 'new'"),
        (lambda: JsMap.new([1]), "Iterator value 1 is not an entry object"),
        (lambda: JsMap.new({"a": 1}), "Iterator value a is not an entry object"),
        (lambda: WeakMap.new().set(1, 2), "Invalid value used as weak map key: 1"),
        (lambda: WeakSet.new().add("a"), "Invalid value used in weak set: a"),
        (lambda: FinalizationRegistry.new(1), "FinalizationRegistry: cleanup must be callable"),
        (
            lambda: JsSet.new().union(1),
            "The argument must be a Set-like object with 'size', 'has' and 'keys'.",
        ),
    ],
)
def test_errors(call: Any, text: str) -> None:
    with pytest.raises(TypeError_) as caught:
        call()
    assert caught.value.message == text


def test_a_literal_map_reads_string_keys_as_properties() -> None:
    made = LiteralMap.from_dict({"a": 1, "size": 9, 2: "x"})
    assert made.a == 1
    assert made.size == 3
    assert not hasattr(made, "b")
    assert list(made.object_keys()) == ["a", "size"]


def test_set_operations() -> None:
    left, right = JsSet.new([1, 2, 2, True]), JsSet.new([2, 3])
    assert list(left) == [1, 2, True]
    assert list(left.union(right)) == [1, 2, True, 3]
    assert list(left.intersection(right)) == [2]
    assert list(left.difference(right)) == [1, True]
    assert list(left.symmetricDifference(right)) == [1, True, 3]
    assert JsSet.new([2]).isSubsetOf(left)
    assert left.isSupersetOf(JsSet.new([2]))
    assert left.isDisjointFrom(JsSet.new([7]))
    assert left.delete(2)
    assert not left.has(2)
    assert [list(pair) for pair in right.entries()] == [[2, 2], [3, 3]]
    assert isinstance(JsSet.new(JsArray.adopt([1])).values().next(), JsObject)


def test_a_weak_map_forgets_a_dead_key() -> None:
    made = WeakMap.new()
    key = JsObject.new()
    made.set(key, 1)
    assert made.get(key) == 1
    del key
    gc.collect()
    assert made._entries == {}


def test_a_weak_reference_lets_its_target_go() -> None:
    target = JsObject.new()
    reference = WeakRef.new(target)
    assert reference.deref() is target
    del target
    gc.collect()
    assert reference.deref() is None


def test_weak_set_membership() -> None:
    member = JsArray.adopt([])
    made = WeakSet.new([member])
    assert made.has(member)
    assert made.delete(member)
    assert not made.has(member)
