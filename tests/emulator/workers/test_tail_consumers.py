"""What tail consumers are told of the events of other workers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from pyflare import Pyflare
from pyflare.workers.tracing.items import redacted_header, redacted_url
from tests.emulator.conftest import Runner, request, write_worker

TAIL = """
    from js import JSON, console
    from workers import WorkerEntrypoint

    class Default(WorkerEntrypoint):
        async def tail(self, events, env, ctx):
            console.log("TAIL " + JSON.stringify(events))
"""

PRODUCER = """
    import asyncio
    from js import console
    from workers import Response, WorkerEntrypoint

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            console.log("one", 1)
            console.error("two")
            if request.url.endswith("/fail"):
                raise ValueError("broken")
            if request.url.endswith("/later"):
                async def work():
                    await asyncio.sleep(0)
                    console.log("later")
                    raise KeyError("background")
                self.ctx.waitUntil(work())
            return Response("ok", status=201)

        async def scheduled(self, controller, env, ctx):
            console.log("tick")

        async def queue(self, batch, env, ctx):
            pass

        async def email(self, message, env, ctx):
            pass

    class Named(WorkerEntrypoint):
        async def add(self, a, b):
            return a + b
"""

MAIL = b"From: a@x.test\r\nTo: b@x.test\r\nMessage-ID: <1@x>\r\n\r\n"

Program = Callable[[Pyflare], Awaitable[Any]]


def traces(run: Runner, folder: Path, program: Program, tail: str = TAIL, **config: Any) -> Any:
    """Run a program against a producer and its consumer; gives what the consumer was told."""
    producer = write_worker(
        folder / "producer",
        PRODUCER,
        **{"tail_consumers": [{"service": "tail"}], **config},
    )
    consumer = write_worker(folder / "tail", tail)

    async def told(flare: Pyflare) -> Any:
        await program(flare)
        await settle()

    run(told, producer, consumer)
    lines = run.out.text.splitlines()
    return [json.loads(line.partition("TAIL ")[2]) for line in lines if "TAIL " in line]


async def settle() -> None:
    for _ in range(30):
        await asyncio.sleep(0)


def test_a_request_is_told_with_its_logs_and_response(run: Runner, tmp_path: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        await request(
            flare, "/path?q=1", method="POST", body=b"x",
            headers={"X-Tag": "t", "Authorization": "secret"},
        )  # fmt: skip

    ((item,),) = traces(run, tmp_path, program)
    event = item.pop("event")
    assert event["response"] == {"status": 201}
    assert (event["request"]["method"], event["request"]["url"]) == (
        "POST",
        "http://localhost:8787/path?q=1",
    )
    assert event["request"]["headers"]["x-tag"] == "t"
    assert event["request"]["headers"]["authorization"] == "REDACTED"
    logs = item.pop("logs")
    assert [(each["level"], each["message"]) for each in logs] == [
        ("log", ["one", 1]),
        ("error", ["two"]),
    ]
    assert item.pop("eventTimestamp") <= logs[0]["timestamp"]
    assert item.pop("wallTime") >= 0
    assert item == {
        "scriptName": "producer",
        "exceptions": [],
        "diagnosticsChannelEvents": [],
        "outcome": "ok",
        "executionModel": "stateless",
        "truncated": False,
        "cpuTime": 0,
    }


def test_an_exception_is_told(run: Runner, tmp_path: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        assert (await request(flare, "/fail")).status == 500

    ((item,),) = traces(run, tmp_path, program)
    (error,) = item["exceptions"]
    assert (item["outcome"], error["name"]) == ("exception", "PythonError")
    assert error["message"].endswith("ValueError: broken\n")
    assert "response" not in item["event"]


def test_what_has_no_value_is_there_as_undefined(run: Runner, tmp_path: Path) -> None:
    tail = """
        import json
        from js import Object, console
        from workers import WorkerEntrypoint

        def described(value):
            return [value.constructor.name, *Object.keys(value)]

        class Default(WorkerEntrypoint):
            async def tail(self, events, env, ctx):
                item = events[0]
                unset = [item.event.response, item.entrypoint, item.scriptVersion, item.preview,
                    item.dispatchNamespace, item.scriptTags, item.durableObjectId,
                    item.tailAttributes, item.logs[0].errorInfo]
                assert unset == [None] * 9
                kinds = [item, item.event, item.event.request, item.logs[0], item.exceptions[0]]
                console.log("TAIL " + json.dumps([described(each) for each in kinds]))
    """

    async def program(flare: Pyflare) -> Any:
        await request(flare, "/fail")

    (told,) = traces(run, tmp_path, program, tail)
    assert [" ".join(each) for each in told] == [
        "TraceItem event eventTimestamp logs exceptions diagnosticsChannelEvents scriptName "
        "entrypoint scriptVersion dispatchNamespace scriptTags tailAttributes preview "
        "durableObjectId outcome executionModel truncated cpuTime wallTime",
        "FetchEventInfo response request",
        "Request cf headers method url",
        "TraceLog timestamp level message errorInfo",
        "TraceException timestamp message name stack",
    ]


def test_the_class_of_an_event_tells_its_kind(run: Runner, tmp_path: Path) -> None:
    tail = """
        from js import JSON, Object, console
        from workers import WorkerEntrypoint

        class Default(WorkerEntrypoint):
            async def tail(self, events, env, ctx):
                event = events[0].event
                console.log("TAIL " + JSON.stringify([event.constructor.name, *Object.keys(event)]))
    """

    async def program(flare: Pyflare) -> Any:
        from pyflare.env.email.delivery import deliver
        from pyflare.js.array import JsArray
        from pyflare.js.value import JsObject

        worker, registry = flare.loaded("producer"), flare.registry
        assert registry is not None
        assert await flare.env("producer").SELF.add(1, 2) == 3
        controller = JsObject.adopt({"cron": "* * * * *", "scheduledTime": 5})
        await worker.run(worker.handle("scheduled", controller))
        batch = JsObject.adopt({"queue": "q", "messages": JsArray.adopt([])})
        await worker.run(worker.handle("queue", batch))
        await deliver(worker, registry, "a@x.test", "b@x.test", MAIL)

    services = [{"binding": "SELF", "service": "producer", "entrypoint": "Named"}]
    assert traces(run, tmp_path, program, tail, services=services) == [
        ["JsRpcEventInfo", "rpcMethod"],
        ["ScheduledEventInfo", "scheduledTime", "cron"],
        ["QueueEventInfo", "queue", "batchSize"],
        ["EmailEventInfo", "mailFrom", "rcptTo", "rawSize"],
    ]


@pytest.mark.parametrize("path", ["/fail", "/later"])
def test_a_told_traceback_begins_in_the_code_of_the_worker(
    run: Runner, tmp_path: Path, path: str
) -> None:
    async def program(flare: Pyflare) -> Any:
        await request(flare, path)

    ((item,),) = traces(run, tmp_path, program)
    (error,) = item["exceptions"]
    head, first, *rest = error["message"].splitlines()
    assert head == "Traceback (most recent call last):"
    assert first.startswith(f'  File "{tmp_path / "producer"}')
    assert not any("/pyflare/" in line for line in rest)
    assert error["stack"] == error["message"]


def test_the_event_lasts_until_its_background_work_is_done(run: Runner, tmp_path: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        await request(flare, "/later")

    ((item,),) = traces(run, tmp_path, program)
    assert item["logs"][-1]["message"] == ["later"]
    assert (item["outcome"], len(item["exceptions"])) == ("exception", 1)
    assert item["event"]["response"] == {"status": 201}


def test_events_of_other_kinds_are_told(run: Runner, tmp_path: Path) -> None:
    from pyflare.env.email.delivery import deliver

    async def program(flare: Pyflare) -> Any:
        from pyflare.js.value import JsObject

        worker, registry = flare.loaded("producer"), flare.registry
        assert registry is not None
        controller = JsObject.adopt({"cron": "* * * * *", "scheduledTime": 5})
        await worker.run(worker.handle("scheduled", controller))
        await deliver(worker, registry, "a@x.test", "b@x.test", MAIL)

    told = traces(run, tmp_path, program)
    assert [items[0]["event"] for items in told] == [
        {"cron": "* * * * *", "scheduledTime": 5},
        {"mailFrom": "a@x.test", "rcptTo": "b@x.test", "rawSize": 51},
    ]
    assert told[0][0]["logs"][0]["message"] == ["tick"]


def test_calls_over_a_binding_are_told_with_method_and_entrypoint(
    run: Runner, tmp_path: Path
) -> None:
    async def program(flare: Pyflare) -> Any:
        assert await flare.env("producer").SELF.add(1, 2) == 3

    services = [{"binding": "SELF", "service": "producer", "entrypoint": "Named"}]
    ((item,),) = traces(run, tmp_path, program, services=services)
    assert (item["event"], item["entrypoint"]) == ({"rpcMethod": "add"}, "Named")


def test_the_consumer_gets_a_list_of_objects(run: Runner, tmp_path: Path) -> None:
    tail = """
        from js import console
        from workers import WorkerEntrypoint

        class Default(WorkerEntrypoint):
            async def tail(self, events, env, ctx):
                item = events[0]
                request = item.event.request
                console.log(f'TAIL {{"type": "{type(events).__name__}", "n": {len(item.logs)},'
                    f' "name": "{item.constructor.name}", "url": "{request.url}",'
                    f' "whole": "{request.getUnredacted().url}", "env": {len([env]) - 1}}}')
    """

    async def program(flare: Pyflare) -> Any:
        await request(flare, "/0123456789abcdef0123456789abcdef")

    (told,) = traces(run, tmp_path, program, tail)
    base = "http://localhost:8787/"
    assert told == {
        "type": "list",
        "n": 2,
        "name": "TraceItem",
        "url": base + "REDACTED",
        "whole": base + "0123456789abcdef0123456789abcdef",
        "env": 0,
    }


def test_a_named_entrypoint_can_be_the_consumer(run: Runner, tmp_path: Path) -> None:
    tail = TAIL.replace("Default", "Logs").replace(", env, ctx", "")
    consumers = [{"service": "tail", "entrypoint": "Logs"}]

    async def program(flare: Pyflare) -> Any:
        await request(flare)

    assert len(traces(run, tmp_path, program, tail, tail_consumers=consumers)) == 1


def test_logs_beyond_the_limit_are_left_out(run: Runner, tmp_path: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        from js import console

        async def event() -> None:
            for _ in range(30):
                console.log("x" * 10_000)

        worker = flare.loaded("producer")
        await worker.run(event())

    ((item,),) = traces(run, tmp_path, program)
    assert (len(item["logs"]), item["truncated"], item["event"]) == (26, True, None)


def test_what_is_logged_is_told_as_values(run: Runner, tmp_path: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        from js import Object, console
        from pyodide.ffi import jsnull, to_js

        async def event() -> None:
            made = to_js({"a": [1, {"b": None}]}, dict_converter=Object.fromEntries)
            console.log("text", 1.5, True, jsnull, made, [1], lambda: 1)
            console.group("outer")
            console.warn("inner")
            console.count()
            console.countReset()
            console.groupEnd()

        await flare.loaded("producer").run(event())

    ((item,),) = traces(run, tmp_path, program)
    first, outer, inner, count = [each["message"] for each in item["logs"]]
    assert first[:6] == ["text", 1.5, True, None, {"a": [1, {}]}, [1]]
    assert isinstance(first[6], str)
    assert (outer, inner, count) == (["outer"], ["inner"], ["  default: 1"])


def test_consumers_of_each_other_come_to_an_end(run: Runner, tmp_path: Path) -> None:
    def both(name: str, other: str) -> Path:
        source = PRODUCER.replace("class Default(WorkerEntrypoint):", TAIL_METHOD, 1)
        return write_worker(tmp_path / name, source, tail_consumers=[{"service": other}])

    async def program(flare: Pyflare) -> Any:
        await request(flare, host="a.localhost")
        await settle()

    run(program, both("a", "b"), both("b", "a"))
    assert run.out.text.count("TAIL") == 1


TAIL_METHOD = """class Default(WorkerEntrypoint):
        async def tail(self, events, env, ctx):
            console.log("TAIL")
