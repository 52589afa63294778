"""``fetch`` over a service binding: what arrives, what comes back, and for how long."""

from collections.abc import Callable
from typing import Any

import pytest

from .conftest import Workers

Between = Callable[..., Any]

ECHO = """
async def fetch(self, request):
    raw = request.js_object
    return Response.from_json({
        "method": raw.method, "url": raw.url, "headers": dict(iter(raw.headers)),
        "body": list(await request.bytes()), "worker": helper.NAME,
    })
"""


def test_method_url_headers_and_bytes_arrive_unchanged(between: Between) -> None:
    caller = """
    answer = await B.fetch("https://any.example/x/%2F%20y?a=1&a=2#f",
        method="PUT", headers={"X-A": "1"}, body=b"\\x00\\x01")
    return await answer.json()
    """
    assert between(ECHO, caller) == {
        "method": "PUT",
        "url": "https://any.example/x/%2F%20y?a=1&a=2",
        "headers": {"x-a": "1"},
        "body": [0, 1],
        "worker": "b",
    }


@pytest.mark.parametrize(
    "made",
    [
        "Request('http://x/y', method='POST', headers={'X-A': '1'}, body='abc')",
        "js.Request.new('http://x/y', method='POST', headers={'X-A': '1'}.items(), body='abc')",
    ],
)
def test_a_request_object_arrives(between: Between, made: str) -> None:
    answer = between(ECHO, f"return await (await B.fetch({made})).json()")
    assert (answer["method"], answer["url"], answer["body"]) == ("POST", "http://x/y", list(b"abc"))
    assert answer["headers"]["x-a"] == "1"


def test_options_win_over_the_request_object(between: Between) -> None:
    caller = """
    request = Request("http://x/y", method="POST", body="abc")
    answer = await B.fetch(request, method="PUT", headers={"X-A": "2"})
    return await answer.json()
    """
    answer = between(ECHO, caller)
    assert (answer["method"], answer["headers"]["x-a"], answer["body"]) == (
        "PUT",
        "2",
        list(b"abc"),
    )


def test_a_cache_mode_tells_the_other_side(between: Between) -> None:
    caller = """
    answer = await B.fetch("http://x/y", cache="no-store")
    return (await answer.json())["headers"]
    """
    assert between(ECHO, caller) == {"cache-control": "no-cache", "pragma": "no-cache"}


def test_a_used_body_cannot_be_sent(between: Between) -> None:
    caller = """
    request = Request("http://x/y", method="POST", body="abc")
    await B.fetch(request)
    try:
        await B.fetch(request)
    except OSError as error:
        return str(error)
    """
    assert between(ECHO, caller) == "Cannot reconstruct a Request with a used body."


def test_status_headers_cookies_and_body_come_back(between: Between) -> None:
    callee = """
    async def fetch(self, request):
        headers = [("X-B", "2"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")]
        return Response("made", status=201, status_text="Fine", headers=headers)
    """
    caller = """
    answer = await B.fetch("http://x/y")
    raw = answer.js_object
    return (answer.status, answer.status_text, answer.headers["x-b"],
        list(raw.headers.getSetCookie()), await answer.text(), answer.url)
    """
    assert between(callee, caller) == (201, "Fine", "2", ["a=1", "b=2"], "made", "http://x/y")


def test_the_response_is_the_callers_own(between: Between) -> None:
    callee = """
    async def fetch(self, request):
        helper.kept = Response("x", headers={"X-B": "1"})
        return helper.kept
    async def kept(self):
        try:
            await helper.kept.text()
        except OSError:
            return "used"
    """
    caller = """
    answer = await B.fetch("http://x/y")
    kept = await B.kept()
    try:
        answer.js_object.headers.set("x-c", "1")
    except JsException as error:
        return kept, str(error), await answer.text()
    """
    assert between(callee, caller) == ("used", "TypeError: Can't modify immutable headers.", "x")


def test_an_exception_of_the_callee_is_an_oserror_with_its_traceback(between: Between) -> None:
    callee = "async def fetch(self, request): raise ValueError('no')"
    caller = """
    try:
        await B.fetch("http://x/y")
    except OSError as error:
        return str(error)
    """
    text = between(callee, caller)
    assert text.startswith("PythonError: Traceback (most recent call last):\n")
    assert text.endswith("ValueError: no\n")


