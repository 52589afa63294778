"""What happens to the sockets when their object ends, and what must not leave it."""

from __future__ import annotations

import asyncio

import pytest

from .conftest import ROOM, Peer, turns, until

LOST = [(1006, "WebSocket disconnected without sending Close frame.", False)]

COMMANDS = """
    class Thing(DurableObject):
        async def fetch(self, request):
            client, server = js.WebSocketPair.new()
            self.ctx.acceptWebSocket(server)
            self.ctx.setHibernatableWebSocketEventTimeout(1000)
            return Response(None, status=101, web_socket=client)

        async def webSocketMessage(self, ws, message):
            match message:
                case "abort":
                    self.ctx.storage.kv.put("lost", True)
                    self.ctx.abort("told to")
                case "section":
                    await self.ctx.blockConcurrencyWhile(self.fail)
                case "long":
                    ws.send("begin")
                    await asyncio.Event().wait()
                case "bad commit":
                    ws.send("before")
                    self.ctx.storage.sql.exec("PRAGMA defer_foreign_keys = on")
                    self.ctx.storage.sql.exec("CREATE TABLE a (id INTEGER PRIMARY KEY)")
                    self.ctx.storage.sql.exec("CREATE TABLE b (a REFERENCES a(id))")
                    self.ctx.storage.sql.exec("INSERT INTO b VALUES (1)")
                    ws.send("after")
                    ws.close(1000)
                case _:
                    ws.send(message)

        async def fail(self):
            raise ValueError("in the section")

        async def state(self):
            return [len(self.ctx.getWebSockets()), self.ctx.storage.kv.get("lost")]
"""


class TestFailures:
    @pytest.mark.parametrize(
        ("command", "logged"),
        [
            ("abort", "told to"),
            ("section", "ValueError: in the section"),
            ("bad commit", "the application left the database in a state where constraints"),
        ],
    )
    def test_all_sockets_are_cut_and_the_next_life_has_none(self, house, run, command, logged):
        async def program(house):
            peers = [await house.connect() for _ in range(3)]
            peers[1].send("hello")
            await turns()
            peers[0].send(command)
            await turns()
            assert peers[1].messages == ["hello"]
            assert [peer.closes for peer in peers] == [LOST] * 3
            return await house.stub().state()

        assert house(program, COMMANDS) == [0, None]
        assert run.err.text.count("Uncaught") == 1
        assert logged in run.err.text

    def test_what_was_sent_before_a_commit_that_fails_is_not_heard(self, house):
        async def program(house):
            peer = await house.connect()
            peer.send("bad commit")
            await turns()
            return peer.messages, peer.closes

        assert house(program, COMMANDS) == (["before"], LOST)

    def test_a_constructor_that_fails_when_it_is_woken_cuts_them_and_another_may_connect(
        self, house, run
    ):
        source = ROOM.replace(
            "self.in_memory = []",
            "self.in_memory = []\n"
            '            if self.lives == 2: raise ValueError("no second life")',
        )

        async def program(house):
            peers = [await house.connect(), await house.connect()]
            await house.sleep()
            peers[0].send("x")
            peers[1].send("x")
            await turns()
            closes = [peer.closes for peer in peers]
            # The failed constructor has written nothing either.
            house.namespace.actor(house.namespace.ids.from_name("a"))
            return closes

        assert house(program, source) == [LOST] * 2
        assert run.err.text.count("Uncaught ValueError: no second life") == 1

    def test_an_event_that_exceeds_its_limit_ends_the_object(self, house, run):
        async def program(house):
            peers = [await house.connect(), await house.connect()]
            peers[0].send("long")
            await turns()
            await house.clock.advance(0.9)
            assert peers[1].closes == []
            await house.clock.advance(0.2)
            await turns()
            return [peer.closes for peer in peers], await house.stub().state()

        assert house(program, COMMANDS) == ([LOST] * 2, [0, None])
        assert (
            run.err.text.count("Uncaught Error: Actor exceeded event execution time and was") == 1
        )

    def test_an_event_within_its_limit_is_left_alone(self, house):
        async def program(house):
            peer = await house.connect()
            peer.send("hello")
            await turns()
            await house.clock.advance(5)
            return peer.messages, list(peer.closes)

        assert house(program, COMMANDS) == (["hello"], [])

    def test_an_aborted_object_cuts_sockets_that_were_accepted_plainly(self, house):
        source = """
            class Thing(DurableObject):
                async def fetch(self, request):
                    client, server = js.WebSocketPair.new()
                    server.accept()
                    return Response(None, status=101, web_socket=client)

                async def end(self):
                    self.ctx.abort()
        """

        async def program(house):
            peer = await house.connect()
            with pytest.raises(Exception, match="abort"):
                await house.stub().end()
            await turns()
            return peer.closes

        assert house(program, source) == LOST


