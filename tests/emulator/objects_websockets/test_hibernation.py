"""What a hibernating object keeps, and what wakes it."""

from __future__ import annotations

import pytest

from .conftest import LONG, Peer, turns

KEEPING = """
    class Thing(DurableObject):
        def __init__(self, ctx, env):
            super().__init__(ctx, env)
            self.lives = (ctx.storage.kv.get("lives") or 0) + 1
            ctx.storage.kv.put("lives", self.lives)

        async def fetch(self, request):
            client, server = js.WebSocketPair.new()
            self.ctx.acceptWebSocket(server, ["red", "blue"])
            server.serializeAttachment(js.JSON.parse('{"name": "Ada", "seen": [1, 2]}'))
            server.note = "only in memory"
            server.addEventListener("message", lambda event: server.send("a listener"))
            return Response(None, status=101, web_socket=client)

        async def webSocketMessage(self, ws, message):
            attachment = ws.deserializeAttachment()
            ws.send(str([
                self.lives,
                attachment.name,
                list(attachment.seen),
                list(self.ctx.getTags(ws)),
                self.ctx.getHibernatableWebSocketEventTimeout() or None,
                getattr(ws, "note", None),
                self.ctx.getWebSockets()[0] is ws,
                ws.readyState,
            ]))
"""


class TestEviction:
    def test_an_object_with_sockets_leaves_memory_and_a_message_brings_it_back(self, house):
        async def program(house):
            peer = await house.connect()
            peer.send("one")
            peer.send("two")
            await turns()
            assert house.awake == 1
            await house.sleep()
            assert house.awake == 0
            peer.send("three")
            await turns()
            assert house.awake == 1
            return peer.messages

        assert house(program) == ["1 1 one", "1 2 two", "2 1 three"]

    def test_messages_that_arrive_while_it_sleeps_come_in_order(self, house):
        async def program(house):
            peers = [await house.connect() for _ in range(3)]
            await house.sleep()
            for number in range(20):
                for peer in peers:
                    peer.send(str(number))
            await turns(300)
            return [[message.split()[2] for message in peer.messages] for peer in peers]

        assert house(program) == [[str(number) for number in range(20)]] * 3

    def test_sockets_outlast_many_lives(self, house):
        async def program(house):
            peer = await house.connect()
            for _ in range(5):
                await house.sleep()
                peer.send("x")
                await turns()
            return peer.messages

        assert house(program) == [f"{life} 1 x" for life in range(2, 7)]

    def test_other_events_wake_it_too_and_it_finds_its_sockets(self, house):
        source = """
            class Thing(DurableObject):
                async def fetch(self, request):
                    client, server = js.WebSocketPair.new()
                    self.ctx.acceptWebSocket(server)
                    return Response(None, status=101, web_socket=client)

                async def tell_all(self, text):
                    for ws in self.ctx.getWebSockets():
                        ws.send(text)
        """

        async def program(house):
            peers = [await house.connect(), await house.connect()]
            await house.sleep()
            assert house.awake == 0
            await house.stub().tell_all("hello")
            await turns()
            return [peer.messages for peer in peers]

        assert house(program, source) == [["hello"], ["hello"]]

    def test_a_socket_that_was_accepted_plainly_keeps_it_in_memory(self, house):
        source = """
            class Thing(DurableObject):
                async def fetch(self, request):
                    client, server = js.WebSocketPair.new()
                    server.accept()
                    server.addEventListener("message", lambda event: server.send(event.data))
                    return Response(None, status=101, web_socket=client)
        """

        async def program(house):
            peer = await house.connect()
            await house.sleep(3 * LONG)
            awake = [house.awake]
            peer.send("still there?")
            await turns()
            peer.close(1000, "bye")
            await house.sleep()
            awake.append(house.awake)
            return awake, peer.messages

        assert house(program, source) == ([1, 0], ["still there?"])

    def test_one_object_hibernates_while_another_works(self, house):
        async def program(house):
            idle, busy = await house.connect(name="a"), await house.connect(name="b")
            for _ in range(6):
                await house.clock.advance(5)
                busy.send("x")
                await turns()
            assert house.awake == 1
            idle.send("x")
            await turns()
            return idle.messages, busy.messages[-1]

        assert house(program) == (["2 1 x"], "1 6 x")

    def test_nothing_is_kept_for_an_object_without_sockets(self, house):
        async def program(house):
            peers = [await house.connect(name=name) for name in "abc" for _ in range(10)]
            await house.sleep()
            for peer in peers:
                peer.close()
            await turns(200)
            await house.sleep()
            return house.awake, len(house.namespace._sockets)

        assert house(program) == (0, 0)