def test_the_raw_binding_raises_a_javascript_exception(between: Between) -> None:
    callee = "async def fetch(self, request): raise js.TypeError.new('no')"
    caller = """
    try:
        await B._binding.fetch("http://x/y")
    except JsException as error:
        return error.name, error.message, error.remote
    """
    assert between(callee, caller) == ("TypeError", "no", True)


def test_what_is_no_response_is_refused(between: Between) -> None:
    callee = "async def fetch(self, request): return 'text'"
    caller = """
    try:
        await B._binding.fetch("http://x/y")
    except JsException as error:
        return str(error)
    """
    assert (
        between(callee, caller)
        == "TypeError: Incorrect type for Promise: the Promise did not resolve to 'Response'."
    )


@pytest.mark.parametrize("address", ["not a url", "ftp://x/"])
def test_an_address_that_is_none_is_refused(between: Between, address: str) -> None:
    caller = f"""
    promise = B._binding.fetch({address!r})
    try:
        await promise
    except JsException as error:
        return error.name
    """
    assert between(ECHO, caller) == "TypeError"


REDIRECT = """
async def fetch(self, request):
    if request.url.endswith("/start"):
        return Response(None, status=int(request.js_object.headers["x-status"]),
            headers={"Location": "/end"})
    raw = request.js_object
    return Response(f"{raw.method} {raw.url} {await request.text()} {raw.redirect}")
"""


@pytest.mark.parametrize(
    ("status", "seen"),
    [
        (302, "GET http://x/end  manual"),
        (307, "POST http://x/end abc manual"),
        (303, "GET http://x/end  manual"),
    ],
)
def test_a_redirect_is_followed_through_the_binding(
    between: Between, status: int, seen: str
) -> None:
    caller = f"""
    answer = await B.fetch("http://x/start", method="POST", body="abc", headers={{"X-Status": "{status}"}})
    return answer.redirected, answer.url, await answer.text()
    """
    assert between(REDIRECT, caller) == (True, "http://x/end", seen)


def test_a_redirect_is_handed_back_when_that_is_asked_for(between: Between) -> None:
    caller = """
    answer = await B.fetch("http://x/start", redirect="manual", headers={"X-Status": "302"})
    return answer.status, answer.headers["location"], answer.redirected
    """
    assert between(REDIRECT, caller) == (302, "/end", False)


STREAM = """
async def fetch(self, request):
    seen = helper.SEEN
    async def chunks():
        for n in range(100):
            seen.append(n)
            yield b"x" * 1000
    async def read():
        reader = request.js_object.body.getReader()
        for _ in range(2):
            step = await reader.read()
            seen.append(step.value.byteLength)
        return "read"
    if request.method == "POST":
        return Response(await read())
    return Response(js.Response.new(js.ReadableStream.from_(chunks())).body)
async def seen(self): return helper.SEEN
"""


def test_a_response_streams_at_the_readers_pace(between: Between) -> None:
    caller = """
    answer = await B.fetch("http://x/")
    reader = answer.body.getReader()
    before = len(await B.seen())
    await reader.read()
    await asyncio.sleep(0.01)
    after = len(await B.seen())
    total = 1000
    while not (step := await reader.read()).done:
        total += step.value.byteLength
    return before <= 2, after <= 3, total, len(await B.seen())
    """
    assert between(STREAM, caller) == (True, True, 100_000, 100)


def test_a_request_streams_at_the_readers_pace(between: Between) -> None:
    caller = """
    made = []
    async def chunks():
        for n in range(100):
            made.append(n)
            yield b"y" * 500
    answer = await B.fetch("http://x/", method="POST", body=js.ReadableStream.from_(chunks()))
    text = await answer.text()
    await asyncio.sleep(0.01)
    return text, len(made) <= 4, await B.seen()
    """
    assert between(STREAM, caller) == ("read", True, [500, 500])


def test_the_callees_generator_is_closed_when_its_body_is_forgotten(between: Between) -> None:
    callee = """
    async def fetch(self, request):
        async def chunks():
            try:
                while True:
                    yield b"x"
            finally:
                helper.SEEN.append("closed")
        self.ctx.at_end(lambda: helper.SEEN.append("over"))
        return Response(js.ReadableStream.from_(chunks()))
    async def seen(self): return sorted(helper.SEEN)
    """
    caller = """
    answer = await B.fetch("http://x/")
    reader = answer.body.getReader()
    await reader.read()
    before = await B.seen()
    await reader.cancel()
    await asyncio.sleep(0.01)
    one = await B.seen()
    answer = await B.fetch("http://x/")
    del answer
    await asyncio.sleep(0.01)
    return before, one, await B.seen()
    """
    before, one, two = between(callee, caller)
    assert (before, one) == ([], ["closed", "over"])
    assert two.count("over") == 2


