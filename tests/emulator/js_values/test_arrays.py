"""``Array``: a mutable sequence to Python, with JavaScript's methods."""

from __future__ import annotations

from collections.abc import Callable, MutableSequence
from typing import Any

import pytest

from pyflare.js.array import JsArray
from pyflare.js.collections import JsMap
from pyflare.js.error import RangeError, TypeError_
from pyflare.js.value import JsObject, jsnull

NAN = float("nan")


def array(*items: Any) -> JsArray:
    return JsArray.adopt(list(items))


def test_adopt_shares_the_list() -> None:
    items = [1]
    made = JsArray.adopt(items)
    made.push(2)
    assert items == [1, 2]


def test_it_is_a_mutable_sequence_without_keys() -> None:
    assert isinstance(array(), MutableSequence)
    assert not hasattr(array(), "keys")
    assert dict(array(array("a", 1))) == {"a": 1}


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (lambda a: a[0], 1),
        (lambda a: a[-1], 3),
        (lambda a: list(a[1:]), [2, 3]),
        (lambda a: len(a), 3),
        (lambda a: a.length, 3),
        (lambda a: 2 in a, True),
        (lambda a: list(reversed(a)), [3, 2, 1]),
        (lambda a: list(a.__add__([4])), [1, 2, 3, 4]),
        (lambda a: list(a * 2), [1, 2, 3, 1, 2, 3]),
        (lambda a: a.index(2), 1),
        (lambda a: a.count(2), 1),
        (lambda a: a.pop(), 3),
        (lambda a: a.pop(0), 1),
        (lambda a: a.at(-1), 3),
        (lambda a: a.at(5), None),
        (lambda a: a.push(4, 5), 5),
        (lambda a: a.shift(), 1),
        (lambda a: a.unshift(0), 4),
        (lambda a: list(a.slice(-2)), [2, 3]),
        (lambda a: list(a.splice(1, 1)), [2]),
        (lambda a: a.join("-"), "1-2-3"),
        (lambda a: list(a.map(lambda item, index, whole: item * index)), [0, 2, 6]),
        (lambda a: list(a.filter(lambda item, *_: item > 1)), [2, 3]),
        (lambda a: a.find(lambda item, *_: item > 1), 2),
        (lambda a: a.find(lambda item, *_: item > 9), None),
        (lambda a: a.findIndex(lambda item, *_: item > 1), 1),
        (lambda a: a.findLast(lambda item, *_: item < 3), 2),
        (lambda a: a.findLastIndex(lambda item, *_: item > 9), -1),
        (lambda a: a.some(lambda item, *_: item == 3), True),
        (lambda a: a.every(lambda item, *_: item < 3), False),
        (lambda a: a.reduce(lambda total, item, *_: total + item), 6),
        (lambda a: a.reduceRight(lambda total, item, *_: f"{total}{item}", ""), "321"),
        (lambda a: a.includes(3), True),
        (lambda a: a.indexOf(4), -1),
        (lambda a: a.lastIndexOf(3), 2),
        (lambda a: list(a.concat(array(4), 5, [6])), [1, 2, 3, 4, 5, [6]]),
        (lambda a: list(a.with_(0, 9)), [9, 2, 3]),
        (lambda a: list(a.toReversed()), [3, 2, 1]),
        (lambda a: list(a.toSpliced(0, 2)), [3]),
        (lambda a: list(a.fill(0, 1)), [1, 0, 0]),
        (lambda a: list(a.copyWithin(0, 1)), [2, 3, 3]),
        (lambda a: list(a.values()), [1, 2, 3]),
        (lambda a: [list(pair) for pair in a.entries()], [[0, 1], [1, 2], [2, 3]]),
        (lambda a: list(a.object_keys()), ["0", "1", "2"]),
    ],
)
def test_operations_on_one_two_three(operation: Callable[[JsArray], Any], expected: Any) -> None:
    assert operation(array(1, 2, 3)) == expected


def test_callbacks_get_all_three_arguments_as_in_production() -> None:
    with pytest.raises(TypeError):
        array(1).map(lambda item: item)


def test_sort_is_by_text_with_undefined_last() -> None:
    assert list(array(10, None, 9, 1).sort()) == [1, 10, 9, None]


def test_sort_takes_a_comparison() -> None:
    assert list(array(10, 9, 1).toSorted(lambda a, b: a - b)) == [1, 9, 10]


def test_flat_and_flat_map() -> None:
    assert list(array(1, array(2, array(3))).flat(2)) == [1, 2, 3]
    assert list(array(1, 2).flatMap(lambda item, *_: array(item, item))) == [1, 1, 2, 2]


