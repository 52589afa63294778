"""EventSource and the event stream format. The loop's clock is turned by hand: nothing sleeps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyflare.js.buffer import Uint8Array
from pyflare.js.callbacks import console_sink
from pyflare.js.error import Error, JsException
from pyflare.js.event_source import EventSource
from pyflare.js.event_stream import EventStreamParser, Message
from pyflare.js.fetch import outbound
from pyflare.js.readable import ReadableStream
from pyflare.js.request import Request
from pyflare.js.response import Response
from pyflare.js.timers import Timers, event_timers
from pyflare.js.value import jsnull


class TurnedLoop(asyncio.SelectorEventLoop):
    """A loop whose clock stands until it is turned."""

    now = 0.0

    def time(self) -> float:
        return self.now


async def turns() -> None:
    for _ in range(30):
        await asyncio.sleep(0)


async def pass_time(milliseconds: float) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, TurnedLoop)
    loop.now += milliseconds / 1000 + 1e-9
    await turns()


class Server:
    """Answers a worker's requests with responses prepared beforehand; keeps the requests."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.requests: list[Request] = []

    async def __call__(self, request: Request) -> Response:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer() if callable(answer) else answer  # type: ignore[no-any-return]


def events(text: str = "", **options: Any) -> Callable[[], Response]:
    return lambda: Response.new(
        text, {"headers": {"content-type": "text/event-stream"}.items(), **options}
    )


class Record:
    """What a source dispatched."""

    def __init__(self, source: EventSource, *kinds: str) -> None:
        self.seen: list[Any] = []
        source.onopen = lambda event: self.seen.append(("open", source.readyState))
        source.onerror = lambda event: self.seen.append((str(event.error), source.readyState))
        for kind in ("message", *kinds):
            source.addEventListener(kind, lambda event: self.seen.append((event.type, event.data)))


def run(test: Callable[[Timers], Coroutine[Any, Any, None]], server: Any = None) -> list[str]:
    """Run as one event of a worker; gives what was logged."""
    lines: list[str] = []

    async def main() -> None:
        timers = Timers()
        event_timers.set(timers)
        outbound.set(server)
        console_sink.set(lambda _level, text: lines.append(text))
        await test(timers)
        timers.cancel_all()

    with asyncio.Runner(loop_factory=TurnedLoop) as runner:
        runner.run(main())
    return lines


def test_messages_and_named_events_are_dispatched() -> None:
    server = Server(events("data: one\n\nevent: tick\ndata: 2\nid: 7\n\n"))

    async def test(_: Timers) -> None:
        source = EventSource.new("https://example.com/a/../stream")
        assert (source.url, source.readyState) == ("https://example.com/stream", 0)
        assert source.withCredentials is False
        record = Record(source, "tick")
        messages: list[Any] = []
        source.addEventListener("tick", messages.append)
        await turns()
        assert record.seen[:3] == [("open", 1), ("message", "one"), ("tick", "2")]
        assert (messages[0].lastEventId, messages[0].origin) == ("7", "https://example.com")
        source.close()

    run(test, server)
    headers = server.requests[0].headers
    assert headers.get("accept") == "text/event-stream"
    assert headers.get("cache-control") == "no-cache"
    assert headers.get("last-event-id") is jsnull


def test_it_connects_again_when_the_server_ends_the_connection() -> None:
    server = Server(events("id: 5\ndata: a\n\n"), events("data: b\n\n"), events())

    async def test(_: Timers) -> None:
        source = EventSource.new("https://example.com/")
        record = Record(source)
        await turns()
        assert record.seen == [
            ("open", 1),
            ("message", "a"),
            ("Error: The server disconnected.", 0),
        ]
        await pass_time(1999)
        assert len(server.requests) == 1
        await pass_time(1)
        assert record.seen[3:5] == [("open", 1), ("message", "b")]
        source.close()
        await pass_time(20_000)

    lines = run(test, server)
    assert [request.headers.get("last-event-id") for request in server.requests] == [jsnull, "5"]
    assert lines == ["Uncaught Error: The server disconnected."] * 2


@pytest.mark.parametrize(
    ("asked", "waited"), [("1", 1000), ("3500", 3500), ("99999", 10_000), ("x", 2000), ("-1", 2000)]
)
def test_the_server_says_when_to_connect_again_within_limits(asked: str, waited: int) -> None:
    server = Server(events(f"retry: {asked}\n\n"), events())

    async def test(_: Timers) -> None:
        source = EventSource.new("https://example.com/")
        await turns()
        await pass_time(waited - 1)
        assert len(server.requests) == 1
        await pass_time(1)
        assert len(server.requests) == 2
        source.close()
        await turns()

    run(test, server)