def test_a_failing_stream_fails_the_reader(between: Between) -> None:
    callee = """
    async def fetch(self, request):
        async def chunks():
            yield b"x"
            raise ValueError("broken")
        return Response(js.ReadableStream.from_(chunks()))
    """
    caller = """
    answer = await B.fetch("http://x/")
    try:
        await answer.text()
    except JsException as error:
        return error.message.rstrip().rpartition("\\n")[2]
    """
    assert between(callee, caller) == "ValueError: broken"


AUTH = """
async def fetch(self, request):
    if request.url.endswith("/half"):
        reader = request.js_object.body.getReader()
        await reader.read()
    return Response("no", status=401)
"""


@pytest.mark.parametrize("path", ["none", "half"])
@pytest.mark.parametrize("then", ["read", "return", "neither"])
def test_a_clone_sent_to_a_worker_that_ignores_it_holds_nothing_up(
    between: Between, path: str, then: str
) -> None:
    caller = f"""
    async def chunks():
        for _ in range(80):
            await asyncio.sleep(0)
            yield b"z" * 65536
    request = js.Request.new("http://x/{path}", method="POST", body=js.ReadableStream.from_(chunks()))
    answer = await B.fetch(request.clone())
    if {then!r} == "read":
        return answer.status, len((await request.bytes()).to_bytes())
    if {then!r} == "return":
        return answer.status, len(await answer.text())
    return answer.status, 0
    """
    length = {"read": 80 * 65536, "return": 2, "neither": 0}[then]
    assert between(AUTH, caller) == (401, length)


def test_a_request_can_be_passed_through(workers: Workers) -> None:
    workers.add(
        "a",
        """
        class Default(WorkerEntrypoint):
            async def test(self):
                answer = await self.env.B.fetch("http://x/", method="POST", body="abc", headers={"X-A": "1"})
                return answer.headers["x-a"], await answer.text()
        """,
        {"B": "b"},
    )
    workers.add(
        "b",
        """
        class Default(WorkerEntrypoint):
            async def fetch(self, request):
                return await self.env.C.fetch(request)
        """,
        {"C": "c"},
    )
    workers.add(
        "c",
        """
        class Default(WorkerEntrypoint):
            async def fetch(self, request):
                return Response(request.js_object.body, headers={"X-A": request.headers["x-a"]})
        """,
    )
    assert workers.call() == ("1", "abc")


def test_a_head_request_gets_no_body(between: Between) -> None:
    caller = """
    answer = await B.fetch("http://x/", method="HEAD")
    return answer.status, await answer.text()
    """
    assert between("async def fetch(self, request): return Response('body')", caller) == (200, "")


def test_aborting_ends_the_callee(between: Between) -> None:
    callee = """
    async def fetch(self, request):
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            helper.SEEN.append("cancelled")
            raise
    def seen(self): return helper.SEEN
    """
    caller = """
    controller = js.AbortController.new()
    js.setTimeout(create_proxy(lambda: controller.abort()), 5)
    try:
        await B._binding.fetch("http://x/", signal=controller.signal)
    except JsException as error:
        return error.name, await B.seen()
    """
    assert between(callee, caller) == ("AbortError", ["cancelled"])


def test_cf_properties_arrive_as_a_copy(between: Between) -> None:
    callee = """
    async def fetch(self, request):
        cf = request.cf
        cf.colo = "changed"
        return Response(cf.country)
    """
    caller = """
    request = js.Request.new("http://x/", cf=to_js({"country": "NZ", "colo": "AKL"}, dict_converter=Object.fromEntries))
    answer = await B.fetch(request)
    return await answer.text(), request.cf.colo
    """
    assert between(callee, caller) == ("NZ", "AKL")


def test_background_work_of_the_callee_goes_on(between: Between) -> None:
    callee = """
    async def fetch(self, request):
        async def later():
            await asyncio.sleep(0.005)
            helper.SEEN.append("done")
        self.ctx.waitUntil(later())
        return Response("now")
    def seen(self): return helper.SEEN
    """
    caller = """
    text = await (await B.fetch("http://x/")).text()
    before = await B.seen()
    await asyncio.sleep(0.02)
    return text, before, await B.seen()
    """
    assert between(callee, caller) == ("now", [], ["done"])


