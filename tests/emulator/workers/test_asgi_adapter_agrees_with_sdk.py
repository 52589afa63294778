"""Our `asgi.fetch` and the SDK's own give the client, the application and the log the same, program for program.

A Worker passes its request on as the SDK's object or, as Cloudflare's own FastAPI example does, as `request.js_object`.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from pyflare import Pyflare
from tests.emulator.conftest import Answer, Runner, request, write_worker

PROGRAMS = '''
    """ASGI applications, each with an oddity of its own."""

    import asyncio
    from contextvars import ContextVar

    SEEN = []
    PLACE = ContextVar("place", default="nowhere")


    def start(status=200, *headers):
        return {"type": "http.response.start", "status": status, "headers": list(headers)}


    def body(content=b"", more=False):
        return {"type": "http.response.body", "body": content, "more_body": more}


    def answering(*messages, before=None):
        async def app(scope, receive, send):
            if scope["type"] == "lifespan":
                return await standard(scope, receive, send)
            for message in messages:
                await send(message)

        return app


    async def standard(scope, receive, send):
        while True:
            message = await receive()
            SEEN.append(message["type"])
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return


    def with_lifespan(lifespan):
        async def app(scope, receive, send):
            if scope["type"] == "lifespan":
                return await lifespan(scope, receive, send)
            SEEN.append([scope["state"], PLACE.get()])
            await send(start())
            await send(body(b"served"))

        return app


    async def shows_scope(scope, receive, send):
        if scope["type"] == "lifespan":
            return await standard(scope, receive, send)
        shown = {name: value for name, value in scope.items() if name != "env"}
        shown["env"] = scope["env"].NAME
        await send(start(200, (b"content-type", b"text/plain")))
        await send(body(repr(shown).encode()))


    async def reads_everything(scope, receive, send):
        if scope["type"] == "lifespan":
            return await standard(scope, receive, send)
        found = b""
        more = True
        while more:
            message = await receive()
            SEEN.append([message["type"], len(message["body"]), message["more_body"]])
            found += message["body"]
            more = message["more_body"]
        await send(start())
        await send(body(found))
        SEEN.append((await receive())["type"])


    async def works_after_the_answer(scope, receive, send):
        if scope["type"] == "lifespan":
            return await standard(scope, receive, send)
        await send(start())
        await send(body(b"answer"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        SEEN.append("worked")


    async def fails(scope, receive, send):
        if scope["type"] == "lifespan":
            return await standard(scope, receive, send)
        await asyncio.sleep(0)
        raise LookupError("before the answer")


    async def fails_at_once(scope, receive, send):
        raise LookupError("whatever it is asked")


    async def fails_after_the_answer(scope, receive, send):
        if scope["type"] == "lifespan":
            return await standard(scope, receive, send)
        await send(start())
        await send(body(b"answer"))
        raise LookupError("after the answer")


    async def fails_while_streaming(scope, receive, send):
        if scope["type"] == "lifespan":
            return await standard(scope, receive, send)
        await send(start())
        await send(body(b"begun", True))
        raise LookupError("half way")


    async def streams(scope, receive, send):
        if scope["type"] == "lifespan":
            return await standard(scope, receive, send)
        await send(start(201, (b"x-a", b"1"), (b"x-a", b"2")))
        for number in range(5):
            await send(body(b"%d" % number * 3, True))
        await send(body(b"end"))
        SEEN.append("streamed")
        SEEN.append((await receive())["type"])
        SEEN.append((await receive())["type"])


    async def starts_with_state(scope, receive, send):
        scope["state"]["key"] = "value"
        PLACE.set("lifespan")
        await standard(scope, receive, send)


    async def refuses_to_start(scope, receive, send):
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no room"})


    async def refuses_without_a_word(scope, receive, send):
        await receive()
        await send({"type": "lifespan.startup.failed", "message": ""})
        raise RuntimeError("and fails")


    async def fails_to_stop(scope, receive, send):
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.failed", "message": "still busy"})


    async def raises_when_stopping(scope, receive, send):
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        raise ValueError("while stopping")


    async def returns_without_a_word(scope, receive, send):
        await receive()


    async def returns_after_the_start(scope, receive, send):
        await receive()
        await send({"type": "lifespan.startup.complete"})


    async def says_something_unknown(scope, receive, send):
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.what"})


    async def says_it_twice(scope, receive, send):
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
        await send({"type": "lifespan.shutdown.complete"})


    async def gives_up_waiting_once(scope, receive, send):
        await receive()
        waiting = asyncio.ensure_future(receive())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        await send({"type": "lifespan.startup.complete"})
        SEEN.append((await receive())["type"])
        await send({"type": "lifespan.shutdown.complete"})


    OK = (b"content-type", b"text/plain")
    PROGRAMS = {
        "plain": answering(start(200, OK), body(b"hello")),
        "no headers": answering({"type": "http.response.start", "status": 200}, body(b"x")),
        "no body": answering(start(), {"type": "http.response.body"}),
        "cookies": answering(
            start(200, (b"set-cookie", b"a=1"), (b"Set-Cookie", b"b=2, c"), OK), body(b"x")
        ),
        "umlaut": answering(start(200, (b"x-name", "\\u00e4".encode())), body(b"x")),
        "latin-1 header": answering(start(200, (b"x-name", b"\\xe4")), body(b"x")),
        "bad header name": answering(start(200, (b"x name", b"v")), body(b"x")),
        "204": answering(start(204), body(b"dropped")),
        "304": answering(start(304, (b"etag", b'"a"')), body()),
        "gzip": answering(start(200, (b"content-encoding", b"gzip")), body(b"packed")),
        "404": answering(start(404), body(b"missing")),
        "status 99": answering(start(99), body(b"x")),
        "status 600": answering(start(600), body(b"x")),
        "bytearray": answering(start(), body(bytearray(b"array"))),
        "memoryview": answering(start(), body(memoryview(b"xviewx")[1:5])),
        "text": answering(start(), body("text")),
        "no answer": answering(),
        "start only": answering(start()),
        "body only": answering(body(b"x")),
        "two bodies": answering(start(), body(b"one"), body(b"two")),
        "unknown message": answering({"type": "http.odd"}, start(), body(b"x")),
        "streamed bytearray": answering(start(), body(bytearray(b"ab"), True), body(b"c")),
        "streamed null body": answering(start(204), body(b"a", True), body(b"c")),
        **{
            app.__name__: app
            for app in (
                shows_scope,
                reads_everything,
                works_after_the_answer,
                fails,
                fails_at_once,
                fails_after_the_answer,
                fails_while_streaming,
                streams,
            )
        },
        **{
            lifespan.__name__: with_lifespan(lifespan)
            for lifespan in (
                standard,
                starts_with_state,
                refuses_to_start,
                refuses_without_a_word,
                fails_to_stop,
                raises_when_stopping,
                returns_without_a_word,
                returns_after_the_start,
                says_something_unknown,
                says_it_twice,
                gives_up_waiting_once,
            )
        },
    }
'''
ENTRY = """
    import json
    from urllib.parse import unquote

    import asgi
    from programs import PROGRAMS, SEEN
    from workers import Response, WorkerEntrypoint


    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            _, name, way, form = unquote(request.url.split("?")[0]).rsplit("/", 3)
            if name == "seen":
                seen, SEEN[:] = list(SEEN), []
                return Response.json(seen)
            fetch = asgi.fetch if way == "ours" else asgi.fetch.__wrapped__
            match form:
                case "js":
                    return await fetch(PROGRAMS[name], request.js_object, self.env)
                case "manual" | "automatic":
                    options = asgi.Options(encode_body=form)
                    return await fetch(PROGRAMS[name], request, self.env, options=options)
                case "mistaken":
                    return await fetch(PROGRAMS[name], request, self.env, options="manual")
            return await fetch(PROGRAMS[name], request, self.env, self.ctx)
