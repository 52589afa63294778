"""Alarms, timed inside the worker: how late each handler begins, and what setting one costs."""

import asyncio
import json
import time
from urllib.parse import parse_qs, urlsplit

from workers import DurableObject, Response, WorkerEntrypoint

late = []


class Bell(DurableObject):
    async def set(self, at):
        await self.ctx.storage.setAlarm(at)

    async def move(self, at, count):
        """Move the alarm later, millisecond by millisecond; every hundredth move ends a turn."""
        for index in range(count):
            await self.ctx.storage.setAlarm(at + index)
            if index % 100 == 99:
                await asyncio.sleep(0)

    async def alarm(self, info):
        late.append(time.time() * 1000 - info.scheduledTime)

    async def write(self, count, step):
        """Seconds for setting the alarm `count` times, moved by `step`; for as many puts if that is 0."""
        storage = self.ctx.storage
        far = 5_000_000_000_000
        if step:
            await storage.setAlarm(far)
            await storage.sync()
        started = time.perf_counter()
        for index in range(count):
            if step:
                await storage.setAlarm(far + step * index)
            else:
                await storage.put("n", index)
            await storage.sync()
        seconds = time.perf_counter() - started
        await storage.deleteAlarm()
        return seconds


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        address = urlsplit(request.url)
        given = {key: values[0] for key, values in parse_qs(address.query).items()}
        count = int(given.get("count", 1))
        match address.path:
            case "/ring":
                # Each so many milliseconds after it is set, or spread over a second from then on.
                ahead, spread = float(given["ahead"]), float(given.get("spread", 0))
                late.clear()
                begin = time.time() * 1000
                for index in range(count):
                    base = begin if spread else time.time() * 1000
                    at = base + ahead + spread * index / count
                    await self.env.BELL.getByName(f"bell {index}").set(at)
                return Response("ok")
            case "/late":
                return Response(json.dumps(late))
            case "/write":
                bell = self.env.BELL.getByName("writer")
                seconds = await bell.write(count, int(given["step"]))
                return Response(json.dumps({"seconds": seconds}))
        return Response("hello")
