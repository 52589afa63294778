import asyncio
from urllib.parse import urlparse

import js
from pyodide.ffi import create_proxy, to_js
from workers import Response, WorkerEntrypoint


async def write_lines(writable, count):
    writer = writable.getWriter()
    encoder = js.TextEncoder.new()
    for number in range(count):
        await writer.write(encoder.encode(f"line {number}\n"))
        await asyncio.sleep(0)
    await writer.close()


async def words():
    for word in ("one", "two", "three"):
        await asyncio.sleep(0)
        yield to_js(word.encode())


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        match urlparse(request.url).path:
            case "/transform":
                stream = js.TransformStream.new()
                self.ctx.waitUntil(create_proxy(write_lines(stream.writable, 4)))
                return Response(stream.readable, headers={"content-type": "text/plain"})
            case "/upper":
                return Response(request.body.pipeThrough(self.upper_case()))
            case "/fixed":
                fixed = js.FixedLengthStream.new(12)
                self.ctx.waitUntil(request.body.pipeTo(fixed.writable))
                return Response(fixed.readable)
            case "/gzip":
                squeezed = request.body.pipeThrough(js.CompressionStream.new("gzip"))
                return Response(
                    squeezed.pipeThrough(js.DecompressionStream.new("gzip")),
                    headers={"content-type": "application/octet-stream"},
                )
            case "/tee":
                left, right = request.body.tee()
                first = await js.Response.new(left).text()
                return Response(first + "|" + await js.Response.new(right).text())
            case "/from":
                return js.Response.new(js.ReadableStream.from_(words()))
            case "/count":
                reader = request.body.getReader()
                total = 0
                while not (step := await reader.read()).done:
                    total += step.value.byteLength
                return Response(str(total))
        return Response("not found", status=404)

    def upper_case(self):
        decoder = js.TextDecoder.new()
        encoder = js.TextEncoder.new()

        async def transform(chunk, controller):
            text = decoder.decode(chunk, stream=True)
            await asyncio.sleep(0)
            controller.enqueue(encoder.encode(text.upper()))

        def flush(controller):
            controller.enqueue(encoder.encode(decoder.decode().upper() + "."))

        return js.TransformStream.new(transform=create_proxy(transform), flush=create_proxy(flush))
