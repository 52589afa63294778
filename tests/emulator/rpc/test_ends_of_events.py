"""What others hold of an event that its worker has aborted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

Between: TypeAlias = Callable[..., Any]

GONE = "The execution context which hosts this callback is no longer running."


def test_a_body_that_is_being_read_fails_with_the_reason(between: Between) -> None:
    callee = """
    async def fetch(self, request):
        pipe = js.TransformStream.new()
        self.writer = pipe.writable.getWriter()
        self.ctx.waitUntil(self.write())
        return Response(pipe.readable)

    async def write(self):
        await self.writer.write(js.TextEncoder.new().encode("begun"))
        await asyncio.sleep(0.01)
        self.ctx.abort("the reason")
    """
    caller = """
    reader = (await B._binding.fetch("http://x/")).body.getReader()
    first = await reader.read()
    try:
        await asyncio.wait_for(reader.read(), 5)
    except JsException as error:
        return len(first.value), error.message
    """
    assert between(callee, caller) == (5, "the reason")


def test_a_function_cannot_be_called_any_more(between: Between) -> None:
    callee = """
    async def give(self):
        def function():
            return "called"
        async def later():
            await asyncio.sleep(0.01)
            helper.SEEN.append("aborting")
            self.ctx.abort("the reason")
        self.ctx.waitUntil(later())
        return function

    async def seen(self):
        return helper.SEEN
    """
    caller = """
    function = await B.give()
    before = await function()
    while not await B.seen():
        await asyncio.sleep(0)
    try:
        await function()
    except JsException as error:
        return before, error.message
    """
    assert between(callee, caller) == ("called", GONE)


def test_a_function_that_aborts_fails_with_the_reason(between: Between) -> None:
    callee = """
    async def give(self):
        def function():
            self.ctx.abort("the reason")
        return function
    """
    caller = """
    function = await B.give()
    try:
        await function()
    except JsException as error:
        return error.message
    """
    assert between(callee, caller) == "the reason"


def test_a_function_that_aborts_its_waiting_handler_ends_both(between: Between) -> None:
    callee = """
    async def call(self, function):
        try:
            await function()
        except JsException as error:
            helper.SEEN.append(error.message)
        await asyncio.Future()

    async def seen(self):
        return helper.SEEN
    """
    caller = """
    def function():
        self.ctx.abort("the reason")
    if not hasattr(helper, "began"):
        helper.began = True
        try:
            await self.env.SELF.test()
        except JsException as error:
            return error.message, await B.seen()
    await B.call(function)
    """
    assert between(callee, caller) == ("the reason", ["the reason"])


def test_a_websocket_is_cut_off(between: Between) -> None:
    callee = """
    async def fetch(self, request):
        client, server = js.WebSocketPair.new()
        server.addEventListener("message", create_proxy(lambda event: self.ctx.abort("the reason")))
        server.accept()
        return Response(None, status=101, web_socket=client)
    """
    caller = """
    socket = (await B.fetch("http://x/", headers={"Upgrade": "websocket"})).js_object.webSocket
    ended = asyncio.get_running_loop().create_future()
    socket.addEventListener("close", create_proxy(lambda event: ended.set_result(event.code)))
    socket.accept()
    socket.send("text")
    return await asyncio.wait_for(ended, 5)
    """
    assert between(callee, caller) == 1006