@pytest.mark.parametrize("after", [0, 1, 3, 50])
def test_it_is_closed_with_its_event(after: int) -> None:
    server = Server(events("data: a\n\n"))

    async def test(timers: Timers) -> None:
        source = EventSource.new("https://example.com/")
        for _ in range(after):
            await asyncio.sleep(0)
        timers.cancel_all()
        assert source.readyState == EventSource.CLOSED
        await turns()
        before = len(server.requests)
        await pass_time(20_000)
        assert len(server.requests) == before <= 1
        assert len(asyncio.all_tasks()) == 1

    run(test, server)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (events(status=503), "AbortError: The response status code was 503."),
        (
            lambda: Response.new("x", headers={"content-type": "text/html"}.items()),
            "AbortError: The content type 'text/html' is invalid.",
        ),
        (
            lambda: Response.new(Uint8Array.from_bytes(b"x")),
            "AbortError: No content type header was present in the response.",
        ),
        (ValueError("no route"), "no route"),
    ],
)
def test_a_response_that_is_no_event_stream_closes_it(answer: Any, reason: str) -> None:
    server = Server(answer)

    async def test(_: Timers) -> None:
        source = EventSource.new("https://example.com/")
        record = Record(source)
        await pass_time(20_000)
        assert record.seen == [(reason, EventSource.CLOSED)]

    lines = run(test, server)
    assert len(lines) == 1


def test_a_response_without_a_body_is_tried_a_second_time() -> None:
    def empty() -> Response:
        return Response.new(None, headers={"content-type": "text/event-stream"}.items())

    server = Server(empty, empty)

    async def test(_: Timers) -> None:
        record = Record(EventSource.new("https://example.com/"))
        await turns()
        await pass_time(2000)
        await pass_time(20_000)
        assert record.seen == [
            ("Error: The server provided no content. Will try reconnecting.", 0),
            ("Error: The server provided no content.", 2),
        ]

    run(test, server)


def test_a_lost_connection_is_opened_again_and_another_failure_is_not() -> None:
    def failing(error: Exception) -> Callable[[], Response]:
        async def generate() -> Any:
            yield b"data: a\n\n"
            raise error

        body = ReadableStream.from_async_iterator(generate())
        return lambda: Response.new(body, headers={"content-type": "text/event-stream"}.items())

    server = Server(failing(Error("Network connection lost.")), failing(OSError("broken")))

    async def test(_: Timers) -> None:
        record = Record(EventSource.new("https://example.com/"))
        await turns()
        await pass_time(2000)
        await pass_time(20_000)
        assert record.seen == [
            ("open", 1),
            ("message", "a"),
            ("Error: The server disconnected.", 0),
            ("open", 1),
            ("message", "a"),
            ("broken", 2),
        ]

    run(test, server)


def test_a_fetcher_of_ones_own_makes_the_requests() -> None:
    class Fetcher:
        async def fetch(self, url: str, init: Any) -> Response:
            assert (url, init.headers.accept) == ("https://inside/", "text/event-stream")
            return events("data: a\n\n")()

    async def test(_: Timers) -> None:
        source = EventSource.new("https://inside", fetcher=Fetcher())
        record = Record(source)
        await turns()
        assert ("message", "a") in record.seen
        source.close()

    run(test)


def test_after_close_nothing_is_dispatched() -> None:
    server = Server(events("data: a\n\ndata: b\n\n"))

    async def test(_: Timers) -> None:
        source = EventSource.new("https://example.com/")
        record = Record(source)
        source.addEventListener("message", lambda _: source.close())
        await pass_time(20_000)
        assert record.seen == [("open", 1), ("message", "a")]
        assert source.readyState == EventSource.CLOSED
        source.close()

    assert run(test, server) == []


def test_closing_gives_up_the_request_and_the_stream() -> None:
    async def test(_: Timers) -> None:
        cancelled: list[Any] = []

        async def generate() -> Any:
            yield b"data: a\n\n"
            await asyncio.Event().wait()

        stream = ReadableStream.from_async_iterator(generate(), cancel=cancelled.append)
        source = EventSource.from_(stream)
        await turns()
        source.close()
        await turns()
        assert len(cancelled) == 1

    run(test)


def test_a_stream_is_followed_to_its_end() -> None:
    async def test(_: Timers) -> None:
        source = EventSource.from_(ReadableStream.from_bytes("data: é\n\ndata: lost".encode()))
        record = Record(source)
        messages: list[Any] = []
        source.addEventListener("message", messages.append)
        assert source.url == ""
        await pass_time(20_000)
        assert record.seen == [
            ("open", 1),
            ("message", "é"),
            ("Error: The server disconnected.", 2),
        ]
        assert messages[0].origin is jsnull

    run(test)