"""

NAMES = re.findall(r'^        "([^"]+)": answering', PROGRAMS, re.MULTILINE) + re.findall(
    r"^                (\w+),$", PROGRAMS, re.MULTILINE
)

# What differs between the two on purpose.
WAY = re.compile(r"/(ours|theirs)/")


def last_line(answer: Answer) -> str:
    """The error itself, without the traceback, which shows the way it took."""
    lines = [line for line in answer.text.splitlines() if line and not line.startswith("(")]
    return lines[-1] if lines else ""


async def outcome(
    flare: Pyflare, run: Runner, name: str, way: str, form: str, sent: dict[str, Any]
) -> Any:
    """Everything that can be seen of a program: the answer, what the application saw, what was logged."""
    run.err.text = ""
    answer: Any
    try:
        answer = await request(flare, f"/{name.replace(' ', '%20')}/{way}/{form}", **sent)
    except Exception as error:
        answer = type(error).__name__
    else:
        text = answer.body.decode(errors="backslashreplace")
        shown = last_line(answer) if answer.status == 500 else WAY.sub("/way/", text)
        headers = [pair for pair in answer.headers if pair[0] != "content-length"]
        answer = (answer.status, headers, shown)
    # Work that goes on after a streamed answer.
    for _ in range(20):
        await asyncio.sleep(0)
    seen = (await request(flare, "/seen/x/x")).json
    flare.log.flush()
    logged = re.findall(r"\[ERROR\] (.*)", run.err.text)
    return answer, seen, logged


def both_ways(
    run: Runner, tmp_path: Path, name: str, form: str, sent: dict[str, Any], **config: Any
) -> Any:
    """The outcome of ours, then of the SDK's own."""
    path = write_worker(
        tmp_path,
        {"src/entry.py": ENTRY, "src/programs.py": PROGRAMS},
        vars={"NAME": "own"},
        **config,
    )
    # Every request has a number of its own.
    sent = {**sent, "headers": {"cf-ray": "1-DFW", **sent.get("headers", {})}}

    async def program(flare: Pyflare) -> Any:
        return [await outcome(flare, run, name, way, form, sent) for way in ("ours", "theirs")]

    return run(program, path)