class TestWhatIsKept:
    def test_attachment_tags_and_limit_stay_and_what_is_in_memory_goes(self, house):
        source = KEEPING.replace(
            'self.ctx.acceptWebSocket(server, ["red", "blue"])',
            'self.ctx.acceptWebSocket(server, ["red", "blue"])\n'
            "            self.ctx.setHibernatableWebSocketEventTimeout(5000)",
        )

        async def program(house):
            peer = await house.connect()
            peer.send("x")
            await turns()
            await house.sleep()
            peer.send("x")
            await turns()
            return peer.messages

        kept = "'Ada', [1, 2], ['red', 'blue'], 5000"
        assert house(program, source) == [
            f"[1, {kept}, 'only in memory', True, 1]",
            f"[2, {kept}, None, True, 1]",
        ]

    def test_an_attachment_is_a_copy_each_time(self, house):
        source = """
            class Thing(DurableObject):
                async def fetch(self, request):
                    client, server = js.WebSocketPair.new()
                    self.ctx.acceptWebSocket(server)
                    value = js.JSON.parse('{"list": [1]}')
                    server.serializeAttachment(value)
                    value.list.push(2)
                    one, two = server.deserializeAttachment(), server.deserializeAttachment()
                    one.list.push(3)
                    return Response.json([list(one.list), list(two.list)])
        """

        async def program(house):
            return await (await house.stub().fetch("http://x")).json()

        assert house(program, source) == [[1, 3], [1]]

    def test_an_object_that_closed_its_side_remembers_that(self, house):
        source = """
            class Thing(DurableObject):
                async def fetch(self, request):
                    client, server = js.WebSocketPair.new()
                    self.ctx.acceptWebSocket(server)
                    server.close(4000, "enough")
                    return Response(None, status=101, web_socket=client)

                async def states(self):
                    found = []
                    for ws in self.ctx.getWebSockets():
                        try:
                            ws.send("x")
                        except Exception as error:
                            found.append([ws.readyState, str(error)])
                    return found
        """

        async def program(house):
            response = await house.stub().fetch("http://x", headers={"Upgrade": "websocket"})
            await house.sleep()
            assert house.awake == 0
            states = await house.stub().states()
            peer = Peer(response.js_object.webSocket)
            await turns()
            return states, peer.closes, await house.stub().states()

        states, closes, after = house(program, source)
        assert states == [[2, "TypeError: Can't call WebSocket send() after close()."]]
        assert closes == [(4000, "enough", True)]
        assert after == []

    def test_a_socket_object_of_an_earlier_life_reaches_nobody(self, house):
        source = """
            kept = []

            class Thing(DurableObject):
                async def fetch(self, request):
                    client, server = js.WebSocketPair.new()
                    self.ctx.acceptWebSocket(server)
                    kept.append(server)
                    return Response(None, status=101, web_socket=client)

                async def use_old(self):
                    kept[0].send("from the past")
                    return self.ctx.getWebSockets()[0] is kept[0]
        """

        async def program(house):
            peer = await house.connect()
            await house.sleep()
            same = await house.stub().use_old()
            await turns()
            return same, peer.messages

        assert house(program, source) == (False, [])


PING = """
    class Thing(DurableObject):
        async def fetch(self, request):
            client, server = js.WebSocketPair.new()
            self.ctx.acceptWebSocket(server)
            self.ctx.setWebSocketAutoResponse(js.WebSocketRequestResponsePair.new("ping", "pong"))
            return Response(None, status=101, web_socket=client)

        async def webSocketMessage(self, ws, message):
            ws.send(f"heard {message}" if isinstance(message, str) else "heard bytes")

        async def pair(self):
            pair = self.ctx.getWebSocketAutoResponse()
            return [pair.request, pair.response] if pair else None

        async def stop(self):
            self.ctx.setWebSocketAutoResponse()

        async def answered(self):
            (ws,) = self.ctx.getWebSockets()
            date = self.ctx.getWebSocketAutoResponseTimestamp(ws)
            return date.getTime() if date else None
"""


class TestAutoResponse:
    def test_it_answers_without_waking_the_object(self, house):
        async def program(house):
            peer = await house.connect()
            await house.sleep()
            peer.send("ping")
            await turns()
            return peer.messages, house.awake

        assert house(program, PING) == (["pong"], 0)

    @pytest.mark.parametrize("message", ["ping ", "Ping", "", b"ping"])
    def test_only_the_same_text_is_answered(self, house, message):
        async def program(house):
            peer = await house.connect()
            peer.send(message)
            await turns()
            return peer.messages

        heard = "bytes" if isinstance(message, bytes) else message
        assert house(program, PING) == [f"heard {heard}"]

    def test_the_pair_and_the_time_of_the_answer_survive(self, house):
        async def program(house):
            peer = await house.connect()
            before = await house.stub().answered()
            await house.sleep()
            await house.clock.advance(7)
            now = house.clock.now()
            peer.send("ping")
            await house.sleep()
            return before, await house.stub().answered() - now * 1000, await house.stub().pair()

        assert house(program, PING) == (None, 0, ["ping", "pong"])

    def test_without_a_pair_it_is_over(self, house):
        async def program(house):
            peer = await house.connect()
            await house.stub().stop()
            peer.send("ping")
            await turns()
            return peer.messages, await house.stub().pair()

        assert house(program, PING) == (["heard ping"], None)

    def test_answers_keep_their_place_among_messages(self, house):
        async def program(house):
            peer = await house.connect()
            for message in ("one", "ping", "two", "ping"):
                peer.send(message)
            await turns()
            return peer.messages

        assert house(program, PING) == ["heard one", "pong", "heard two", "pong"]
