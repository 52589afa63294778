"""``structuredClone``: what is copied and what is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from pyflare.js.array import JsArray
from pyflare.js.buffer import ArrayBuffer, DataView, Uint8Array, Uint16Array
from pyflare.js.collections import JsMap, JsSet
from pyflare.js.date import Date
from pyflare.js.error import DOMException, Error, JsException, RangeError
from pyflare.js.headers import Headers
from pyflare.js.number import Number
from pyflare.js.promise import resolved
from pyflare.js.proxy import create_proxy
from pyflare.js.regexp import RegExp
from pyflare.js.string import Boolean, String
from pyflare.js.structured_clone import structured_clone
from pyflare.js.symbol import Symbol
from pyflare.js.value import JsObject, jsnull
from pyflare.js.weak import WeakMap


@pytest.mark.parametrize("value", [1, 1.5, "x", True, None, jsnull, 2**70])
def test_primitives_pass(value: Any) -> None:
    assert structured_clone(value) is value


def test_objects_and_arrays_are_copied_deeply() -> None:
    source = JsObject.adopt({"a": JsArray.adopt([JsObject.adopt({"b": 1}), None, jsnull])})
    copy = structured_clone(source)
    assert copy.to_py() == source.to_py()
    assert copy is not source
    assert copy.a[0] is not source.a[0]


def test_cycles_and_shared_parts_are_kept() -> None:
    shared = JsArray.adopt([1])
    source = JsObject.adopt({"one": shared, "two": shared, "map": JsMap.new([["k", shared]])})
    source.self = source
    copy = structured_clone(source)
    assert copy.self is copy
    assert copy.one is copy.two is copy.map.get("k")


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        (Date.new(5), lambda copy: copy.getTime() == 5),
        (
            JsMap.new([["a", 1], [True, 2]]),
            lambda copy: list(copy.items()) == [("a", 1), (True, 2)],
        ),
        (JsSet.new([1, "x"]), lambda copy: list(copy) == [1, "x"]),
        (RegExp.new("a", "g"), lambda copy: str(copy) == "/a/g"),
        (Number.new(3), lambda copy: copy.valueOf() == 3),
        (String.new("s"), lambda copy: copy.valueOf() == "s"),
        (Boolean.new(True), lambda copy: copy.valueOf() is True),
        (Uint16Array.of(1, 2), lambda copy: list(copy) == [1, 2]),
        (ArrayBuffer.adopt(b"ab"), lambda copy: copy.to_bytes() == b"ab"),
        (DataView.new(ArrayBuffer.adopt(b"abc"), 1), lambda copy: copy.to_bytes() == b"bc"),
    ],
    ids=lambda value: getattr(getattr(value, "constructor", None), "name", None),
)
def test_built_in_classes_are_copied(value: Any, seen: Callable[[Any], bool]) -> None:
    copy = structured_clone(value)
    assert type(copy) is type(value)
    assert copy is not value
    assert seen(copy)


def test_a_copied_buffer_is_independent() -> None:
    source = Uint8Array.of(1)
    copy = structured_clone(source)
    copy[0] = 2
    assert source[0] == 1


def test_views_of_one_buffer_stay_views_of_one_buffer() -> None:
    whole = Uint8Array.of(1, 2, 3)
    copy = structured_clone(JsArray.adopt([whole, whole.subarray(1)]))
    copy[0][1] = 9
    assert list(copy[1]) == [9, 3]


def test_errors_keep_standard_names_message_stack_and_cause() -> None:
    source = RangeError.new("out", cause=Error.new("why"))
    copy = structured_clone(source)
    assert (type(copy), str(copy), copy.stack, copy.cause.message) == (
        RangeError,
        "RangeError: out",
        source.stack,
        "why",
    )


def test_an_error_with_a_name_of_its_own_becomes_a_plain_error() -> None:
    assert str(structured_clone(JsException("MyError", "m"))) == "Error: m"


def test_a_dom_exception_keeps_its_name() -> None:
    assert structured_clone(DOMException.new("m", "AbortError")).name == "AbortError"


def test_transfer_moves_a_buffer() -> None:
    source = Uint8Array.of(1, 2)
    copy = structured_clone(source, JsObject.adopt({"transfer": JsArray.adopt([source.buffer])}))
    assert (list(copy), source.length, source.buffer.detached) == ([1, 2], 0, True)


def test_a_clone_that_fails_transfers_nothing() -> None:
    buffer = Uint8Array.of(1).buffer
    with pytest.raises(DOMException):
        structured_clone(JsArray.adopt([buffer, print]), transfer=[buffer])
    assert not buffer.detached


def _promise() -> Any:
    async def make() -> Any:
        return resolved(1)

    return asyncio.run(make())


def function() -> None:
    """A function to refuse."""


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: function, "function function() { [native code] } could not be cloned."),
    (lambda: Symbol("x"), "Symbol(x) could not be cloned."),
    (_promise, "#<Promise> could not be cloned."),
    (lambda: WeakMap.new(), "#<WeakMap> could not be cloned."),
    (lambda: Date, "function Date() { [native code] } could not be cloned."),
    (lambda: {"a": 1}, "#<Object> could not be cloned."),
    (lambda: b"bytes", "#<Object> could not be cloned."),
    (lambda: 1j, "#<Object> could not be cloned."),
    (lambda: create_proxy({}), "#<Object> could not be cloned."),
    (
        lambda: Headers.new(),
        'Could not serialize object of type "Headers". This type does not support serialization.',
    ),
]


@pytest.mark.parametrize(
    ("make", "text"), REFUSED, ids=[text.partition(" could")[0] for _, text in REFUSED]
)
def test_what_cannot_be_copied_is_refused_also_deep_inside(
    make: Callable[[], Any], text: str
) -> None:
    with pytest.raises(DOMException) as caught:
        structured_clone(JsObject.adopt({"inner": JsArray.adopt([make()])}))
    assert str(caught.value) == f"DataCloneError: {text}"
    assert caught.value.code == 25


@pytest.mark.parametrize(
    ("transfer", "text"),
    [
        ([Uint8Array.of(1)], "Value not transferable"),
        (
            [ArrayBuffer.new(1)] * 2,
            "An ArrayBuffer is detached or is listed twice and could not be transferred.",
        ),
    ],
)
def test_bad_transfers_are_refused(transfer: list[Any], text: str) -> None:
    with pytest.raises(DOMException) as caught:
        structured_clone(JsArray.adopt([]), transfer=transfer)
    assert caught.value.message == text


def test_a_detached_buffer_cannot_be_copied() -> None:
    buffer = ArrayBuffer.new(1)
    buffer.transfer()
    with pytest.raises(DOMException, match="#<ArrayBuffer> could not be cloned"):
        structured_clone(buffer)


def test_a_host_may_carry_what_the_clone_refuses() -> None:
    copy = structured_clone(
        JsArray.adopt([function, function]), host=lambda value: f"stub of {value.__name__}"
    )
    assert list(copy) == ["stub of function", "stub of function"]


def test_what_is_nested_too_deeply_is_refused() -> None:
    value: Any = JsArray.adopt([])
    for _ in range(100_000):
        value = JsArray.adopt([value])
    with pytest.raises(DOMException, match="Maximum call stack size exceeded"):
        structured_clone(value)
    while value.length:  # taken apart by hand, as Python frees nested objects recursively
        value = value.pop()


def test_headers_and_blobs_are_copied_by_the_global_function() -> None:
    from pyflare.js.blob import Blob
    from pyflare.js.headers import Headers
    from pyflare.js.structured_clone import structuredClone

    held = JsObject.adopt(
        {"headers": Headers.new({"a": "1"}.items()), "blob": Blob.of(b"abc", "text/x")}
    )
    made = structuredClone(held)
    held.headers.set("a", "2")
    assert made.headers.get("a") == "1"
    assert (made.blob.size, made.blob.type) == (3, "text/x")


def test_files_and_responses_are_not_copied() -> None:
    from pyflare.js.blob import File
    from pyflare.js.response import Response
    from pyflare.js.structured_clone import structuredClone

    with pytest.raises(JsException, match='object of type "File"'):
        structuredClone(File.named(b"", "n", ""))
    with pytest.raises(JsException, match="ReadableStream can only be serialized for RPC"):
        structuredClone(Response.new("x"))