def test_a_websocket_reaches_the_caller(between: Between) -> None:
    callee = """
    async def fetch(self, request):
        client, server = js.WebSocketPair.new().object_values()
        server.accept()
        server.addEventListener("message", create_proxy(lambda event: server.send(f"{helper.NAME} {event.data}")))
        server.addEventListener("close", create_proxy(lambda event: helper.SEEN.append(event.code)))
        return Response(None, status=101, web_socket=client)
    def seen(self): return helper.SEEN
    """
    caller = """
    answer = await B.fetch("http://x/", headers={"Upgrade": "websocket"})
    socket = answer.js_object.webSocket
    came = asyncio.Queue()
    socket.addEventListener("message", create_proxy(lambda event: came.put_nowait(event.data)))
    socket.accept()
    socket.send("hello")
    text = await asyncio.wait_for(came.get(), 2)
    socket.close(1000, "bye")
    await asyncio.sleep(0.02)
    return answer.status, text, await B.seen()
    """
    assert between(callee, caller) == (101, "b hello", [1000])


@pytest.mark.parametrize("headers", [{}, {"Upgrade": "h2c"}, {"Connection": "Upgrade"}])
def test_a_websocket_that_nobody_asked_for_is_the_callees_failure(
    between: Between, headers: dict[str, str]
) -> None:
    callee = """
    async def fetch(self, request):
        client, server = js.WebSocketPair.new()
        server.accept()
        return Response(None, status=101, web_socket=client)
    """
    caller = f"""
    try:
        await B._binding.fetch("http://x/", headers={headers!r}.items())
    except JsException as error:
        return error.name, error.message
    """
    assert between(callee, caller) == (
        "TypeError",
        "Worker tried to return a WebSocket in a response to a request which did not contain the header "
        '"Upgrade: websocket".',
    )


def test_an_upgrade_is_named_in_any_case(between: Between) -> None:
    callee = """
    async def fetch(self, request):
        client, server = js.WebSocketPair.new()
        server.accept()
        return Response(None, status=101, web_socket=client)
    """
    caller = 'return (await B.fetch("http://x/", headers={"upgrade": "WebSocket"})).status'
    assert between(callee, caller) == 101


def test_requests_and_responses_cross_a_call(between: Between) -> None:
    callee = """
    async def handle(self, request):
        text = await request.text()
        return Response(f"{request.method} {text}", headers={"X-B": "1"})
    """
    caller = """
    answer = await B.handle(Request("http://x/", method="POST", body="abc"))
    return type(answer).__name__, answer.headers["x-b"], await answer.text()
    """
    assert between(callee, caller) == ("Response", "1", "POST abc")


def test_streams_blobs_and_headers_cross_a_call(between: Between) -> None:
    callee = """
    async def read(self, stream):
        chunks = []
        async for chunk in stream:
            chunks.append(bytes(chunk))
        return b"".join(chunks)
    async def blob(self, blob): return [type(blob).__name__, await blob.text()]
    def headers(self, headers): return headers["x-a"]
    def stream(self):
        async def chunks():
            yield b"12"
            yield b"3"
        return js.ReadableStream.from_(chunks())
    """
    caller = """
    async def chunks():
        yield b"ab"
        yield b"c"
    stream = js.ReadableStream.from_(chunks())
    read = bytes(await B.read(stream))
    back = b"".join([bytes(chunk) async for chunk in await B.stream()])
    return read, stream.locked, await B.blob(Blob("text")), await B.headers(js.Headers.new({"x-a": "1"}.items())), back
    """
    assert between(callee, caller) == (b"abc", True, ["Blob", "text"], "1", b"123")


def test_a_locked_stream_cannot_be_sent(between: Between) -> None:
    caller = """
    stream = js.ReadableStream.new()
    stream.getReader()
    writable = js.WritableStream.new()
    writable.getWriter()
    texts = []
    for locked in (stream, writable):
        try:
            await B.echo(locked)
        except JsException as error:
            texts.append(str(error))
    return texts
    """
    assert between("def echo(self, v): return v", caller) == [
        "TypeError: The ReadableStream has been locked to a reader.",
        "TypeError: The WritableStream has been locked to a writer.",
    ]


def test_a_writable_stream_is_written_from_the_other_side(between: Between) -> None:
    callee = """
    async def write(self, stream):
        writer = stream.getWriter()
        await writer.write(js.Uint8Array.new(to_js([1, 2])))
        await writer.close()
    """
    caller = """
    transform = js.TransformStream.new()
    reading = asyncio.ensure_future(js.Response.new(transform.readable).arrayBuffer())
    await B.write(transform.writable)
    return (await reading).to_bytes()
    """
    assert between(callee, caller) == b"\x01\x02"


