"""A body or stream of an object that is over fails for whoever reads or writes it: nobody waits for ever."""

import asyncio

import pytest

from tests.emulator.actors.conftest import write_objects

SOURCE = """
    def chunk(text):
        return js.TextEncoder.new().encode(text)


    class Thing(DurableObject):
        kept = []

        def __init__(self, ctx, env):
            super().__init__(ctx, env)

        def open(self):
            pair = js.TransformStream.new()
            self.writer = pair.writable.getWriter()
            self.ctx.waitUntil(self.begin())
            return pair.readable

        async def begin(self):
            await self.writer.write(chunk("a"))

        async def fetch(self, request):
            if request.method == "POST":
                return await self.receive(request)
            if request.url.endswith("/written"):
                await self.ctx.storage.put("k", 1)
            return Response(self.open(), headers={"content-type": "text/event-stream"})

        async def receive(self, request):
            if request.url.endswith("/echo"):
                return Response(request.body)
            if "/read" in request.url:
                reader = request.body.getReader()
                await reader.read()
                if request.url.endswith("/reading"):
                    self.rest = await reader.read()
                await asyncio.sleep(10)
            else:
                await asyncio.sleep(10)
            return Response("read")

        async def received(self):
            return hasattr(self, "rest")

        async def stream(self):
            return self.open()

        async def response(self):
            return Response(self.open())

        async def sink(self):
            pair = js.TransformStream.new()
            self.pair = pair
            return pair.writable

        async def take(self, stream, reads):
            self.taken = stream
            if reads:
                reader = stream.getReader()
                await reader.read()
                await reader.read()
            else:
                await asyncio.sleep(10)

        async def take_and_return(self, stream):
            self.taken = stream

        async def send_to(self, other):
            pair = js.TransformStream.new()
            self.writer = pair.writable.getWriter()
            self.ctx.waitUntil(self.begin())
            stub = self.env.THING.getByName(other)
            await stub.fetch("http://x/reading", method="POST", body=pair.readable)

        async def abort(self):
            self.ctx.abort("over")

        async def fail_section(self):
            async def fail():
                raise ValueError("over")

            await self.ctx.blockConcurrencyWhile(fail)

        async def alive(self):
            return "alive"


    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            what = request.url.rsplit("/", 1)[-1]
            thing = self.env.THING.getByName("a")
            if what in ("plain", "written"):
                return await thing.fetch(request)
            if what == "by_rpc":
                return Response(await thing.stream())
            return await thing.response()

        async def upload(self, how):
            thing = self.env.THING.getByName("a")
            pair = js.TransformStream.new()
            writer = pair.writable.getWriter()
            if how in ("read", "reading", "unread"):
                call = thing.fetch("http://x/" + how, method="POST", body=pair.readable)
            elif how == "returned":
                await thing.take_and_return(pair.readable)
                call = asyncio.sleep(0)
            else:
                call = thing.take(pair.readable, how == "argument read")
            call = asyncio.ensure_future(call)
            ending = asyncio.ensure_future(self.end_soon())
            try:
                while True:
                    await writer.write(chunk("a"))
                    await ending
            except Exception as error:
                return type(error).__name__
            finally:
                await asyncio.gather(call, return_exceptions=True)

        async def echo(self, many):
            thing = self.env.THING.getByName("a")
            pair = js.TransformStream.new()
            writer = pair.writable.getWriter()

            async def feed():
                for i in range(many):
                    await writer.write(chunk(str(i)))
                    await asyncio.sleep(0)
                await writer.close()

            feeding = asyncio.ensure_future(feed())
            answer = await thing.fetch("http://x/echo", method="POST", body=pair.readable)
            text = await answer.text()
            await feeding
            return text

        async def echo_cancelled(self):
            thing = self.env.THING.getByName("a")
            pair = js.TransformStream.new()
            writer = pair.writable.getWriter()
            first = asyncio.ensure_future(writer.write(chunk("a")))
            answer = await thing.fetch("http://x/echo", method="POST", body=pair.readable)
            reader = answer.js_object.body.getReader()
            await reader.read()
            await reader.cancel("enough")
            await first
            try:
                await writer.write(chunk("b"))
            except Exception as error:
                return type(error).__name__

        async def download(self):
            thing = self.env.THING.getByName("a")
            pair = js.TransformStream.new()
            await thing.take_and_return(pair.writable)
            ending = asyncio.ensure_future(self.end_soon())
            try:
                await pair.readable.getReader().read()
            except Exception as error:
                return type(error).__name__
            finally:
                await ending

        async def end_soon(self):
            await asyncio.sleep(0.01)
            try:
                await self.env.THING.getByName("a").abort()
            except Exception:
                pass
"""
LIMIT = 5
ENDS = ["abort", "fail_section", "reload"]


