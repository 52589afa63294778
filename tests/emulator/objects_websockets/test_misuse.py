"""Every refusal of the WebSocket part of ``ctx``, in the platform's words."""

from __future__ import annotations

import textwrap

import pytest

from pyflare.js.error import JsException

USED = (
    "Error: Cannot call `acceptWebSocket()` on this WebSocket because its pair has already been accepted or used in a "
    "Response."
)
ACCEPTED = (
    "Error: Cannot call `acceptWebSocket()` if the WebSocket was already accepted via `accept()`"
)
WRONG = (
    "TypeError: Failed to execute '{}' on 'DurableObjectState': parameter {} is not of type '{}'."
)
LONGEST = "t" * 256


def refusal(house, code: str) -> str | None:
    """What code raises in an object that has a fresh pair, ``client`` and ``server``; None without an exception."""
    source = f"""
    class Thing(DurableObject):
        async def attempt(self):
            ctx = self.ctx
            pair = js.WebSocketPair.new()
            client, server = pair
            pairs = js.WebSocketRequestResponsePair
            try:
{textwrap.indent(textwrap.dedent(code), " " * 16)}
            except Exception as error:
                return str(error)

        fetch = None
    """

    async def program(house):
        return await house.stub().attempt()

    return house(program, source)


class TestAccepting:
    @pytest.mark.parametrize(
        ("code", "text"),
        [
            ("server.accept(); ctx.acceptWebSocket(server)", ACCEPTED),
            ("ctx.acceptWebSocket(server); ctx.acceptWebSocket(server)", ACCEPTED),
            ("client.accept(); ctx.acceptWebSocket(server)", USED),
            ("ctx.acceptWebSocket(server); ctx.acceptWebSocket(client)", USED),
            (
                "kept = Response(None, status=101, web_socket=client)\n"
                "kept.js_object.webSocket.give_away(); ctx.acceptWebSocket(server)",
                USED,
            ),
            ('ctx.acceptWebSocket(js.WebSocket.new("ws://127.0.0.1:9"))', USED),
            (
                "client.give_away(); ctx.acceptWebSocket(client)",
                "Error: Tried to make an api::WebSocket hibernatable when it was in an incompatible state.",
            ),
            ("ctx.acceptWebSocket()", WRONG.format("acceptWebSocket", 1, "WebSocket")),
            ('ctx.acceptWebSocket("ws")', WRONG.format("acceptWebSocket", 1, "WebSocket")),
            ("ctx.acceptWebSocket(pair)", WRONG.format("acceptWebSocket", 1, "WebSocket")),
            ('ctx.acceptWebSocket(server, "tag")', WRONG.format("acceptWebSocket", 2, "Array")),
        ],
    )
    def test_a_socket_that_cannot_hibernate(self, house, code, text):
        assert refusal(house, code) == text

    @pytest.mark.parametrize(
        ("code", "text"),
        [
            (
                "ctx.acceptWebSocket(server); server.accept()",
                "TypeError: Can't accept() WebSocket after enabling hibernation.",
            ),
            (
                "ctx.acceptWebSocket(server); server.give_away()",
                "TypeError: Can't return WebSocket in a Response after calling acceptWebSocket().",
            ),
            (
                'server.send("x")',
                "TypeError: You must call one of accept() or state.acceptWebSocket() on this WebSocket before sending "
                "messages.",
            ),
            (
                'ctx.acceptWebSocket(server); server.close(); server.send("x")',
                "TypeError: Can't call WebSocket send() after close().",
            ),
            ("ctx.acceptWebSocket(server); server.close(); server.close()", None),
            (
                "ctx.acceptWebSocket(server); server.close(1005)",
                "InvalidAccessError: Invalid WebSocket close code: 1005.",
            ),
        ],
    )
    def test_a_socket_that_hibernates(self, house, code, text):
        assert refusal(house, code) == text

    def test_the_wrong_end_in_the_response_is_named(self, house):
        source = """
            class Thing(DurableObject):
                async def fetch(self, request):
                    client, server = js.WebSocketPair.new()
                    self.ctx.acceptWebSocket(server)
                    return Response(None, status=101, web_socket=server)
        """

        async def program(house):
            with pytest.raises(OSError) as caught:
                await house.connect()
            return str(caught.value)

        assert house(program, source) == (
            "Can't return WebSocket in a Response after calling acceptWebSocket()."
        )

    def test_more_than_32768_sockets(self, house):
        text = refusal(
            house,
            "for _ in range(32768):\n"
            "    ctx.acceptWebSocket(js.WebSocketPair.new().object_values()[1])\n"
            "ctx.acceptWebSocket(server)",
        )
        assert text == (
            "Error: only 32768 websockets can be accepted on a single Durable Object instance"
        )