def test_a_listener_that_fails_is_logged_and_the_rest_goes_on() -> None:
    async def test(_: Timers) -> None:
        source = EventSource.from_(ReadableStream.from_bytes(b"data: a\n\ndata: b\n\n"))
        seen: list[str] = []

        def listen(event: Any) -> None:
            seen.append(event.data)
            raise ValueError("listener")

        source.onmessage = listen
        await turns()
        assert seen == ["a", "b"]

    lines = run(test)
    assert [("listener" in line) for line in lines] == [True, True, False]


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (
            lambda: EventSource.new("no address"),
            "SyntaxError: Cannot open an EventSource to 'no address'. The URL is invalid.",
        ),
        (
            lambda: EventSource.new("https://example.com", withCredentials=True),
            "NotSupportedError: The init.withCredentials option is not supported. It must be false or undefined.",
        ),
        (
            lambda: EventSource.from_("data: a"),
            "TypeError: Failed to execute 'from' on 'EventSource': parameter 1 is not of type 'ReadableStream'.",
        ),
    ],
)
def test_what_cannot_be_a_source_is_refused(make: Callable[[], Any], reason: str) -> None:
    async def test(_: Timers) -> None:
        with pytest.raises(JsException) as caught:
            make()
        assert str(caught.value) == reason

    run(test)


def test_a_stream_that_is_in_use_is_refused() -> None:
    async def test(_: Timers) -> None:
        locked = ReadableStream.from_bytes(b"x")
        reader = locked.getReader()
        with pytest.raises(JsException, match=r"^TypeError: This ReadableStream is locked\.$"):
            EventSource.from_(locked)
        await reader.read()
        reader.releaseLock()
        with pytest.raises(JsException, match=r"This ReadableStream has already been read from\.$"):
            EventSource.from_(locked)

    run(test)


def test_there_is_no_source_outside_of_events() -> None:
    with pytest.raises(JsException) as caught:
        EventSource.new("https://example.com")
    assert str(caught.value) == (
        "NotSupportedError: An EventSource can only be created within the context of a worker request."
    )


def test_the_states_are_constants() -> None:
    assert (EventSource.CONNECTING, EventSource.OPEN, EventSource.CLOSED) == (0, 1, 2)


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("data: a\n\n", [("message", "a", "")]),
        ("data:a\n\n", [("message", "a", "")]),
        ("data:  a\n\n", [("message", " a", "")]),
        ("data: a\r\rdata: b\r\n\r\n", [("message", "a", ""), ("message", "b", "")]),
        ("data: a\ndata: b\n\n", [("message", "a\nb", "")]),
        ("data\n\n", []),
        ("data\ndata\n\n", [("message", "\n", "")]),
        ("event: x\n\ndata: a\n\n", [("message", "a", "")]),
        ("event: x\ndata: a\n\ndata: b\n\n", [("x", "a", ""), ("message", "b", "")]),
        ("id: 1\ndata: a\n\ndata: b\n\n", [("message", "a", "1"), ("message", "b", "1")]),
        ("id: 1\n\nid\ndata: a\n\n", [("message", "a", "")]),
        (": comment\ndata: a\nunknown: x\n\n", [("message", "a", "")]),
        ("data: a", []),
        ("data: a\n", []),
        ("\ufeffdata: a\n\n", [("message", "a", "")]),
        ("\ufeff\ufeffdata: a\n\n", []),
    ],
)
def test_the_event_stream_format(text: str, messages: list[tuple[str, str, str]]) -> None:
    assert EventStreamParser().feed(text.encode()) == [Message(*message) for message in messages]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(["data: é", "data", "event: x", "id: 1", ":", "\n", "\r", "\r\n", "\ufeff"])
    ).map("".join),
    st.lists(st.integers(0, 100), max_size=6),
)
def test_cuts_do_not_matter(text: str, places: list[int]) -> None:
    data = text.encode() + b"\n"
    bounds = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    parser = EventStreamParser()
    messages: list[Message] = []
    for start, end in zip(bounds, [*bounds[1:], len(data)], strict=True):
        messages += parser.feed(data[start:end])
    assert messages == EventStreamParser().feed(data)


def test_a_message_without_an_end_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyflare.js import event_stream

    monkeypatch.setattr(event_stream, "BODY_LIMIT", 1000)
    parser = EventStreamParser()
    with pytest.raises(JsException, match="Memory limit exceeded"):
        parser.feed(b"data: 0123456789\n" * 200)