def test_an_abort_signal_follows(between: Between) -> None:
    callee = """
    async def wait(self, signal):
        seen = asyncio.Event()
        signal.addEventListener("abort", create_proxy(lambda event: seen.set()))
        await asyncio.wait_for(seen.wait(), 2)
        return str(signal.reason)
    """
    caller = """
    controller = js.AbortController.new()
    call = B.wait(controller.signal)
    js.setTimeout(create_proxy(lambda: controller.abort(js.Error.new("stop"))), 5)
    return await call
    """
    flags = ["python_workers", "experimental", "enable_abortsignal_rpc"]
    assert between(callee, caller, compatibility_flags=flags) == "Error: stop"


ZIPPED = """
async def fetch(self, request):
    import gzip
    data = gzip.compress(b"text " * 200_000)
    async def chunks():
        for at in range(0, len(data), 100):
            yield data[at:at + 100]
    broken = request.url.endswith("broken")
    body = to_js(data[:-9] if broken else data)
    if request.url.endswith("stream"):
        body = js.ReadableStream.from_(chunks())
    return Response(js.Response.new(body, headers={"Content-Encoding": "gzip"}.items(), encodeBody="manual"))
"""


@pytest.mark.parametrize("path", ["whole", "stream"])
def test_a_body_that_the_callee_has_compressed_is_read_as_it_was(
    between: Between, path: str
) -> None:
    caller = f"""
    text = await (await B.fetch("http://x/{path}")).text()
    return len(text), text[:5]
    """
    assert between(ZIPPED, caller) == (1_000_000, "text ")


def test_a_compressed_body_is_given_as_it_is_to_whoever_asks_for_that(between: Between) -> None:
    caller = """
    request = js.Request.new("http://x/whole", encodeResponseBody="manual")
    answer = await B._binding.fetch(request)
    return (await answer.arrayBuffer()).to_bytes()[:2]
    """
    assert between(ZIPPED, caller) == b"\x1f\x8b"


def test_a_compressed_body_that_is_cut_off_fails(between: Between) -> None:
    caller = """
    try:
        await (await B._binding.fetch("http://x/broken")).text()
    except JsException as error:
        return error.name
    """
    assert between(ZIPPED, caller) == "TypeError"


def test_a_body_that_the_platform_would_compress_arrives_plain(between: Between) -> None:
    callee = """
    async def fetch(self, request):
        return Response("plain", headers={"Content-Encoding": "gzip"})
    """
    assert between(callee, "return await (await B.fetch('http://x/')).text()") == "plain"


def test_aborting_fails_the_body_that_is_being_read(between: Between) -> None:
    callee = """
    async def fetch(self, request):
        self.ctx.at_end(lambda: helper.SEEN.append("over"))
        async def chunks():
            yield b"x"
            await asyncio.sleep(60)
        return Response(js.ReadableStream.from_(chunks()))
    def seen(self): return helper.SEEN
    """
    caller = """
    controller = js.AbortController.new()
    answer = await B._binding.fetch("http://x/", signal=controller.signal)
    js.setTimeout(create_proxy(lambda: controller.abort()), 5)
    try:
        await answer.text()
    except JsException as error:
        await asyncio.sleep(0.01)
        return error.name, await B.seen()
    """
    assert between(callee, caller) == ("AbortError", ["over"])


@pytest.mark.parametrize(
    ("date", "mode", "expected"),
    [
        (
            "2024-11-10",
            "no-store",
            "The 'cache' field on 'RequestInitializerDict' is not implemented.",
        ),
        ("2025-08-06", "no-store", "taken"),
        ("2025-08-06", "no-cache", "Unsupported cache mode: no-cache"),
        ("2025-08-07", "no-cache", "taken"),
    ],
)
def test_cache_modes_come_with_their_dates(
    workers: Workers, date: str, mode: str, expected: str
) -> None:
    source = f"""
    class Default(WorkerEntrypoint):
        async def test(self):
            try:
                js.Request.new("http://x/", cache={mode!r})
            except JsException as error:
                return error.message
            return "taken"
    """
    # With a Pyodide that has the names which these Workers import.
    flags = ["python_workers", "python_workers_20250116"]
    workers.add("a", source, compatibility_date=date, compatibility_flags=flags)
    assert workers.call() == expected