def test_search_tells_booleans_from_numbers_and_finds_nan() -> None:
    assert not array(1).includes(True)
    assert array(NAN).includes(NAN)
    assert array(NAN).indexOf(NAN) == -1


def test_join_writes_nothing_for_null_and_undefined() -> None:
    assert str(array(1, None, jsnull, array(2, 3))) == "1,,,2,3"


def test_an_array_in_itself_has_a_text() -> None:
    loop = array(1)
    loop.push(loop)
    assert isinstance(str(loop), str)


def test_length_can_be_set() -> None:
    items = array(1, 2, 3)
    items.length = 1
    items.length = 2
    assert list(items) == [1, None]


@pytest.mark.parametrize("position", [3, -4])
def test_an_index_outside_is_an_index_error(position: int) -> None:
    with pytest.raises(IndexError) as caught:
        array(1, 2, 3)[position]
    assert caught.value.args == (position,)


def test_assigning_beyond_the_end_grows_an_array() -> None:
    made = array(1)
    made[3] = 2.0
    assert list(made) == [1, None, None, 2]
    made[-9] = "a property that is no element"
    assert len(made) == 4


def test_an_array_does_not_grow_beyond_its_limit() -> None:
    with pytest.raises(RangeError, match="Invalid array length"):
        array()[2**32] = 1


@pytest.mark.parametrize(
    "made",
    [
        JsArray.of(2.0),
        JsArray.new(2.0, "x"),
        JsArray.from_([2.0]),
        JsArray.from_([1], lambda item, _: 2.0),
        array(1).map(lambda item, *_: 2.0),
        array(1).fill(2.0),
        array(1).with_(0, 2.0),
        array(1).concat(JsArray.of(2.0)).slice(1),
    ],
)
def test_whole_numbers_come_back_as_int(made: Any) -> None:
    assert type(made[0]) is int


def test_whole_numbers_that_are_put_into_an_array_come_back_as_int() -> None:
    made = array()
    made.push(1.0)
    made.append(2.0)
    made.extend([3.0, 3.5])
    made.insert(0, -0.0)
    made.unshift(4.0)
    made.splice(0, 0, 5.0)
    made[0] = 6.0
    assert repr(list(made)) == "[6, 4, 0, 1, 2, 3, 3.5]"


@pytest.mark.parametrize(
    ("operation", "error", "text"),
    [
        (lambda: array().pop(), IndexError, "pop from empty list"),
        (lambda: array(1).pop(4), IndexError, "pop index out of range"),
        (lambda: array(1).index(2), ValueError, "2 is not in list"),
        (lambda: array(1).remove(2), ValueError, "2 is not in list"),
        (lambda: array().__delitem__(0), IndexError, "0"),
        (lambda: JsArray.new(-1), RangeError, "Invalid array length"),
        (lambda: JsArray.new(1.5), RangeError, "Invalid array length"),
        (lambda: array(1).with_(3, 0), RangeError, "Invalid index : 3"),
        (
            lambda: array().reduce(lambda a, b, *_: a),
            TypeError_,
            "Reduce of empty array with no initial value",
        ),
        (lambda: JsArray.from_(jsnull), TypeError_, "null is not iterable"),
    ],
)
def test_errors(operation: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        operation()
    assert getattr(caught.value, "message", str(caught.value)) == text


@pytest.mark.parametrize(
    ("made", "items"),
    [
        (lambda: JsArray.new(2), [None, None]),
        (lambda: JsArray.new("2"), ["2"]),
        (lambda: JsArray.new(1, 2), [1, 2]),
        (lambda: JsArray.of(3), [3]),
        (lambda: JsArray.from_("ab"), ["a", "b"]),
        (lambda: JsArray.from_([1, 2], lambda item, index: item + index), [1, 3]),
        (lambda: JsArray.from_(JsObject.adopt({"length": 2, "0": "x"})), ["x", None]),
    ],
)
def test_ways_to_make_one(made: Callable[[], JsArray], items: list[Any]) -> None:
    assert list(made()) == items


def test_from_a_map_takes_its_pairs() -> None:
    assert [list(pair) for pair in JsArray.from_(JsMap.new([["a", 1]]))] == [["a", 1]]


def test_is_array() -> None:
    assert JsArray.isArray(array())
    assert not JsArray.isArray([])


@pytest.mark.parametrize(("items", "truth"), [([], False), ([0], True)])
def test_truth_follows_the_length(items: list[Any], truth: bool) -> None:
    assert bool(JsArray.adopt(items)) is truth
