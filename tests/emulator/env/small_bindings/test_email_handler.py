"""The `email` handler: what it receives, and what it may do with it."""

from __future__ import annotations

from textwrap import indent
from typing import Any

import pytest

from pyflare.env.email.delivery import EmailError, deliver, read_email
from pyflare.env.email.incoming import is_replyable
from pyflare.env.email.mime import parse

from .conftest import Bench, Surroundings

ORIGINAL = (
    b"From: Sam <s@y.test>\r\nTo: me@x.test\r\nMessage-ID: <1@y.test>\r\n"
    b"Subject: =?utf-8?q?h=C3=A9?=\r\nX-Long: a\r\n b\r\n\r\nHello"
)


def worker(body: str) -> str:
    return (
        "from workers import WorkerEntrypoint, import_from_javascript\n"
        "from js import Headers, console\n\n"
        "def show(*values):\n    console.log(' '.join(map(str, values)))\n\n"
        "class Default(WorkerEntrypoint):\n"
        "    async def email(self, message, env, ctx):\n"
        "        EmailMessage = import_from_javascript('cloudflare:email').EmailMessage\n"
        + indent(body, "        ")
    )


def delivered(bench: Bench, body: str, raw: bytes = ORIGINAL) -> Any:
    """Run a handler: its outcome, the messages that were kept with their content, the notices."""

    async def program(around: Surroundings) -> Any:
        notices: list[str] = []
        outcome = await deliver(
            around.flare.loaded(), around.registry, "s@y.test", "me@x.test", raw, notices.append
        )
        kept = await around.registry.email().messages()
        return outcome, [(each, await each.raw()) for each in kept], notices

    return bench(program, source=worker(body))


def test_the_message_has_envelope_headers_and_content(bench: Bench) -> None:
    body = """
raw = bytes((await message.raw.getReader().read()).value.to_py())
show(message.from_, message.to, message.rawSize, len(raw), raw[-5:])
show(message.headers.get("subject"), message.headers.get("X-Long"), env, ctx)
"""
    outcome, kept, _ = delivered(bench, body)
    assert (outcome.outcome, outcome.error, kept) == ("ok", None, [])
    assert f"s@y.test me@x.test {len(ORIGINAL)} {len(ORIGINAL)} b'Hello'" in bench.out.text
    assert "hé a b None None" in bench.out.text


def test_without_doing_anything_it_was_received(bench: Bench) -> None:
    outcome, _, _ = delivered(bench, "pass")
    assert outcome.to_json() == {
        "outcome": "ok",
        "forwards": [],
        "replies": [],
        "events": [{"type": "received", "timestamp": "2026-01-01T00:00:00.000Z"}],
    }


def test_a_rejection_keeps_its_reason(bench: Bench) -> None:
    outcome, _, notices = delivered(bench, "message.setReject('no space')")
    assert outcome.to_json()["rejectReason"] == "no space"
    assert [event["type"] for event in outcome.events] == ["received", "reject"]
    assert notices == ['Email handler rejected message with the following reason: "no space"']


def test_a_forward_is_kept_with_the_headers_added(bench: Bench) -> None:
    body = """
result = await message.forward("f@z.test", Headers.new({"X-Tag": "1"}.items()))
show(result.messageId)
"""
    outcome, [(kept, raw)], notices = delivered(bench, body)
    message_id = kept.message_id
    assert message_id in bench.out.text
    assert message_id.endswith("@example.com")
    assert (kept.kind, kept.sender, kept.recipients) == ("forwarded", "s@y.test", ("f@z.test",))
    assert raw == b"x-tag: 1\r\n" + ORIGINAL
    assert outcome.forwards == [
        {"messageId": message_id, "recipient": "f@z.test", "headers": [["x-tag", "1"]]}
    ]
    assert outcome.events[1]["messageId"] == message_id
    assert notices == [
        "Email handler forwarded message with\n  rcptTo: f@z.test\n  headers:\n    x-tag: 1"
    ]


def test_a_forward_needs_a_recipient(bench: Bench) -> None:
    outcome, _, _ = delivered(bench, "await message.forward()")
    assert str(outcome.error) == (
        "TypeError: Failed to execute 'forward' on 'ForwardableEmailMessage': "
        "parameter 1 is not of type 'string'."
    )
    assert outcome.forwards == []


