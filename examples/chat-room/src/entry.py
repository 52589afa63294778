"""A chat with rooms.

`GET /` is a page to chat with, `/room/NAME/socket?name=WHO` a WebSocket, `/room/NAME` what goes on in a room, as JSON.
"""

from urllib.parse import unquote, urlsplit

from page import PAGE
from room import Room
from workers import Response, WorkerEntrypoint

__all__ = ["Default", "Room"]


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        match urlsplit(request.url).path.split("/"):
            case ["", ""]:
                return Response(PAGE, headers={"Content-Type": "text/html;charset=utf-8"})
            case ["", "room", name] | ["", "room", name, "socket"] if name:
                room = self.env.ROOMS.getByName(unquote(name))
                # Also the answer to the WebSocket handshake comes from the room; the Worker only passes it on.
                return await room.fetch(request)
        return Response("Not found", status=404)