class TestTags:
    @pytest.mark.parametrize(
        ("tags", "text"),
        [
            ([str(n) for n in range(10)], None),
            (
                [str(n) for n in range(11)],
                "Error: a Hibernatable WebSocket cannot have more than 10 tags",
            ),
            (
                [*(str(n) for n in range(10)), "0"],
                "Error: a Hibernatable WebSocket cannot have more than 10 tags",
            ),
            (["0", *(str(n) for n in range(10))], None),
            ([LONGEST], None),
            (
                [LONGEST + "t"],
                f'Error: "{LONGEST}t" is longer than the max tag length (256 characters).',
            ),
            (
                ["é" * 129],
                f'Error: "{"é" * 129}" is longer than the max tag length (256 characters).',
            ),
        ],
        ids=["ten", "eleven", "an eleventh again", "two equal", "256", "257", "258 in UTF-8"],
    )
    def test_their_number_and_length(self, house, tags, text):
        assert refusal(house, f"ctx.acceptWebSocket(server, {tags!r})") == text

    def test_a_refused_socket_can_still_be_accepted(self, house):
        code = """
            try:
                ctx.acceptWebSocket(server, ["x" * 257])
            except Exception:
                pass
            assert len(ctx.getWebSockets()) == 0
            ctx.acceptWebSocket(server)
        """
        assert refusal(house, code) is None

    @pytest.mark.parametrize(
        ("code", "text"),
        [
            (
                "ctx.getTags(server)",
                "Error: you must call 'acceptWebSocket()' before attempting to access the tags of a WebSocket.",
            ),
            (
                "server.accept(); ctx.getTags(server)",
                "Error: only hibernatable websockets can have tags.",
            ),
            ("ctx.getTags(None)", WRONG.format("getTags", 1, "WebSocket")),
        ],
    )
    def test_tags_of_another_socket(self, house, code, text):
        assert refusal(house, code) == text


class TestAttachments:
    def test_up_to_16384_bytes_as_they_are_kept(self, house):
        # Two bytes of header, one of the kind, two of the length.
        assert refusal(house, 'server.serializeAttachment("x" * (16384 - 5))') is None
        assert refusal(house, 'server.serializeAttachment("x" * (16384 - 4))') == (
            "Error: A WebSocket 'attachment' cannot be larger than 16384 bytes.'attachment' was 16385 bytes."
        )

    def test_what_cannot_be_cloned(self, house):
        assert "DataCloneError" in refusal(house, "server.serializeAttachment(lambda: 1)")

    def test_none_is_null(self, house):
        assert (
            refusal(house, "assert server.deserializeAttachment() is js.JSON.parse('null')") is None
        )


class TestAutoResponse:
    @pytest.mark.parametrize(
        ("code", "text"),
        [
            ('ctx.setWebSocketAutoResponse(pairs.new("é" * 1024, "x" * 2048))', None),
            (
                'ctx.setWebSocketAutoResponse(pairs.new("é" * 1024 + "e", "y"))',
                "RangeError: Request cannot be larger than 2048 bytes. A request of size 2049 was provided.",
            ),
            (
                'ctx.setWebSocketAutoResponse(pairs.new("x", "y" * 2049))',
                "RangeError: Response cannot be larger than 2048 bytes. A response of size 2049 was provided.",
            ),
            (
                'ctx.setWebSocketAutoResponse("ping")',
                WRONG.format("setWebSocketAutoResponse", 1, "WebSocketRequestResponsePair"),
            ),
            (
                "ctx.getWebSocketAutoResponseTimestamp(1)",
                WRONG.format("getWebSocketAutoResponseTimestamp", 1, "WebSocket"),
            ),
            ("assert not ctx.getWebSocketAutoResponse()", None),
            ("assert not ctx.getWebSocketAutoResponseTimestamp(server)", None),
        ],
    )
    def test_what_may_be_set(self, house, code, text):
        assert refusal(house, code) == text


class TestEventLimit:
    @pytest.mark.parametrize(
        ("code", "text"),
        [
            ("ctx.setHibernatableWebSocketEventTimeout(604800000)", None),
            (
                "ctx.setHibernatableWebSocketEventTimeout(604800001)",
                "Error: Event timeout should not exceed 604800000 ms.",
            ),
            (
                "ctx.setHibernatableWebSocketEventTimeout(-1)",
                "TypeError: Value out of range. Must be between 0 and 4294967295 (inclusive).",
            ),
            ("assert not ctx.getHibernatableWebSocketEventTimeout()", None),
            (
                "ctx.setHibernatableWebSocketEventTimeout(100)\n"
                "assert ctx.getHibernatableWebSocketEventTimeout() == 100\n"
                "ctx.setHibernatableWebSocketEventTimeout()\n"
                "assert not ctx.getHibernatableWebSocketEventTimeout()",
                None,
            ),
        ],
    )
    def test_what_may_be_set(self, house, code, text):
        assert refusal(house, code) == text


class TestAnswering:
    @pytest.mark.parametrize("headers", [{}, {"Upgrade": "h2c"}])
    def test_a_socket_that_nobody_asked_for_is_the_objects_failure(self, house, headers):
        async def program(house):
            with pytest.raises(JsException, match="did not contain the header") as caught:
                await house.stub()._binding.fetch("http://object/", headers=headers.items())
            return caught.value

        error = house(program)
        assert (error.name, error.durableObjectId is None) == ("TypeError", False)
        assert error.message == (
            "Worker tried to return a WebSocket in a response to a request which did not contain the header "
            '"Upgrade: websocket".'
        )