"""


def test_a_failing_consumer_is_reported_and_harms_nobody(run: Runner, tmp_path: Path) -> None:
    tail = """
        from workers import WorkerEntrypoint

        class Default(WorkerEntrypoint):
            async def tail(self, events, env, ctx):
                raise ValueError("no space")
    """

    async def program(flare: Pyflare) -> Any:
        assert (await request(flare)).status == 201

    traces(run, tmp_path, program, tail)
    assert "no space" in run.err.text
    assert "tail()" in run.err.text


@pytest.mark.parametrize(
    ("consumers", "text"),
    [
        ([{"service": "elsewhere"}], 'its tail consumer "elsewhere" is not running here'),
        ([{"service": "other"}], 'its tail consumer "other" has no tail() handler'),
    ],
)
def test_a_consumer_that_cannot_be_told_is_named_at_the_start(
    run: Runner, tmp_path: Path, consumers: Any, text: str
) -> None:
    async def program(flare: Pyflare) -> Any:
        assert (await request(flare, host="producer.localhost")).status == 201

    producer = write_worker(tmp_path / "producer", PRODUCER, tail_consumers=consumers)
    other = write_worker(tmp_path / "other", PRODUCER)
    run(program, producer, other)
    assert text in run.err.text


def test_consumers_follow_the_configuration_after_a_reload(run: Runner, tmp_path: Path) -> None:
    producer = write_worker(tmp_path / "producer", PRODUCER)
    consumer = write_worker(tmp_path / "tail", TAIL)

    async def program(flare: Pyflare) -> Any:
        counts = []
        for consumers in ([], [{"service": "tail"}], []):
            write_worker(tmp_path / "producer", PRODUCER, tail_consumers=consumers)
            await flare.reload(producer)
            await request(flare)
            await settle()
            flare.log.flush()
            counts.append(run.out.text.count("TAIL"))
        return counts

    assert run(program, producer, consumer) == [0, 1, 1]


HEX = "0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://x.test/plain?q=1", None),
        (f"http://x.test/{HEX}", "http://x.test/REDACTED"),
        (f"http://x.test/{HEX[:-1]}", None),
        ("http://x.test/?k=ABcd12aaaaaaaaaaaaaaa", "http://x.test/?k=REDACTED"),
        ("http://x.test/?k=ABcd12aaaaaaaaaaaaaa", None),
        ("http://x.test/?k=abcdefghijklmnopqrstuvwxyz", None),
        ("http://x.test/01234567-89ab-cdef-0123-456789abcdef", "http://x.test/REDACTED"),
    ],
)
def test_what_looks_like_a_random_id_is_blotted_out(url: str, shown: str | None) -> None:
    assert redacted_url(url) == (shown or url)


@pytest.mark.parametrize(
    "name", ["cookie", "set-cookie", "authorization", "x-api-key", "x-jwt", "x-token", "x-secret"]
)
def test_headers_that_tell_of_credentials_are_blotted_out(name: str) -> None:
    assert redacted_header(name, "v") == "REDACTED"
    assert redacted_header("accept", "v") == "v"
