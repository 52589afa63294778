"""The stand-in for the network."""

from typing import Any

import httpx
import pytest

from pyflare.testing import Outside
from pyflare.testing.outside import UnexpectedRequest


def ask(outside: Outside, url: str, method: str = "GET") -> Any:
    return outside(httpx.Request(method, url)).text


def test_the_whole_url_or_its_beginning_is_answered() -> None:
    outside = Outside()
    outside.get("https://a.test/x", text="x")
    outside.get("https://a.test/y?b=1", text="y1")
    outside.answer("*", "https://b.test/*", text="all")

    assert ask(outside, "https://a.test/x?any=1") == "x"
    assert ask(outside, "https://a.test/y?b=1") == "y1"
    assert ask(outside, "https://b.test/deep/er", "DELETE") == "all"
    assert str(outside.requests[0].url) == "https://a.test/x?any=1"


def test_the_last_answer_wins_as_often_as_it_may() -> None:
    outside = Outside()
    outside.post("https://a.test/", text="always")
    outside.post("https://a.test/", text="once", times=1)

    assert [ask(outside, "https://a.test/", "POST") for _ in range(3)] == [
        "once",
        "always",
        "always",
    ]


def test_a_function_may_answer() -> None:
    outside = Outside()
    outside.call("put", "https://a.test/", lambda request: httpx.Response(200, text=request.method))

    assert ask(outside, "https://a.test/", "PUT") == "PUT"


@pytest.mark.parametrize(
    ("method", "url"), [("GET", "https://a.test/y"), ("POST", "https://a.test/x")]
)
def test_what_was_not_prepared_is_named(method: str, url: str) -> None:
    outside = Outside()
    outside.get("https://a.test/x")

    with pytest.raises(UnexpectedRequest, match=f"asked for {method} {url}; prepared is GET"):
        ask(outside, url, method)


def test_an_error_is_raised_in_place_of_an_answer() -> None:
    outside = Outside()
    outside.get("https://a.test/", error=httpx.ConnectError("gone"))

    with pytest.raises(httpx.ConnectError):
        ask(outside, "https://a.test/")