class TestReloadAndStop:
    def test_a_reload_closes_them_with_1012_also_of_sleeping_objects(self, house, run, tmp_path):
        async def program(house):
            asleep = await house.connect(name="asleep")
            await house.sleep()
            awake = await house.connect(name="awake")
            await house.flare.reload(tmp_path / "w" / "src" / "entry.py")
            await turns()
            return asleep.closes, awake.closes, await house.stub("awake").life()

        closed = [(1012, "The Worker was reloaded.", True)]
        assert house(program) == (closed, closed, 2)
        assert "Uncaught" not in run.err.text

    def test_a_stop_closes_them_with_1001_also_of_sleeping_objects(self, house, run):
        peers: list[Peer] = []

        async def program(house):
            peers.append(await house.connect(name="asleep"))
            await house.sleep()
            peers.append(await house.connect(name="awake"))
            peers[1].send("last")
            # Not handled yet when the stop begins.
            await asyncio.sleep(0)

        house(program)
        assert [peer.closes for peer in peers] == [[(1001, "The Worker is stopping.", True)]] * 2
        assert "Uncaught" not in run.err.text


SENDER = """
    class Thing(DurableObject):
        async def fetch(self, request):
            client, server = js.WebSocketPair.new()
            {accept}
            return Response(None, status=101, web_socket=client)

        async def webSocketMessage(self, ws, message):
            if message == "write":
                self.ctx.storage.kv.put("n", 1)
            ws.send(message)
            if message == "close":
                ws.close(1000, "done")
"""
ACCEPTING = {
    "hibernatable": "self.ctx.acceptWebSocket(server)",
    "plain": "server.accept(); "
    'server.addEventListener("message", lambda event: self.webSocketMessage(server, event.data))',
}


class TestOutputGate:
    """What is sent after a write waits for its commit; an alarm that is set earlier makes a commit wait."""

    @pytest.mark.parametrize("kind", ["hibernatable", "plain"])
    def test_the_order_of_sending_stays(self, house, kind):
        async def program(house):
            peer = await house.connect()
            commits = _hold_commits(house)
            for message in ("one", "write", "two", "close"):
                peer.send(message)
            await turns()
            before = list(peer.messages), list(peer.closes)
            commits.set_result(None)
            await turns()
            return before, peer.messages, peer.closes

        before, messages, closes = house(program, SENDER.format(accept=ACCEPTING[kind]))
        assert before == (["one"], [])
        assert messages == ["one", "write", "two", "close"]
        assert closes == [(1000, "done", True)]

    @pytest.mark.parametrize("kind", ["hibernatable", "plain"])
    def test_nothing_is_heard_when_the_commit_fails(self, house, kind):
        async def program(house):
            peer = await house.connect()
            commits = _hold_commits(house)
            for message in ("one", "write", "two"):
                peer.send(message)
            await turns()
            commits.set_exception(OSError("the disk is full"))
            await until(lambda: peer.closes)
            return peer.messages, peer.closes

        assert house(program, SENDER.format(accept=ACCEPTING[kind])) == (["one"], LOST)


def _hold_commits(house) -> asyncio.Future[None]:
    """Every commit of the object from now on is durable when this future is."""
    (actor,) = house.namespace.actors
    held: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    storage = actor.storage
    commit = storage.commit

    class Held:
        depth = 0

        def commit(self):
            commit()
            return asyncio.ensure_future(_both(held))

    actor.output.attach(Held())
    return held


async def _both(held: asyncio.Future[None]) -> None:
    await asyncio.shield(held)
