"""The handlers of hibernatable sockets."""

from __future__ import annotations

import pytest

from pyflare.js.error import Error
from tests.emulator.conftest import DATE

from .conftest import ROOM, Peer, turns, until

OLD = "2026-01-01"

NOTING = """
    class Thing(DurableObject):
        async def fetch(self, request):
            client, server = js.WebSocketPair.new()
            self.ctx.acceptWebSocket(server, ["tag"])
            return Response(None, status=101, web_socket=client)

        def note(self, *what):
            noted = self.ctx.storage.kv.get("noted") or []
            self.ctx.storage.kv.put("noted", [*noted, list(what)])

        async def webSocketMessage(self, ws, message):
            if message == "close":
                ws.close(4000, "told to")
            self.note("message", message)

        async def webSocketClose(self, ws, code, reason, clean):
            self.note(
                "close", code, reason, clean, ws.readyState, len(self.ctx.getWebSockets()),
                list(self.ctx.getTags(ws))
            )

        async def webSocketError(self, ws, error):
            self.note("error", str(error), ws.readyState, len(self.ctx.getWebSockets()))

        async def noted(self):
            return self.ctx.storage.kv.get("noted") or []

        async def listed(self):
            return [len(self.ctx.getWebSockets()), len(self.ctx.getWebSockets("tag"))]
"""


