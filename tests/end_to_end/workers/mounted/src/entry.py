"""What a mounted Worker may do: count, redirect, stream without end, talk over a WebSocket, work after its answer."""

import asyncio
from urllib.parse import urlparse

import asgi
from js import ReadableStream, Uint8Array, WebSocketPair
from pyodide.ffi import create_proxy
from workers import DurableObject, Response, WorkerEntrypoint

CLOSED = []


async def application(scope, receive, send):
    """Streams without end, as FastAPI's `StreamingResponse` does it."""
    if scope["type"] != "http":
        return
    stream = asyncio.create_task(ticking(send))
    while (await receive())["type"] != "http.disconnect":
        pass
    stream.cancel()


async def ticking(send):
    try:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while True:
            await send({"type": "http.response.body", "body": b"tick", "more_body": True})
            await asyncio.sleep(0.05)
    finally:
        CLOSED.append("closed")


class Alarmed(DurableObject):
    async def set(self, milliseconds):
        from js import Date

        await self.ctx.storage.setAlarm(Date.now() + milliseconds)

    async def alarm(self, _=None):
        await self.env.KV.put("alarm", "rang")


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        url = urlparse(request.url)
        match url.path:
            case "/count":
                return Response(str(await self.count()))
            case "/value":
                return Response(str(await self.env.KV.get(url.query)))
            case "/redirect":
                return Response("", status=302, headers={"Location": "/count"})
            case "/prefix":
                return Response(request.headers.get("x-forwarded-prefix") or "none")
            case "/later":
                self.ctx.waitUntil(self.later())
                return Response("soon")
            case "/alarm":
                await self.env.ALARMED.get(self.env.ALARMED.idFromName("a")).set(300)
                return Response("set")
            case "/slow":
                await asyncio.sleep(0.3)
                return Response(str(await self.count()))
            case "/events":
                return self.events()
            case "/socket":
                return self.socket()
            case "/ticks":
                return await asgi.fetch(application, request, self.env, self.ctx)
            case "/closed":
                return Response(" ".join(CLOSED))
        return Response(request.url, status=404)

    async def count(self):
        db = self.env.DB
        await db.prepare("CREATE TABLE IF NOT EXISTS hits (v)").run()
        await db.prepare("INSERT INTO hits VALUES (1)").run()
        return (await db.prepare("SELECT count(*) AS n FROM hits").first()).n

    async def later(self):
        await asyncio.sleep(0.5)
        await self.env.KV.put("later", "written")

    def events(self):
        async def pull(controller):
            await asyncio.sleep(0.05)
            controller.enqueue(Uint8Array.new(b"data: x\n\n"))

        return Response(
            ReadableStream.new({"pull": create_proxy(pull)}),
            headers={"content-type": "text/event-stream"},
        )

    def socket(self):
        client, server = WebSocketPair.new().object_values()
        server.accept()
        server.addEventListener(
            "message", create_proxy(lambda event: server.send(f"echo {event.data}"))
        )
        return Response(None, status=101, web_socket=client)
