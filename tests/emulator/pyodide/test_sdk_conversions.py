"""The SDK's own conversions, unmodified, on these values and these conversions."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from pyflare.js.array import JsArray
from pyflare.js.buffer import Uint8Array
from pyflare.js.collections import JsMap, JsSet
from pyflare.js.date import Date
from pyflare.js.error import Error, JsException
from pyflare.js.number import Number
from pyflare.js.proxy import JsDoubleProxy
from pyflare.js.regexp import RegExp
from pyflare.js.structured_clone import structured_clone
from pyflare.js.value import JsObject, jsnull
from pyflare.workers.runtime import Runtime


@pytest.fixture(scope="module")
def sdk() -> Iterator[ModuleType]:
    runtime = Runtime()
    runtime.install()
    import workers

    yield workers
    runtime.uninstall()


def js(value: Any) -> Any:
    """A JavaScript value of plain Python ones."""
    if isinstance(value, dict):
        return JsObject.adopt({key: js(item) for key, item in value.items()})
    return JsArray.adopt([js(item) for item in value]) if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (js({"a": [1, {"b": jsnull}]}), {"a": [1, {"b": None}]}),
        (jsnull, None),
        (5, 5),
        (JsMap.new([["a", 1]]), {"a": 1}),
        (JsSet.new([1]), {1}),
        (Date.new(86_400_000), datetime.datetime.fromtimestamp(86_400)),
        (Number.new(7), 7),
        (JsArray.adopt([Date.new(0)]), [datetime.datetime.fromtimestamp(0)]),
    ],
)
def test_results_become_python_values(sdk: ModuleType, value: Any, expected: Any) -> None:
    assert sdk.python_from_rpc(value) == expected


def test_a_result_object_also_reads_by_attribute(sdk: ModuleType) -> None:
    assert sdk.python_from_rpc(js({"a": {"b": 1}})).a.b == 1


def test_a_buffer_becomes_a_memoryview(sdk: ModuleType) -> None:
    assert sdk.python_from_rpc(Uint8Array.of(1, 2)).tobytes() == b"\1\2"


def test_an_error_becomes_an_exception(sdk: ModuleType) -> None:
    made = sdk.python_from_rpc(Error.new("boom"))
    assert (type(made), str(made)) == (Exception, "Error: boom")


def test_arguments_become_javascript_values(sdk: ModuleType) -> None:
    moment = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    made = sdk.python_to_rpc(
        {"l": [1, None], "d": moment, "e": ValueError("bad"), "b": b"x", "s": {1}, "f": len}
    )
    assert type(made) is JsObject
    assert made.l[1] is jsnull
    assert made.d.getTime() == 1577836800000
    assert (made.e.constructor.name, made.e.message) == ("Error", "bad")
    assert isinstance(made.b, Uint8Array)
    assert isinstance(made.s, JsSet)
    assert isinstance(made.f, JsDoubleProxy)
    assert made.f("ab") == 2


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ((1, 2), "<class 'tuple'> cannot be sent over RPC."),
        ([(1,)], "<class 'tuple'> cannot be sent over RPC."),
        (bytearray(b"x"), "<class 'bytearray'> cannot be sent over RPC."),
        (RegExp.new("a"), "RegExp cannot be sent over RPC."),
    ],
)
def test_arguments_that_the_sdk_refuses(sdk: ModuleType, value: Any, text: str) -> None:
    with pytest.raises(TypeError) as caught:
        sdk.python_to_rpc(value)
    assert str(caught.value) == text


@pytest.mark.parametrize("value", [1j, range(2), object()])
def test_arguments_that_only_the_clone_refuses(sdk: ModuleType, value: Any) -> None:
    with pytest.raises(JsException) as caught:
        structured_clone(sdk.python_to_rpc(value))
    assert str(caught.value).startswith("DataCloneError")


def test_bodies_of_bytes_travel_without_a_copy(sdk: ModuleType) -> None:
    data = b"x" * 100

    async def main() -> Any:
        return await sdk.Response(data).bytes()

    assert asyncio.run(main()) is data


def test_javascript_errors_become_python_ones(sdk: ModuleType) -> None:
    with pytest.raises(ValueError, match="redirect status"):
        sdk.Response.redirect("http://x/", 299)