class TestMessages:
    @pytest.mark.parametrize("message", ["text", "", "é€😀", "x" * 1_000_000, b"\x00\xff", b""])
    def test_text_stays_text_and_bytes_arrive_as_a_buffer(self, house, message):
        source = """
            class Thing(DurableObject):
                async def fetch(self, request):
                    client, server = js.WebSocketPair.new()
                    self.ctx.acceptWebSocket(server)
                    return Response(None, status=101, web_socket=client)

                async def webSocketMessage(self, ws, message):
                    ws.send("str" if isinstance(message, str) else message.constructor.name)
                    ws.send(message)
        """

        async def program(house):
            peer = await house.connect()
            peer.send(message)
            await turns()
            return peer.messages

        kind = "str" if isinstance(message, str) else "ArrayBuffer"
        assert house(program, source) == [kind, message]

    def test_a_thousand_arrive_in_order(self, house):
        async def program(house):
            peer = await house.connect()
            for number in range(1000):
                peer.send(str(number))
            await until(lambda: len(peer.messages) == 1000)
            return peer.messages

        assert house(program) == [f"1 {number + 1} {number}" for number in range(1000)]

    def test_the_next_begins_while_a_handler_waits(self, house):
        source = """
            class Thing(DurableObject):
                async def fetch(self, request):
                    client, server = js.WebSocketPair.new()
                    self.ctx.acceptWebSocket(server)
                    self.second = asyncio.Event()
                    return Response(None, status=101, web_socket=client)

                async def webSocketMessage(self, ws, message):
                    ws.send(f"begin {message}")
                    if message == "1":
                        await self.second.wait()
                    else:
                        self.second.set()
                    ws.send(f"end {message}")
        """

        async def program(house):
            peer = await house.connect()
            peer.send("1")
            peer.send("2")
            await turns()
            return peer.messages

        assert house(program, source) == ["begin 1", "begin 2", "end 2", "end 1"]

    def test_a_critical_section_holds_them_back_in_order(self, house):
        source = """
            class Thing(DurableObject):
                async def fetch(self, request):
                    client, server = js.WebSocketPair.new()
                    self.ctx.acceptWebSocket(server)
                    return Response(None, status=101, web_socket=client)

                async def webSocketMessage(self, ws, message):
                    async def section():
                        ws.send(f"begin {message}")
                        await asyncio.sleep(0.001)
                        ws.send(f"end {message}")

                    await self.ctx.blockConcurrencyWhile(section)
        """

        async def program(house):
            peer = await house.connect()
            for number in range(10):
                peer.send(str(number))
            await until(lambda: len(peer.messages) == 20)
            return peer.messages

        expected = [f"{what} {number}" for number in range(10) for what in ("begin", "end")]
        assert house(program, source) == expected

    def test_handlers_may_be_plain_functions_that_wait(self, house):
        source = ROOM.replace(
            "async def webSocketMessage(self, ws, message):",
            "def webSocketMessage(self, ws, message):\n"
            "            from pyodide.ffi import run_sync\n"
            "            run_sync(asyncio.sleep(0))",
        )

        async def program(house):
            peer = await house.connect()
            peer.send("x")
            await turns()
            return peer.messages

        assert house(program, source) == ["1 1 x"]

    def test_a_handler_takes_as_many_arguments_as_it_likes(self, house):
        source = """
            class Thing(DurableObject):
                async def fetch(self, request):
                    client, server = js.WebSocketPair.new()
                    self.ctx.acceptWebSocket(server)
                    return Response(None, status=101, web_socket=client)

                async def webSocketMessage(self, ws):
                    ws.send("heard")
        """

        async def program(house):
            peer = await house.connect()
            peer.send("x")
            await turns()
            return peer.messages

        assert house(program, source) == ["heard"]

    def test_missing_handlers_are_passed_over(self, house, run):
        source = """
            class Thing(DurableObject):
                async def fetch(self, request):
                    client, server = js.WebSocketPair.new()
                    self.ctx.acceptWebSocket(server)
                    return Response(None, status=101, web_socket=client)

                async def listed(self):
                    return len(self.ctx.getWebSockets())
        """

        async def program(house):
            peer = await house.connect()
            peer.send("x")
            await turns()
            before = await house.stub().listed()
            peer.close(1000)
            await turns()
            return before, await house.stub().listed(), peer.closes

        assert house(program, source) == (1, 0, [(1000, "", True)])
        assert run.err.text == ""

    def test_with_an_early_date_handlers_are_found_by_the_old_prefix(self, house):
        source = ROOM.replace("webSocketMessage", "on_webSocketMessage").replace(
            "def fetch", "def on_fetch"
        )

        async def program(house):
            peer = await house.connect()
            peer.send("x")
            await turns()
            return peer.messages

        assert house(program, source, compatibility_date="2025-06-01") == ["1 1 x"]

    def test_with_an_early_date_a_handler_without_the_prefix_is_an_error(self, house, run):
        source = ROOM.replace("def fetch", "def on_fetch")

        async def program(house):
            peer = await house.connect()
            peer.send("x")
            await turns()
            return peer.messages

        assert house(program, source, compatibility_date="2025-06-01") == []
        assert "TypeError: Method on_webSocketMessage does not exist" in run.err.text
        assert "Rename Thing.webSocketMessage to on_webSocketMessage" in run.err.text

    def test_an_exception_is_logged_and_object_and_socket_stay(self, house, run):
        source = ROOM.replace(
            "self.in_memory.append(message)",
            "self.in_memory.append(message)\n"
            '            if message == "bad": raise ValueError("what is that")',
        )

        async def program(house):
            peer = await house.connect()
            for message in ("good", "bad", "good"):
                peer.send(message)
            await turns()
            return peer.messages, list(peer.closes)

        assert house(program, source) == (["1 1 good", "1 3 good"], [])
        assert run.err.text.count("Uncaught ValueError: what is that") == 1
        assert "webSocketMessage" in run.err.text

    @pytest.mark.parametrize(
        "ending", ["raise SystemExit(3)", "asyncio.current_task().cancel(); await asyncio.sleep(1)"]
    )
    def test_an_event_that_ends_itself_does_not_end_what_delivers_the_next(
        self, house, run, ending
    ):
        source = ROOM.replace(
            "self.in_memory.append(message)",
            f'self.in_memory.append(message)\n            if message == "bad": {ending}',
        )

        async def program(house):
            peer = await house.connect()
            for message in ("good", "bad", "good"):
                peer.send(message)
            await turns()
            return peer.messages[-1].split()[-1], len(peer.messages), list(peer.closes)

        assert house(program, source) == ("good", 2, [])
        assert run.err.text.count("Uncaught") == 1

    def test_a_peer_that_floods_a_waiting_handler_is_held_back(self, house):
        source = """
            class Thing(DurableObject):
                running = 0

                async def fetch(self, request):
                    client, server = js.WebSocketPair.new()
                    self.ctx.acceptWebSocket(server)
                    self.free = asyncio.Event()
                    return Response(None, status=101, web_socket=client)

                async def webSocketMessage(self, ws, message):
                    self.running += 1
                    await self.free.wait()
                    ws.send(message)

                async def at_work(self):
                    return self.running

                async def go_on(self):
                    self.free.set()
        """

        async def program(house):
            peer = await house.connect()
            for number in range(1000):
                peer.send(str(number))
            await turns(2000)
            running, waiting = await house.stub().at_work(), peer.socket._end._peer.waiting
            await house.stub().go_on()
            await until(lambda: len(peer.messages) == 1000)
            return running, waiting, peer.messages == [str(number) for number in range(1000)]

        assert house(program, source) == (128, 872, True)


