"""What becomes of Python values that are stored and read again."""

from __future__ import annotations

import datetime
import math
from typing import Any

import pytest

from pyflare.js.value import JsObject, jsnull

NOW = datetime.datetime(2026, 1, 2, 3, 4, 5, 678000)

SAME: dict[str, Any] = {
    "none": None,
    "true": True,
    "false": False,
    "zero": 0,
    "negative": -5,
    "int32 and more": 2**31,
    "largest safe": 2**53 - 1,
    "bigint": 2**53,
    "negative bigint": -(2**70),
    "fraction": 1.5,
    "infinity": math.inf,
    "text": "a",
    "empty text": "",
    "latin": "é",
    "emoji": "🙂",
    "long text": "x" * 1000,
    "list": [1, "a", None, True],
    "empty list": [],
    "dict": {"a": 1, "b": {"c": [None]}},
    "empty dict": {},
    "emoji key": {"🙂": 1},
    "long key": {"k" * 300: 1},
    "many keys": {f"k{n}": n for n in range(300)},
    "set": {1, 2},
    "datetime": NOW,
    "nested datetime": {"at": [NOW]},
}


@pytest.mark.parametrize("value", SAME.values(), ids=SAME)
def test_a_value_comes_back_as_it_went(storage: Any, value: Any) -> None:
    async def program(storage: Any) -> Any:
        assert await storage.put("k", value) is None
        return await storage.get("k")

    back = storage(program)
    assert back == value
    assert type(back) is type(value) or isinstance(back, dict)


OTHERWISE: dict[str, tuple[Any, Any]] = {
    "whole float": (2.0, 2),
    "index keys come first": ({"b": 0, "2": 1, "1": 2}, {"1": 2, "2": 1, "b": 0}),
    "number keys": ({1: "a"}, {"1": "a"}),
    "bytes": (b"\x00\xff", memoryview(b"\x00\xff")),
    "memoryview": (memoryview(b"ab"), memoryview(b"ab")),
    "nested bytes": ([b"a"], [memoryview(b"a")]),
}


@pytest.mark.parametrize(("value", "expected"), OTHERWISE.values(), ids=OTHERWISE)
def test_a_value_comes_back_as_javascript_has_it(storage: Any, value: Any, expected: Any) -> None:
    async def program(storage: Any) -> Any:
        await storage.put("k", value)
        return await storage.get("k")

    back = storage(program)
    assert back == expected
    if isinstance(expected, dict):
        assert list(back) == list(expected)


def test_nan_comes_back(storage: Any) -> None:
    async def program(storage: Any) -> Any:
        await storage.put("k", math.nan)
        return await storage.get("k")

    assert math.isnan(storage(program))


def test_an_exception_comes_back_with_its_text(storage: Any) -> None:
    async def program(storage: Any) -> Any:
        await storage.put("k", ValueError("broken"))
        return await storage.get("k")

    back = storage(program)
    assert type(back) is Exception
    assert str(back) == "Error: broken"


def test_dicts_are_read_by_attribute_too(storage: Any) -> None:
    async def program(storage: Any) -> Any:
        await storage.put("k", {"user": {"name": "a"}})
        return (await storage.get("k")).user.name

    assert storage(program) == "a"


def test_what_was_read_can_be_changed_and_stored_again(storage: Any) -> None:
    async def program(storage: Any) -> Any:
        await storage.put("k", {"n": 1})
        value = await storage.get("k")
        value["n"] += 1
        value.more = [1]
        await storage.put("k", value)
        return await storage.get("k")

    assert storage(program) == {"n": 2, "more": [1]}


def test_a_missing_key_is_none(storage: Any) -> None:
    assert storage(lambda storage: storage.get("missing")) is None


def test_a_stored_value_is_a_copy(storage: Any) -> None:
    async def program(storage: Any) -> Any:
        value = {"list": [1]}
        await storage.put("k", value)
        value["list"].append(2)
        first = await storage.get("k")
        first["list"].append(3)
        return await storage.get("k")

    assert storage(program) == {"list": [1]}


REFUSED: dict[str, tuple[Any, str]] = {
    "tuple": ((1,), "<class 'tuple'> cannot be sent over RPC."),
    "nested tuple": ({"a": [(1,)]}, "<class 'tuple'> cannot be sent over RPC."),
    "bytearray": (bytearray(b"a"), "<class 'bytearray'> cannot be sent over RPC."),
}


@pytest.mark.parametrize(("value", "text"), REFUSED.values(), ids=REFUSED)
def test_what_the_sdk_refuses_is_a_type_error(storage: Any, value: Any, text: str) -> None:
    with pytest.raises(TypeError) as caught:
        storage(lambda storage: storage.put("k", value))
    assert str(caught.value) == text


@pytest.mark.parametrize("value", [1j, range(2), object(), lambda: 1, {"f": len}])
def test_what_cannot_be_cloned_is_a_data_clone_error(storage: Any, value: Any) -> None:
    text = storage.error(lambda storage: storage.put("k", value))
    assert text.startswith("DataCloneError: ")
    assert text.endswith(" could not be cloned.")


def test_the_unwrapped_storage_takes_javascript_values_only(storage: Any) -> None:
    async def program(storage: Any) -> Any:
        await storage.put("object", JsObject.adopt({"a": jsnull}))
        with pytest.raises(Exception, match=r"^DataCloneError: #<Object> could not be cloned.$"):
            await storage.put("dict", {"a": 1})
        return (await storage.get("object")).a, await storage.get("dict")

    assert storage.raw(program) == (jsnull, None)


def test_a_regular_expression_comes_back_wrapped(storage: Any) -> None:
    from pyflare.js.regexp import RegExp

    async def program(storage: Any) -> Any:
        await storage._binding.put("k", RegExp._make("a+", "g"))
        return (await storage.get("k")).source

    assert storage(program) == "a+"