@pytest.fixture
def beside(tmp_path, run):
    config = write_objects(tmp_path / "w", SOURCE)

    def go(program):
        async def inside(flare):
            async with asyncio.timeout(LIMIT):
                return await program(flare, flare.env().THING.getByName("a"))

        return run(inside, config)

    return go


async def end(flare, thing, how):
    if how == "reload":
        await flare.reload(flare.configurations[0].worker.base_dir)
    else:
        await asyncio.gather(getattr(thing, how)(), return_exceptions=True)


REASONS = {"abort": "over", "fail_section": "over", "reload": "its code was updated"}


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("kind", ["plain", "written", "stream", "response"])
def test_reading_what_an_object_gave_away_fails_when_it_ends(beside, kind, how):
    async def program(flare, thing):
        if kind in ("plain", "written"):
            body = (await thing.fetch(f"http://x/{kind}")).js_object.body
        elif kind == "stream":
            body = await thing.stream()
        else:
            body = (await thing.response()).js_object.body
        reader = getattr(body, "js_object", body).getReader()
        first = await reader.read()
        waiting = asyncio.ensure_future(reader.read())
        await asyncio.sleep(0.01)
        assert not waiting.done()
        await end(flare, thing, how)
        with pytest.raises(Exception, match=REASONS[how]) as caught:
            await waiting
        with pytest.raises(Exception, match=REASONS[how]):
            await reader.read()
        again = await flare.env().THING.getByName("a").alive()
        return bytes(first.value.to_py()), caught.value.durableObjectReset, again

    assert beside(program) == (b"a", True, "alive")


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("kind", ["plain", "written", "by_rpc", "response_by_rpc"])
def test_a_clients_connection_is_cut(beside, kind, how):
    async def program(flare, thing):
        task = asyncio.ensure_future(flare.fetch(f"/{kind}"))
        await asyncio.sleep(0.02)
        assert not task.done()
        await end(flare, thing, how)
        (outcome,) = await asyncio.gather(task, return_exceptions=True)
        return isinstance(outcome, Exception)

    assert beside(program) is True


@pytest.mark.parametrize("how", ENDS)
def test_writing_into_a_stream_of_an_object_fails_when_it_ends(beside, how):
    async def program(flare, thing):
        sink = await thing.sink()
        writer = getattr(sink, "js_object", sink).getWriter()
        from js import TextEncoder

        waiting = asyncio.gather(
            *(writer.write(TextEncoder.new().encode("a")) for _ in range(3)),
            return_exceptions=True,
        )
        await asyncio.sleep(0.01)
        assert not waiting.done()
        await end(flare, thing, how)
        return isinstance((await waiting)[-1], Exception)

    assert beside(program) is True


@pytest.mark.parametrize(
    "how", ["read", "reading", "unread", "argument read", "argument unread", "returned"]
)
def test_an_upload_into_an_object_that_ends_fails(beside, how):
    async def program(flare, thing):
        return await flare.worker().upload(how)

    assert beside(program) in ("JsException", "Error", "AbortError")


def test_an_object_may_answer_with_the_body_of_the_request(beside):
    async def program(flare, thing):
        return await flare.worker().echo(5)

    assert beside(program) == "01234"


def test_an_answer_that_is_cancelled_lets_the_request_go(beside):
    async def program(flare, thing):
        return await flare.worker().echo_cancelled()

    assert beside(program) in ("JsException", "Error", "AbortError")


def test_waiting_for_what_an_object_was_to_write_fails_when_it_ends(beside):
    async def program(flare, thing):
        return await flare.worker().download()

    assert beside(program) in ("JsException", "Error", "AbortError")


def test_what_an_object_sends_fails_for_the_receiver(beside):
    async def program(flare, thing):
        sending = asyncio.ensure_future(thing.send_to("b"))
        await asyncio.sleep(0.01)
        await end(flare, thing, "abort")
        await asyncio.gather(sending, return_exceptions=True)
        await asyncio.sleep(0.01)
        (receiver,) = flare._objects.host.namespaces["w-Thing"].actors
        return len(receiver.gate.tasks), await flare.env().THING.getByName("b").received()

    assert beside(program) == (0, False)