class TestEndings:
    @pytest.mark.parametrize(
        ("ending", "seen"),
        [
            (lambda peer: peer.close(1000, "done"), [1000, "done", True]),
            (lambda peer: peer.close(4001, "x" * 123), [4001, "x" * 123, True]),
            (lambda peer: peer.close(), [1005, "", True]),
            (
                lambda peer: peer.vanish(),
                [1006, "WebSocket disconnected without sending Close frame.", False],
            ),
        ],
        ids=["1000", "4001", "no code", "vanished"],
    )
    @pytest.mark.parametrize("asleep", [False, True])
    def test_the_object_hears_of_each_once_and_the_socket_is_gone(
        self, house, ending, seen, asleep
    ):
        async def program(house):
            staying, peer = await house.connect(), await house.connect()
            if asleep:
                await house.sleep()
            ending(peer)
            await turns()
            staying.send("after")
            await turns()
            return await house.stub().noted(), await house.stub().listed()

        noted, listed = house(program, NOTING)
        assert noted == [["close", *seen, noted[0][4], 2, ["tag"]], ["message", "after"]]
        assert listed == [1, 1]

    def test_a_close_frame_is_answered_with_its_own_code(self, house):
        async def program(house):
            peer = await house.connect()
            peer.close(4001, "bye")
            await turns()
            return peer.closes, (await house.stub().noted())[0][4]

        assert house(program, NOTING) == ([(4001, "bye", True)], 3)

    def test_before_that_date_the_object_has_to_answer(self, house):
        source = NOTING.replace(
            "async def webSocketClose(self, ws, code, reason, clean):",
            "async def webSocketClose(self, ws, code, reason, clean):\n"
            '            ws.close(code, "answer to " + reason)',
        )

        async def program(house):
            peer = await house.connect()
            peer.close(4001, "bye")
            await turns()
            return peer.closes, (await house.stub().noted())[0][4]

        assert house(program, source, compatibility_date=OLD) == (
            [(4001, "answer to bye", True)],
            3,
        )

    def test_a_close_frame_that_nobody_answers_ends_in_a_broken_connection(self, house):
        async def program(house):
            peer = await house.connect()
            peer.close(4001, "bye")
            await turns()
            return peer.closes, (await house.stub().noted())[0][4], await house.stub().listed()

        closes, state, listed = house(program, NOTING, compatibility_date=OLD)
        assert (closes[0][0], closes[0][2], state, listed) == (1006, False, 2, [0, 0])

    def test_a_socket_that_the_object_closes_is_listed_until_the_peer_has_answered(self, house):
        async def program(house):
            response = await house.stub().fetch("http://x", headers={"Upgrade": "websocket"})
            socket = response.js_object.webSocket
            # What is sent before the peer reads waits for it.
            socket._end.send("close")
            await turns()
            before = await house.stub().listed()
            peer = Peer(socket)
            await turns()
            return before, await house.stub().listed(), peer.closes, await house.stub().noted()

        before, after, closes, noted = house(program, NOTING)
        assert (before, after) == ([1, 1], [0, 0])
        assert closes == [(4000, "told to", True)]
        assert noted[1:] == [["close", 4000, "told to", True, 3, 1, ["tag"]]]

    def test_it_stays_listed_until_the_handler_has_ended(self, house):
        source = NOTING.replace(
            "async def webSocketClose(self, ws, code, reason, clean):",
            "async def webSocketClose(self, ws, code, reason, clean):\n"
            "            await asyncio.sleep(0)\n"
            '            self.note("waited", len(self.ctx.getWebSockets()))',
        )

        async def program(house):
            peer = await house.connect()
            peer.close(1000)
            await turns()
            return [entry[:2] for entry in await house.stub().noted()], await house.stub().listed()

        assert house(program, source) == ([["waited", 1], ["close", 1000]], [0, 0])

    def test_what_breaks_the_protocol_is_an_error_event(self, house):
        async def program(house):
            peer = await house.connect()
            peer.socket._end.leave(Error._make("a broken frame"))
            await turns()
            return await house.stub().noted(), await house.stub().listed()

        assert house(program, NOTING) == ([["error", "Error: a broken frame", 3, 1]], [0, 0])

    def test_messages_before_the_close_frame_come_before_it(self, house):
        async def program(house):
            peer = await house.connect()
            await house.sleep()
            for number in range(5):
                peer.send(str(number))
            peer.close(1000)
            await turns()
            return [entry[1] for entry in await house.stub().noted()]

        assert house(program, NOTING) == ["0", "1", "2", "3", "4", 1000]

    def test_an_exception_in_the_close_handler_is_logged_and_the_socket_is_gone(self, house, run):
        source = NOTING.replace(
            "async def webSocketClose(self, ws, code, reason, clean):",
            "async def webSocketClose(self, ws, code, reason, clean):\n"
            '            raise ValueError("in the close handler")',
        )

        async def program(house):
            peer = await house.connect()
            peer.close(1000)
            await turns()
            return await house.stub().listed()

        assert house(program, source) == [0, 0]
        assert run.err.text.count("Uncaught ValueError: in the close handler") == 1

    def test_a_response_that_nobody_takes_counts_as_vanished(self, house):
        async def program(house):
            await house.stub().fetch("http://x", headers={"Upgrade": "websocket"})
            await turns()
            return [entry[:2] for entry in await house.stub().noted()]

        assert house(program, NOTING) == [["close", 1006]]


