"""R2 calls, timed inside the worker; and an object store over HTTP for bodies that stream."""

import asyncio
import os
import time
from urllib.parse import parse_qs, urlsplit

from workers import Response, WorkerEntrypoint

SMALL = os.urandom(1024)
LARGE = os.urandom(1024 * 1024)


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        address = urlsplit(request.url)
        bucket = self.env.BUCKET
        match address.path:
            case "/":
                return Response("")
            case "/object":
                if request.method == "PUT":
                    return Response((await bucket.put("streamed", request.js_object.body)).etag)
                found = await bucket.get("streamed")
                return Response(found.body)
        count = int(parse_qs(address.query)["count"][0])
        work = {"/put": put, "/get": get, "/put-large": put_large, "/get-large": get_large}
        return Response.json({"seconds": await work[address.path](bucket, count)})


async def put(bucket, count):
    started = time.perf_counter()
    for index in range(count):
        await bucket.put(f"small/{index % 500}", SMALL)
    return time.perf_counter() - started


async def get(bucket, count):
    started = time.perf_counter()
    for _ in range(count):
        await (await bucket.get("small/1")).bytes()
    return time.perf_counter() - started


async def put_large(bucket, count):
    await bucket.delete([f"large/{index}" for index in range(count)])
    # The files go away behind the answer; the bare side removes its own before it is timed too.
    await asyncio.sleep(0.05)
    started = time.perf_counter()
    for index in range(count):
        await bucket.put(f"large/{index}", LARGE)
    return time.perf_counter() - started


async def get_large(bucket, count):
    started = time.perf_counter()
    for _ in range(count):
        await (await bucket.get("large/1")).bytes()
    return time.perf_counter() - started
