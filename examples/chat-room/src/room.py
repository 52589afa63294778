"""One room: who is there, and what was said."""

import json
from urllib.parse import parse_qs, urlsplit

from js import WebSocketPair, WebSocketRequestResponsePair
from pyodide.ffi import to_js
from workers import DurableObject, Response

SCHEMA = """
CREATE TABLE IF NOT EXISTS messages (id INTEGER PRIMARY KEY, name TEXT NOT NULL, text TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS wakes (number INTEGER PRIMARY KEY);
"""
LONGEST_NAME = 40
LONGEST_TEXT = 2000
SHOWN = 200


class Room(DurableObject):
    def __init__(self, ctx, env):
        super().__init__(ctx, env)
        # This runs whenever the room comes into memory: at its first visitor, and after each hibernation.
        self.sql = ctx.storage.sql
        self.sql.exec(SCHEMA)
        self.sql.exec("INSERT INTO wakes DEFAULT VALUES")
        # Signs of life are answered without waking the room.
        ctx.setWebSocketAutoResponse(WebSocketRequestResponsePair.new("ping", "pong"))

    async def fetch(self, request):
        url = urlsplit(request.url)
        if not url.path.endswith("/socket"):
            return Response.json(self.state())
        if (request.headers.get("upgrade") or "").lower() != "websocket":
            return Response("Expected Upgrade: websocket", status=426)
        query = parse_qs(url.query)
        name = query.get("name", [""])[0].strip()[:LONGEST_NAME]
        if not name:
            return Response("Say who you are: ?name=...", status=400)
        after = query.get("after", ["0"])[0]
        if not after.isdecimal():
            return Response("after has to be the number of a message", status=400)

        client, server = WebSocketPair.new().object_values()
        # From here on the connection belongs to the platform: it stays open when the room leaves memory.
        self.ctx.acceptWebSocket(server, to_js([name]))
        # Kept with the connection; self.anything would be gone after a hibernation.
        server.serializeAttachment(name)
        server.send(json.dumps({"type": "history", "messages": self.history(int(after))}))
        self.tell({"type": "joined", "name": name, "members": self.members()})
        return Response(None, status=101, web_socket=client)

    async def webSocketMessage(self, ws, message):
        name = ws.deserializeAttachment()
        if not isinstance(message, str) or not message or len(message) > LONGEST_TEXT:
            problem = f"A message is a text of 1 to {LONGEST_TEXT} characters."
            ws.send(json.dumps({"type": "problem", "text": problem}))
            return
        row = self.sql.exec(
            "INSERT INTO messages (name, text) VALUES (?, ?) RETURNING id", name, message
        ).one()
        # Nobody sees it before it is stored: the platform holds it back until then.
        self.tell({"type": "message", "id": row.id, "name": name, "text": message})

    async def webSocketClose(self, ws, code, reason, was_clean):
        # The one that is closing is still in the list.
        members = self.members(without=ws)
        self.tell({"type": "left", "name": ws.deserializeAttachment(), "members": members})

    def tell(self, what):
        text = json.dumps(what)
        for ws in self.ctx.getWebSockets():
            if ws.readyState == 1:
                ws.send(text)

    def members(self, without=None):
        there = {ws.deserializeAttachment() for ws in self.ctx.getWebSockets() if ws is not without}
        return sorted(there)

    def history(self, after):
        rows = self.sql.exec(
            "SELECT id, name, text FROM messages WHERE id > ? ORDER BY id DESC LIMIT ?", after, SHOWN
        ).toArray()
        return [{"id": row.id, "name": row.name, "text": row.text} for row in reversed(rows)]

    def state(self):
        counts = self.sql.exec(
            "SELECT (SELECT count(*) FROM messages) AS messages, (SELECT count(*) FROM wakes) AS woken"
        ).one()
        return {
            "members": self.members(),
            "sockets": len(self.ctx.getWebSockets()),
            "messages": counts.messages,
            "woken": counts.woken,
        }