class TestLists:
    def test_all_come_newest_first_and_those_with_a_tag_oldest_first(self, house):
        source = (
            ROOM
            + """
        async def numbers(self):
            def numbers(sockets):
                return [list(self.ctx.getTags(ws))[0] for ws in sockets]

            ctx = self.ctx
            return [
                numbers(sockets)
                for sockets in (
                    ctx.getWebSockets(), ctx.getWebSockets("even"), ctx.getWebSockets("none")
                )
            ]
        """
        )

        async def program(house):
            peers = []
            for number in range(5):
                tags = f"{number},even" if number % 2 == 0 else str(number)
                peers.append(await house.connect(tags))
            before = await house.stub().numbers()
            await house.sleep()
            assert await house.stub().numbers() == before
            peers[2].close()
            await turns()
            return before, await house.stub().numbers()

        before, after = house(program, source)
        assert before == [["4", "3", "2", "1", "0"], ["0", "2", "4"], []]
        assert after == [["4", "3", "1", "0"], ["0", "4"], []]

    def test_equal_tags_count_once(self, house):
        source = (
            ROOM
            + """
        async def tags(self):
            return [list(self.ctx.getTags(ws)) for ws in self.ctx.getWebSockets()]
        """
        )

        async def program(house):
            peers = [await house.connect("b,a,b"), await house.connect()]
            return await house.stub().tags(), len(peers)

        assert house(program, source) == ([[], ["b", "a"]], 2)


def test_dates_of_the_tables_are_on_both_sides_of_the_rule():
    assert OLD < "2026-04-07" <= DATE