@pytest.mark.parametrize("form", ["sdk", "js"])
@pytest.mark.parametrize(
    "sent",
    [{}, {"method": "POST", "body": b"some content", "headers": {"x-b": " a ", "X-A": "\u00e9"}}],
    ids=["GET", "POST"],
)
@pytest.mark.parametrize("name", NAMES)
def test_both_ways(run: Runner, tmp_path: Path, name: str, sent: dict[str, Any], form: str) -> None:
    ours, theirs = both_ways(run, tmp_path, name, form, sent)

    assert ours == theirs
    assert ours[0] != (404, [], "")


@pytest.mark.parametrize("form", ["sdk", "js"])
@pytest.mark.parametrize("date", ["2026-02-16", "2026-02-17"])
@pytest.mark.parametrize(
    "sent",
    [
        {"headers": {"x-a": "1", "set-cookie": "a=1", "Set-Cookie": "b=2, c", "b": "2"}},
        {"headers": {"x-a": "2", "cookie": "a=1", "Cookie": "b=2", "X-A": "1"}},
        {"headers": {"x-a": "\u00a0padded\u00a0"}},
        {"method": "PURGE"},
    ],
    ids=["Set-Cookie", "repeated", "no-break space", "PURGE"],
)
def test_unusual_requests(
    run: Runner, tmp_path: Path, sent: dict[str, Any], date: str, form: str
) -> None:
    ours, theirs = both_ways(run, tmp_path, "shows_scope", form, sent, compatibility_date=date)

    assert ours == theirs


@pytest.mark.parametrize("form", ["automatic", "manual", "mistaken"])
@pytest.mark.parametrize("name", ["gzip", "204", "streams", "fails"])
def test_options(run: Runner, tmp_path: Path, name: str, form: str) -> None:
    ours, theirs = both_ways(run, tmp_path, name, form, {})

    assert ours == theirs


def test_the_programs_are_all_there() -> None:
    assert len(NAMES) > 40


GIVEN = {
    "the SDK's request": "asgi.fetch(app, request, self.env, self.ctx)",
    "its js_object": "asgi.fetch(app, request.js_object, self.env)",
    "its js_object and the context": "asgi.fetch(app, request.js_object, self.env, self.ctx)",
    "a clone": "asgi.fetch(app, request.clone(), self.env)",
    "a request of its own": "asgi.fetch(app, js.Request.new(request.url), self.env)",
    "options": "asgi.fetch(app, request, self.env, options=asgi.Options(encode_body='manual'))",
}


@pytest.mark.parametrize("call", GIVEN.values(), ids=GIVEN)
def test_a_client_that_goes_away_is_no_error_and_the_lifespan_is_ended(
    run: Runner, tmp_path: Path, call: str
) -> None:
    source = f"""
        import asyncio

        import asgi
        import js
        from workers import Response, WorkerEntrypoint

        SEEN = []
        GO = asyncio.Event()


        async def app(scope, receive, send):
            if scope["type"] == "lifespan":
                while True:
                    message = await receive()
                    SEEN.append(message["type"])
                    await send({{"type": message["type"] + ".complete"}})
                    if message["type"] == "lifespan.shutdown":
                        return
            SEEN.append("request")
            await GO.wait()
            await send({{"type": "http.response.start", "status": 200, "headers": []}})
            await send({{"type": "http.response.body", "body": b"late"}})


        class Default(WorkerEntrypoint):
            async def fetch(self, request):
                if request.url.endswith("/seen"):
                    GO.set()
                    for _ in range(6):
                        await asyncio.sleep(0)
                    return Response.json(SEEN)
                return await {call}
    """

    async def program(flare: Pyflare) -> Any:
        task = asyncio.create_task(request(flare, "/"))
        for _ in range(8):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        seen = (await request(flare, "/seen")).json
        flare.log.flush()
        return seen

    seen = run(program, write_worker(tmp_path, source))

    assert seen == ["lifespan.startup", "request", "lifespan.shutdown"]
    assert run.err.text == ""
