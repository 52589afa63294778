"""What a WebSocket refuses, and the words it uses."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyflare.js.error import JsException
from pyflare.js.response import Response
from pyflare.js.semantics import Semantics, semantics
from pyflare.js.value import jsnull
from pyflare.js.websocket import WebSocket
from pyflare.js.websocket_auto_response import WebSocketRequestResponsePair
from pyflare.js.websocket_pair import WebSocketPair

NOT_ACCEPTED = (
    "TypeError: You must call one of accept() or state.acceptWebSocket() on this WebSocket before "
    "sending messages."
)


def refusal(call: Any) -> str:
    with pytest.raises(JsException) as caught:
        call()
    return str(caught.value)


def closing(rules: Semantics, *arguments: Any) -> str | None:
    """What closing an accepted socket with these arguments raises."""

    async def test() -> str | None:
        semantics.set(rules)
        socket, _ = WebSocketPair.new()
        socket.accept()
        try:
            socket.close(*arguments)
        except JsException as error:
            return str(error)
        return None

    return asyncio.run(test())


def test_sending_and_closing_need_accept_first() -> None:
    socket, _ = WebSocketPair.new()
    assert refusal(lambda: socket.send("a")) == NOT_ACCEPTED
    assert refusal(lambda: socket.close(1000)) == NOT_ACCEPTED


def test_nothing_is_sent_after_the_own_close() -> None:
    async def test() -> None:
        socket, _ = WebSocketPair.new()
        socket.accept()
        socket.close(1000)
        expected = "TypeError: Can't call WebSocket send() after close()."
        assert refusal(lambda: socket.send("a")) == expected

    asyncio.run(test())


@pytest.mark.parametrize("code", [0, 999, 1004, 1005, 1006, 1015, 5000, -1, True, "soon", jsnull])
def test_codes_that_stand_for_events_or_for_nothing_cannot_be_sent(code: Any) -> None:
    number = {"soon": 0, True: 1, jsnull: 0}.get(code, code)
    expected = f"InvalidAccessError: Invalid WebSocket close code: {number}."
    assert closing(Semantics(), code) == expected


@pytest.mark.parametrize("code", [1000, 1001, 1003, 1007, 1014, 1016, 2999, 3000, 4999, "1000"])
def test_the_other_codes_between_1000_and_4999_can(code: Any) -> None:
    assert closing(Semantics(), code) is None


@pytest.mark.parametrize("code", [1001, 1011, 2000, 2999])
def test_pedantic_wpt_leaves_only_1000_and_3000_and_above(code: int) -> None:
    rules = Semantics(pedantic_close_codes=True)
    assert closing(rules, code) == f"InvalidAccessError: Invalid WebSocket close code: {code}."
    assert closing(rules, 1000) is None
    assert closing(rules, 3000) is None


def test_a_reason_needs_a_code() -> None:
    assert closing(Semantics(), None, "why") == (
        "InvalidAccessError: If you specify a WebSocket close reason, you must also specify a code."
    )


def test_a_reason_has_at_most_123_bytes_by_a_recent_date() -> None:
    rules = Semantics(close_reason_is_limited=True)
    assert closing(rules, 1000, "ü" * 61 + "x") is None
    assert closing(rules, 1000, "ü" * 62) == (
        "SyntaxError: WebSocket close reason must not be longer than 123 bytes when UTF-8 encoded."
    )
    assert closing(Semantics(), 1000, "ü" * 500) is None


def test_code_and_reason_are_checked_before_anything_else() -> None:
    socket, _ = WebSocketPair.new()
    assert "Invalid WebSocket close code" in refusal(lambda: socket.close(1))


def test_a_socket_that_was_given_away_cannot_be_accepted() -> None:
    socket, _ = WebSocketPair.new()
    socket.give_away()
    expected = "TypeError: Can't accept() WebSocket that was already used in a response."
    assert refusal(socket.accept) == expected


def test_a_socket_that_was_given_away_ignores_what_is_sent() -> None:
    socket, _ = WebSocketPair.new()
    socket.give_away()
    socket.send("ignored")
    socket.close(1000)


def test_a_socket_is_given_away_once_and_not_after_accept() -> None:
    async def test() -> None:
        client, server = WebSocketPair.new()
        server.accept()
        client.give_away()
        assert refusal(client.give_away) == (
            "TypeError: Can't return WebSocket that was already used in a response."
        )
        assert refusal(server.give_away) == (
            "TypeError: Can't return WebSocket in a Response after calling accept()."
        )

    asyncio.run(test())


def test_a_socket_of_the_constructor_is_neither_accepted_nor_given_away() -> None:
    async def test() -> None:
        socket = WebSocket.new("ws://127.0.0.1:1/")
        assert refusal(socket.accept) == (
            "TypeError: Websockets obtained from the 'new WebSocket()' constructor cannot call accept"
        )
        assert refusal(socket.give_away) == (
            "TypeError: Can't return WebSocket in a Response if it was created with `new WebSocket()`"
        )
        assert refusal(lambda: socket.send("a")) == NOT_ACCEPTED
        socket.close()
        await asyncio.sleep(0)

    asyncio.run(test())


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("no address", "The url is invalid."),
        ("", "The url is invalid."),
        ("http://a/", "The url scheme must be ws or wss."),
        ("ws://a/#part", "The url fragment must be empty."),
        ("wss://a/#", "The url fragment must be empty."),
    ],
)
def test_addresses_that_are_none(address: str, expected: str) -> None:
    text = refusal(lambda: WebSocket.new(address))
    assert text == f"SyntaxError: WebSocket Constructor: {expected}"


@pytest.mark.parametrize(
    ("protocols", "expected"),
    [
        ("", "The protocol header token is invalid."),
        ("a b", "The protocol header token is invalid."),
        (["a", "b,c"], "One of the protocol header tokens is invalid."),
        (["a", "é"], "One of the protocol header tokens is invalid."),
        (["a", "b", "a"], "The protocols header cannot have repeating values."),
    ],
)
def test_subprotocols_that_are_none(protocols: Any, expected: str) -> None:
    text = refusal(lambda: WebSocket.new("ws://a/", protocols))
    assert text == f"SyntaxError: WebSocket Constructor: {expected}"


def test_the_constructors_need_new() -> None:
    assert "Please use the 'new' operator" in refusal(lambda: WebSocket("ws://a/"))
    assert "Please use the 'new' operator" in refusal(WebSocketPair)


def test_a_response_with_a_socket_has_status_101_and_no_copy() -> None:
    socket, _ = WebSocketPair.new()
    assert refusal(lambda: Response.new(None, webSocket=socket)) == (
        "RangeError: Responses with a WebSocket must have status code 101."
    )
    response = Response.new(None, status=101, webSocket=socket)
    assert response.webSocket is socket
    assert refusal(response.clone) == (
        "TypeError: Cannot clone a response to a WebSocket handshake."
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda socket: socket.send(),
            "execute 'send' on 'WebSocket': parameter 1 is not of type "
            "'ArrayBuffer or ArrayBufferView or string'.",
        ),
        (
            lambda socket: socket.serializeAttachment(),
            "execute 'serializeAttachment' on 'WebSocket': parameter 1 is not of type 'Value'.",
        ),
        (
            lambda socket: socket.accept(5),
            "execute 'accept' on 'WebSocket': parameter 1 is not of type 'AcceptOptions'.",
        ),
        (
            lambda _: WebSocket.new(),
            "construct 'WebSocket': constructor parameter 1 is not of type 'string'.",
        ),
        (
            lambda _: WebSocketRequestResponsePair.new(),
            "construct 'WebSocketRequestResponsePair': constructor parameter 1 is not of type 'string'.",
        ),
        (
            lambda _: WebSocketRequestResponsePair.new("a"),
            "construct 'WebSocketRequestResponsePair': constructor parameter 2 is not of type 'string'.",
        ),
    ],
)
def test_an_argument_that_is_missing_or_wrong_is_named(call: Any, words: str) -> None:
    socket, _ = WebSocketPair.new()
    assert refusal(lambda: call(socket)) == f"TypeError: Failed to {words}"


@pytest.mark.parametrize("code", [2**31, 2**33, -(2**31) - 1])
def test_a_code_beyond_32_bits_is_no_code(code: int) -> None:
    assert closing(Semantics(), code) == (
        "TypeError: Value out of range. Must be between -2147483648 and 2147483647 (inclusive)."
    )