def test_only_x_headers_can_be_added_to_a_forward(bench: Bench) -> None:
    body = "await message.forward('f@z.test', Headers.new({'Subject': 'x'}.items()))"
    outcome, kept, _ = delivered(bench, body)
    assert (outcome.outcome, kept) == ("exception", [])
    assert 'Only headers that begin with "X-" can be added, not "subject".' in str(outcome.error)


REPLY = "From: me@x.test\\r\\nMessage-ID: <2@x.test>\\r\\nIn-Reply-To: <1@y.test>\\r\\n"


def reply(raw: str) -> str:
    return f'await message.reply(EmailMessage.new(message.to, message.from_, "{raw}"))'


def test_a_reply_goes_to_the_sender_with_references(bench: Bench) -> None:
    outcome, [(kept, raw)], notices = delivered(bench, reply(REPLY + "\\r\\nThanks"))
    assert (kept.kind, kept.sender, kept.recipients) == ("replied", "me@x.test", ("s@y.test",))
    assert raw.startswith(b"References: <1@y.test>\r\nFrom: me@x.test\r\n")
    (answer,) = outcome.replies
    assert (answer["sender"], answer["raw"].encode()) == ("me@x.test", raw)
    assert notices == [
        f"Email handler replied to sender with the following message:\n  {kept.path}"
    ]


def test_a_reply_of_fields_is_threaded(bench: Bench) -> None:
    body = 'await message.reply({"from": message.to, "subject": "Re", "text": "Thanks"})'
    _, [(kept, raw)], _ = delivered(bench, body)
    parsed = parse(raw)
    assert (parsed.in_reply_to, parsed.references) == ("<1@y.test>", "<1@y.test>")
    assert (parsed.recipients, kept.recipients) == (("s@y.test",), ("s@y.test",))


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (REPLY.replace("me@x", "z@x"), "From: header does not match mail from"),
        (REPLY.replace("Message-ID: <2@x.test>\\r\\n", ""), "invalid message-id"),
        ("Received: x\\r\\n" + REPLY, "invalid headers set"),
        (REPLY.replace("In-Reply-To: <1@y.test>\\r\\n", ""), "no In-Reply-To header found"),
        (REPLY.replace("<1@y", "<9@y"), "In-Reply-To does not match original Message-ID"),
        ("References: <9@y.test>\\r\\n" + REPLY, "provided References header is invalid"),
    ],
)
def test_a_reply_that_production_refuses(bench: Bench, raw: str, text: str) -> None:
    outcome, kept, _ = delivered(bench, reply(raw + "\\r\\nbody"))
    assert (outcome.outcome, kept) == ("exception", [])
    assert text in str(outcome.error)


def test_a_reply_goes_to_nobody_but_the_sender(bench: Bench) -> None:
    body = reply(REPLY + "\\r\\nThanks").replace("message.from_", "'q@x.test'")
    outcome, kept, _ = delivered(bench, body)
    assert (outcome.outcome, kept) == ("exception", [])
    assert "must be the sender of the email, s@y.test." in str(outcome.error)


@pytest.mark.parametrize(
    "second",
    [
        reply(REPLY + "\\r\\nThanks"),
        'await message.reply({"from": message.to, "subject": "Re", "text": "Thanks"})',
    ],
)
def test_an_email_is_replied_to_once(bench: Bench, second: str) -> None:
    refused = reply(REPLY.replace("<1@y", "<9@y"))
    body = f"try:\n    {refused}\nexcept Exception:\n    pass\n"
    outcome, kept, _ = delivered(bench, body + reply(REPLY + "\\r\\nThanks") + "\n" + second)
    assert "can only be replied to once in the same event" in str(outcome.error)
    assert [each.kind for each, _ in kept] == ["replied"]


def test_a_reason_of_a_refusal_is_required(bench: Bench) -> None:
    outcome, _, _ = delivered(bench, "message.setReject()")
    assert outcome.reject_reason is None
    assert "parameter 1 is not of type 'string'" in str(outcome.error)


