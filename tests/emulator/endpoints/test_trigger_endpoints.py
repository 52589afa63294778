"""The addresses that trigger cron, email and queue handlers: their names, old and new, and their answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pyflare.server.application import Application
from pyflare_bindings.clock import ManualClock
from tests.emulator.conftest import Answer, Runner, request, write_worker

WORKER = """
from workers import Response, WorkerEntrypoint

seen = []

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response("the Worker")

    async def scheduled(self, controller, env, ctx):
        seen.append((controller.cron, controller.scheduledTime))
        if controller.cron == "no retry":
            controller.noRetry()
        if controller.cron in ("fail", "no retry"):
            raise ValueError("no")

    async def email(self, message, env, ctx):
        to = getattr(message, "to")
        seen.append((getattr(message, "from"), to, message.rawSize))
        if to.startswith("fail"):
            raise ValueError("no")
        if to.startswith("reject"):
            message.setReject("we are closed")

    async def queue(self, batch, env, ctx):
        seen.append((batch.queue, [message.body for message in batch.messages]))
        for message in batch.messages:
            if message.body == "fail":
                raise ValueError("no")
            if message.body == "retry":
                message.retry()
"""

QUEUE = {"queues": {"consumers": [{"queue": "orders"}]}}


def seen(flare: Any) -> list[Any]:
    return list(flare.loaded().entrypoints.default.fetch.__globals__["seen"])


def ask(run: Runner, tmp_path: Path, path: str, **options: Any) -> tuple[Answer, list[Any]]:
    config = write_worker(tmp_path, WORKER, **QUEUE)

    async def program(flare: Any) -> Any:
        return await request(flare, path, **options), seen(flare)

    answered: tuple[Answer, list[Any]] = run(program, config, clock=ManualClock(1000.5))
    return answered


# scheduled

SCHEDULED = ["/cdn-cgi/local/scheduled", "/cdn-cgi/handler/scheduled", "/cdn-cgi/mf/scheduled"]


@pytest.mark.parametrize("address", SCHEDULED)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_every_address_runs_the_scheduled_handler(
    run: Runner, tmp_path: Path, address: str, method: str
) -> None:
    answer, ran = ask(run, tmp_path, f"{address}?cron=*+*+*+*+*&time=1700000000000", method=method)

    assert (answer.status, answer.text) == (200, "ok")
    assert ran == [("* * * * *", 1_700_000_000_000)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ("", 1_000_500)),
        ("?cron=a%2Fb", ("a/b", 1_000_500)),
        ("?time=5", ("", 5)),
        ("?time=", ("", 1_000_500)),
        ("?time=7.9", ("", 7)),
        ("?time=-5&cron=x&cron=y", ("x", -5)),
    ],
)
def test_what_the_query_says(
    run: Runner, tmp_path: Path, query: str, expected: tuple[str, int]
) -> None:
    assert ask(run, tmp_path, f"/cdn-cgi/handler/scheduled{query}")[1] == [expected]


@pytest.mark.parametrize("time", ["tomorrow", "9999999999999999", "-9999999999999999"])
def test_a_time_that_is_none_is_refused(run: Runner, tmp_path: Path, time: str) -> None:
    answer, ran = ask(run, tmp_path, f"/cdn-cgi/handler/scheduled?time={time}")

    assert (answer.status, ran) == (400, [])
    assert answer.text == f'"time" is a number of milliseconds since 1970, not "{time}".'


@pytest.mark.parametrize(
    ("query", "status", "text"),
    [
        ("?cron=fail", 500, "exception"),
        ("?format=json", 200, {"outcome": "ok", "noRetry": False}),
        ("?format=json&cron=fail", 500, {"outcome": "exception", "noRetry": False}),
        ("?format=json&cron=no+retry", 500, {"outcome": "exception", "noRetry": True}),
    ],
)
def test_the_outcome_is_the_answer(
    run: Runner, tmp_path: Path, query: str, status: int, text: Any
) -> None:
    answer, _ = ask(run, tmp_path, f"/cdn-cgi/local/scheduled{query}")

    assert (answer.status, answer.json if "json" in query else answer.text) == (status, text)


def test_the_worker_is_chosen_as_for_requests(run: Runner, tmp_path: Path) -> None:
    configs = [
        write_worker(tmp_path / name, {f"src/{name}.py": WORKER}, main=f"src/{name}.py")
        for name in ("one", "two")
    ]

    async def program(flare: Any) -> Any:
        await request(flare, "/cdn-cgi/handler/scheduled?cron=first")
        await request(flare, "/cdn-cgi/handler/scheduled?cron=second", host="two.localhost:8787")
        modules = [
            flare.loaded(name).entrypoints.default.fetch.__globals__ for name in ("one", "two")
        ]
        return [[cron for cron, _ in module["seen"]] for module in modules]

    assert run(program, *configs) == [["first"], ["second"]]


@pytest.mark.parametrize(
    ("cron", "status", "text"),
    [
        ("*", 200, "Ran scheduled event"),
        ("fail", 500, "The scheduled event failed; the log says why."),
    ],
)
def test_the_test_address_runs_the_handler_when_it_is_asked_for(
    run: Runner, tmp_path: Path, cron: str, status: int, text: str
) -> None:
    async def program(flare: Any) -> Any:
        app = Application(log=flare.log, **flare.rules(test_scheduled=True))
        answer = await request(app, f"/__scheduled?cron={cron}")  # type: ignore[arg-type]
        foreign = await request(app, "/__scheduled", host="evil.example")  # type: ignore[arg-type]
        return answer.status, answer.text, foreign.status, len(seen(flare))

    assert run(program, write_worker(tmp_path, WORKER)) == (status, text, 403, 1)


def test_the_test_address_belongs_to_the_worker_otherwise(run: Runner, tmp_path: Path) -> None:
    answer, ran = ask(run, tmp_path, "/__scheduled")

    assert (answer.text, ran) == ("the Worker", [])


# email

EMAIL = b"From: <a@one.test>\r\nTo: <b@two.test>\r\nMessage-ID: <1@one.test>\r\n\r\nhello"


@pytest.mark.parametrize("address", ["/cdn-cgi/local/email", "/cdn-cgi/handler/email"])
def test_every_address_hands_over_a_message(run: Runner, tmp_path: Path, address: str) -> None:
    answer, ran = ask(
        run, tmp_path, f"{address}?from=a@one.test&to=b@two.test", method="POST", body=EMAIL
    )

    assert (answer.status, answer.text) == (200, "Worker successfully processed email")
    assert ran == [("a@one.test", "b@two.test", len(EMAIL))]


INCOMPLETE = (
    "Invalid email. Your request must include URL parameters specifying the `from` and `to` addresses, as well as an "
    "email in the body"
)


@pytest.mark.parametrize(
    ("query", "body", "status", "text"),
    [
        ("", EMAIL, 400, INCOMPLETE),
        ("?from=a@one.test", EMAIL, 400, INCOMPLETE),
        ("?to=a@one.test", EMAIL, 400, INCOMPLETE),
        ("?from=a@one.test&to=b@two.test", b"", 400, INCOMPLETE),
        (
            "?from=a@one.test&to=b@two.test",
            b"From: a@one.test\r\n\r\nx",
            400,
            "Email could not be parsed: invalid or no message id provided",
        ),
        (
            "?from=a@one.test&to=b@two.test",
            b"To: " + b"(" * 100_000 + b"\r\nMessage-ID: <a@one.test>\r\n\r\nx",
            400,
            "Email could not be parsed: Error: its headers are nested too deeply",
        ),
        (
            "?from=a@one.test&to=reject@two.test",
            EMAIL,
            400,
            "Worker rejected email with the following reason: we are closed",
        ),
        (
            "?from=a@one.test&to=b@two.test",
            EMAIL + b"x" * (1 << 20),
            400,
            "Email message size is within the production size limit of 25MiB, but exceeds the lower 1Mib limit for "
            "testing locally.",
        ),
        (
            "?from=a@one.test&to=b@two.test",
            EMAIL + b"x" * (25 << 20),
            400,
            "Email message size is bigger than the production size limit of 25MiB. Local development has a lower "
            "limit of 1Mib.",
        ),
    ],
)
def test_what_is_wrong_with_a_message_is_told(
    run: Runner, tmp_path: Path, query: str, body: bytes, status: int, text: str
) -> None:
    answer, _ = ask(run, tmp_path, f"/cdn-cgi/handler/email{query}", method="POST", body=body)

    assert (answer.status, answer.text) == (status, text)


def test_parts_within_parts_are_the_handlers_matter(run: Runner, tmp_path: Path) -> None:
    deep = b"".join(
        b'Content-Type: multipart/mixed; boundary="%d"\r\n\r\n--%d\r\n' % (at, at)
        for at in range(3000)
    )
    body = b"From: a@one.test\r\nTo: b@two.test\r\nMessage-ID: <a@one.test>\r\n" + deep

    answer, ran = ask(
        run,
        tmp_path,
        "/cdn-cgi/handler/email?from=a@one.test&to=b@two.test",
        method="POST",
        body=body,
    )

    assert (answer.status, ran) == (200, [("a@one.test", "b@two.test", len(body))])


def test_a_failing_email_handler_is_a_failure(run: Runner, tmp_path: Path) -> None:
    path = "/cdn-cgi/handler/email?from=a@one.test&to=fail@two.test"

    answer, _ = ask(run, tmp_path, path, method="POST", body=EMAIL)
    as_json, _ = ask(run, tmp_path, f"{path}&format=json", method="POST", body=EMAIL)

    assert answer.status == as_json.status == 500
    assert as_json.json["outcome"] == "exception"
    assert "Uncaught ValueError: no (in email)" in run.err.text


def test_a_rejection_stays_a_success_in_json(run: Runner, tmp_path: Path) -> None:
    path = "/cdn-cgi/local/email?from=a@one.test&to=reject@two.test&format=json"

    answer, _ = ask(run, tmp_path, path, method="POST", body=EMAIL)

    assert answer.status == 200
    assert answer.json["rejectReason"] == "we are closed"


# queues


@pytest.mark.parametrize(
    "address", ["/cdn-cgi/local/queue/orders", "/cdn-cgi/handler/queue/orders"]
)
@pytest.mark.parametrize(
    "wrap", [lambda messages: messages, lambda messages: {"messages": messages}]
)
def test_every_address_hands_over_messages(
    run: Runner, tmp_path: Path, address: str, wrap: Any
) -> None:
    body = json.dumps(wrap([{"body": {"id": 1}}, {"body": "retry", "id": "two"}])).encode()

    answer, ran = ask(run, tmp_path, address, method="POST", body=body)

    assert ran == [("orders", [{"id": 1}, "retry"])]
    assert (answer.status, answer.json["outcome"]) == (200, "ok")
    assert answer.json["retryMessages"] == [{"msgId": "two"}]


def test_a_failing_consumer_is_a_failure(run: Runner, tmp_path: Path) -> None:
    answer, _ = ask(
        run, tmp_path, "/cdn-cgi/local/queue/orders", method="POST", body=b'[{"body": "fail"}]'
    )

    assert (answer.status, answer.json["outcome"]) == (500, "exception")


@pytest.mark.parametrize(
    ("path", "method", "body", "status", "text"),
    [
        ("orders", "GET", b"", 405, "POST JSON to /cdn-cgi/local/queue/<name>"),
        ("", "POST", b"[]", 400, "POST JSON to /cdn-cgi/local/queue/<name>"),
        ("orders", "POST", b"{", 400, "The body is not JSON."),
        ("orders", "POST", b"[]", 400, "There are no messages in the body."),
        ("orders", "POST", b'{"a": 1}', 400, "There are no messages in the body."),
        ("orders", "POST", b'[{"id": 1}]', 400, "A message is an object with a"),
        ("orders", "POST", b"[1]", 400, "A message is an object with a"),
        ("orders", "POST", b"[" * 100_000, 400, "nested too deeply"),
        (
            "orders",
            "POST",
            b'[{"body": ' + b'{"a":' * 700 + b"1" + b"}" * 700 + b"}]",
            400,
            "The body of a message cannot be sent",
        ),
        ("orders", "POST", b'[{"body": 1, "timestamp": 1e300}]', 400, '"timestamp" is a number'),
        ("orders", "POST", b'[{"body": 1, "timestamp": -1e16}]', 400, '"timestamp" is a number'),
        ("orders", "POST", b'[{"body": 1, "timestamp": Infinity}]', 400, '"timestamp" is a number'),
        ("orders", "POST", b'[{"body": 1, "timestamp": NaN}]', 400, '"timestamp" is a number'),
        ("orders", "POST", b'[{"body": 1, "timestamp": "soon"}]', 400, '"timestamp" is a number'),
        (
            "other",
            "POST",
            b'[{"body": 1}]',
            404,
            'No Worker that runs here consumes the queue "other"',
        ),
    ],
)
def test_what_is_wrong_with_messages_is_told(
    run: Runner, tmp_path: Path, path: str, method: str, body: bytes, status: int, text: str
) -> None:
    answer, ran = ask(run, tmp_path, f"/cdn-cgi/local/queue/{path}", method=method, body=body)

    assert (answer.status, ran) == (status, [])
    assert text in answer.text


def test_without_any_queue_there_is_nobody_to_hand_messages_to(run: Runner, tmp_path: Path) -> None:
    config = write_worker(tmp_path, WORKER)

    async def program(flare: Any) -> Any:
        return await request(flare, "/cdn-cgi/local/queue/x", method="POST", body=b"[]")

    answer = run(program, config)

    assert (answer.status, answer.text) == (404, "No Worker that runs here names a queue.")


# All of them stand behind the guard, and nothing else is taken from the Worker.


@pytest.mark.parametrize(
    "path",
    [
        *SCHEDULED,
        "/cdn-cgi/local/email?from=a@b.c&to=d@e.f",
        "/cdn-cgi/handler/email?from=a@b.c&to=d@e.f",
        "/cdn-cgi/local/queue/orders",
        "/cdn-cgi/handler/queue/orders",
    ],
)
@pytest.mark.parametrize(
    ("host", "headers", "text"),
    [
        ("evil.example", {}, "Invalid Host header"),
        ("localhost:8787", {"origin": "https://evil.example"}, "Invalid Origin header"),
    ],
)
def test_foreign_pages_trigger_nothing(
    run: Runner, tmp_path: Path, path: str, host: str, headers: dict[str, str], text: str
) -> None:
    answer, ran = ask(run, tmp_path, path, method="POST", body=EMAIL, host=host, headers=headers)

    assert (answer.status, answer.text, ran) == (403, text, [])


@pytest.mark.parametrize("path", ["/cdn-cgi/handler/other", "/cdn-cgi/local/other", "/cdn-cgi/x"])
def test_other_addresses_belong_to_the_worker(run: Runner, tmp_path: Path, path: str) -> None:
    assert ask(run, tmp_path, path)[0].text == "the Worker"


def test_the_endpoints_answer_beside_assets_too(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "public").mkdir()
    (tmp_path / "public/index.html").write_text("home")
    config = write_worker(
        tmp_path,
        WORKER,
        assets={"directory": "public", "not_found_handling": "single-page-application"},
    )

    async def program(flare: Any) -> Any:
        return (await request(flare, "/cdn-cgi/handler/scheduled")).text

    assert run(program, config) == "ok"
