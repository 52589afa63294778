"""Mappings of Python's where JavaScript's classes take headers or parameters: it walks over their keys."""

from __future__ import annotations

import http.client
from collections import OrderedDict
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import pytest

from pyflare.js.array import JsArray
from pyflare.js.collections import JsMap, JsSet
from pyflare.js.error import JsException
from pyflare.js.fetch import fetch, outbound
from pyflare.js.headers import Headers
from pyflare.js.proxy import create_proxy
from pyflare.js.request import Request
from pyflare.js.response import Response
from pyflare.js.searchparams import URLSearchParams
from pyflare.js.semantics import PYODIDE_0_26, semantics
from pyflare.js.value import JsObject

REFUSED = "TypeError: Incorrect type: the provided value is not of type 'Sequence'."


def message() -> http.client.HTTPMessage:
    """Headers as the SDK's requests and responses have them."""
    made = http.client.HTTPMessage()
    made["Accept"] = "1"
    return made


class Init:
    """A Python object with ``headers``, such as a request or response of the SDK."""

    headers = message()


TAKERS: dict[str, Callable[[Any], Any]] = {
    "Headers": Headers.new,
    "Response with keywords": lambda given: Response.new("x", headers=given),
    "Response with a dict": lambda given: Response.new("x", {"status": 201, "headers": given}),
    "Response with an object": lambda given: Response.new("x", JsObject.adopt({"headers": given})),
    "Response.json": lambda given: Response.json(1, headers=given),
    "Request": lambda given: Request.new("http://a/", headers=given),
    "Request with a dict": lambda given: Request.new("http://a/", {"headers": given}),
    "URLSearchParams": URLSearchParams.new,
}


def refusal(function: Callable[..., Any], *args: Any) -> str:
    with pytest.raises(JsException) as caught:
        function(*args)
    return str(caught.value)


def entries(made: Any) -> list[list[str]]:
    """What was given, without the content type of the body."""
    held = made if hasattr(made, "append") else made.headers
    return [[n, v] for n, v in (list(pair) for pair in held.entries()) if n != "content-type"]


@pytest.mark.parametrize("take", TAKERS.values(), ids=TAKERS)
@pytest.mark.parametrize(
    "given",
    [
        {"Accept": "1"},
        {"ab": "1"},
        OrderedDict(Accept="1"),
        MappingProxyType({"Accept": "1"}),
        message(),
        create_proxy({"Accept": "1"}),
        ["ab"],
        JsArray.adopt(["ab"]),
        JsSet.new(["ab"]),
        [("a", "b"), "ab"],
        [5],
        [None],
    ],
    ids=[
        "dict",
        "two letters",
        "ordered",
        "view",
        "message",
        "proxy",
        "list of text",
        "array of text",
        "set of text",
        "mixed",
        "numbers",
        "nothing",
    ],
)
def test_a_walk_that_gives_no_sequences_is_refused(take: Callable[[Any], Any], given: Any) -> None:
    assert refusal(take, given) == REFUSED


@pytest.mark.parametrize("take", TAKERS.values(), ids=TAKERS)
@pytest.mark.parametrize(
    "given",
    [
        {"a": "1"}.items(),
        [("a", "1")],
        (["a", "1"],),
        {("a", "1"): "pairs as keys"},
        JsArray.adopt([JsArray.adopt(["a", "1"])]),
        JsMap.new([["a", "1"]]),
        JsObject.adopt({"a": "1"}),
        create_proxy([("a", "1")]),
    ],
    ids=["items", "pairs", "tuple", "keys", "arrays", "map", "object", "proxy of pairs"],
)
def test_pairs_maps_and_plain_objects_are_taken(take: Callable[[Any], Any], given: Any) -> None:
    assert entries(take(given)) == [["a", "1"]]


@pytest.mark.parametrize("take", TAKERS.values(), ids=TAKERS)
def test_an_empty_dict_is_an_empty_walk(take: Callable[[Any], Any]) -> None:
    assert entries(take({})) == []


@pytest.mark.parametrize(
    "make",
    [lambda: Request.new("http://a/", Init()), lambda: Response.new("x", Init())],
    ids=["Request", "Response"],
)
def test_the_headers_of_a_python_object_are_read_and_refused(make: Callable[[], Any]) -> None:
    assert refusal(make) == REFUSED


def test_fetch_rejects_a_dict_as_headers() -> None:
    import asyncio

    async def answer(request: Request) -> Response:
        return Response.new(request.headers.get("a"))

    async def main() -> str:
        outbound.set(answer)
        with pytest.raises(JsException) as caught:
            await fetch("http://a/", headers={"a": "1"})
        assert str(caught.value) == REFUSED
        return await (await fetch("http://a/", headers={"a": "1"}.items())).text()

    assert asyncio.run(main()) == "1"


def test_the_refusal_of_a_mapping_says_what_to_do() -> None:
    with pytest.raises(JsException) as caught:
        Headers.new({"a": "1"})
    (note,) = caught.value.__notes__
    assert "items()" in note
    assert "to_js({...}, dict_converter=Object.fromEntries)" in note


@pytest.mark.parametrize("given", ["ab", 5, True])
@pytest.mark.parametrize(
    ("take", "text"),
    [
        (Headers.new, "Failed to construct 'Headers': constructor parameter 1 is"),
        (
            TAKERS["Response with keywords"],
            "Incorrect type for the 'headers' field on 'InitializerDict': the provided value is",
        ),
        (
            TAKERS["Request"],
            "Incorrect type for the 'headers' field on 'RequestInitializerDict': the provided value is",
        ),
    ],
    ids=["Headers", "Response", "Request"],
)
def test_plain_values_are_no_headers(take: Callable[[Any], Any], text: str, given: Any) -> None:
    expected = f"TypeError: {text} not of type 'Headers or Sequence or object'."
    assert refusal(take, given) == expected


def test_the_oldest_dates_take_a_dict() -> None:
    token = semantics.set(PYODIDE_0_26)
    try:
        assert Headers.new({"a": "1"}).get("a") == "1"
        assert URLSearchParams.new({"a": "1"}).toString() == "a=1"
    finally:
        semantics.reset(token)