@pytest.mark.parametrize(
    ("headers", "replyable"),
    [
        ("", True),
        ("Auto-Submitted: no\r\n", True),
        ("Auto-Submitted: auto-replied\r\n", False),
        ("X-Auto-Response-Suppress: None\r\n", True),
        ("X-Auto-Response-Suppress: All\r\n", False),
        ("In-Reply-To: <0@y.test>\r\n", False),
        ("References: <0@y.test>\r\n", False),
        ("In-Reply-To: <0@y.test>\r\nReferences: <0@y.test>\r\n", True),
        (f"In-Reply-To: <0@y.test>\r\nReferences: {'<0@y.test> ' * 99}\r\n", True),
        (f"In-Reply-To: <0@y.test>\r\nReferences: {'<0@y.test> ' * 100}\r\n", False),
    ],
)
def test_what_may_be_replied_to(headers: str, replyable: bool) -> None:
    assert is_replyable(parse(headers.encode() + ORIGINAL)) is replyable


def test_a_message_that_may_not_be_replied_to_refuses(bench: Bench) -> None:
    raw = b"Auto-Submitted: auto-replied\r\n" + ORIGINAL
    outcome, _, _ = delivered(bench, reply(REPLY + "\\r\\nbody"), raw)
    assert "Original email is not replyable" in str(outcome.error)


def test_what_the_handler_raises_is_the_outcome(bench: Bench) -> None:
    outcome, _, _ = delivered(bench, "await message.forward('f@z.test'); raise ValueError('x')")
    assert (outcome.outcome, repr(outcome.error)) == ("exception", "ValueError('x')")
    assert [event["type"] for event in outcome.events] == ["received", "forward"]


def test_a_worker_without_a_handler_is_told(bench: Bench) -> None:
    async def program(around: Surroundings) -> Any:
        return await deliver(
            around.flare.loaded(), around.registry, "s@y.test", "me@x.test", ORIGINAL
        )

    outcome = bench(program)
    assert (outcome.outcome, [each["type"] for each in outcome.events]) == (
        "exception",
        ["received", "unhandled"],
    )


def test_an_envelope_unlike_the_headers_is_noticed(bench: Bench) -> None:
    raw = ORIGINAL.replace(b"s@y", b"other@y").replace(b"me@x", b"you@x")
    _, _, notices = delivered(bench, "pass", raw)
    assert 'MAIL FROM: s@y.test\n  "From" header: other@y.test' in notices[0]
    assert 'RCPT TO: me@x.test\n  "To" header: you@x.test' in notices[1]


@pytest.mark.parametrize("raw", [b"", b"no headers at all", b"From: a@x.test\r\n\r\nbody"])
def test_a_message_without_an_id_is_refused(raw: bytes) -> None:
    with pytest.raises(EmailError, match="invalid or no message id provided"):
        read_email(raw)


@pytest.mark.parametrize(
    "raw",
    [
        b"From: \xff\xfe <a@x.test>\r\nMessage-ID: <1@x>\r\n\r\n",
        b"Content-Type: multipart/mixed; boundary=\r\nMessage-ID: <1@x>\r\n\r\n--\r\n",
        b"Subject: " + b"x" * 100_000 + b"\r\nMessage-ID: <1@x>\r\n\r\n",
        b"Message-ID: <1@x>\nFrom: a@x.test\n\nbody",
    ],
)
def test_odd_messages_are_read(bench: Bench, raw: bytes) -> None:
    outcome, _, _ = delivered(bench, "show(len(list(message.headers)))", raw)
    assert outcome.outcome == "ok"


def test_an_embedder_is_told_that_a_message_is_bytes(bench: Bench) -> None:
    async def program(around: Surroundings) -> None:
        text: Any = ORIGINAL.decode()
        with pytest.raises(
            TypeError, match="raw has to be the bytes of the whole message, not str"
        ):
            await around.flare.email(text, sender="s@y.test", recipient="me@x.test")

    bench(program, source=worker("pass"))


def test_an_embedder_delivers_a_message(bench: Bench) -> None:
    async def program(around: Surroundings) -> Any:
        return await around.flare.email(ORIGINAL, sender="s@y.test", recipient="me@x.test")

    source = worker("message.setReject('no'); raise ValueError('late')")
    outcome = bench(program, source=source)
    assert (outcome.outcome, outcome.reject_reason) == ("exception", "no")
    assert "ValueError: late" in bench.err.text
