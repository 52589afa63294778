import asyncio
import threading
from urllib.parse import urlparse

import anyio
import anyio.to_thread
from fastapi.concurrency import run_in_threadpool
from pyodide.ffi import run_sync
from workers import Response, WorkerEntrypoint


async def later(value):
    await asyncio.sleep(0)
    return value


def work(value):
    return [threading.current_thread() is threading.main_thread(), run_sync(later(value))]


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        match urlparse(request.url).path:
            case "/anyio":
                found = await anyio.to_thread.run_sync(work, 1)
            case "/asyncio":
                found = await asyncio.to_thread(work, 2)
            case "/executor":
                loop = asyncio.get_running_loop()
                found = await loop.run_in_executor(None, work, 3)
            case "/starlette":
                found = await run_in_threadpool(work, 4)
            case "/cancelled":
                with anyio.move_on_after(0.001) as scope:
                    await anyio.sleep(10)
                found = [scope.cancelled_caught, "moved on"]
            case "/group":
                found = []

                async def note(number):
                    await anyio.sleep(0)
                    found.append(number)

                async with anyio.create_task_group() as group:
                    for number in range(3):
                        group.start_soon(note, number)
        return Response.json(found)
