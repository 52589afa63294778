"""`env.EMAIL`: who may send to whom, and what is kept."""

from __future__ import annotations

import re
from email import message_from_bytes
from email.policy import default
from typing import Any

import pytest

from tests.emulator.conftest import request

from .conftest import Bench, Surroundings

OPEN: Any = [{"name": "EMAIL"}]
MESSAGE = "From: Ada <a@x.test>\r\nTo: b@y.test\r\nMessage-ID: <1@x.test>\r\nSubject: s\r\n\r\nbody"


def fields(**changes: Any) -> dict[str, Any]:
    return {"from": "a@x.test", "to": "b@y.test", "subject": "s", "text": "body", **changes}


def kept(bench: Bench, sent: Any, send_email: Any = OPEN) -> Any:
    """Send something, and give the result, what was stored, and the message parsed."""

    async def program(around: Surroundings) -> Any:
        result = await around.env.EMAIL.send(sent)
        (stored,) = await around.registry.email().messages()
        raw = await stored.raw()
        return result, stored, message_from_bytes(raw, policy=default)

    return bench(program, send_email=send_email)


def refusal(bench: Bench, sent: Any, send_email: Any = OPEN) -> str:
    async def program(around: Surroundings) -> Any:
        try:
            await around.env.EMAIL.send(sent() if callable(sent) else sent)
        finally:
            assert await around.registry.email().messages() == []

    return bench.error(program, send_email=send_email)


def email_message(sender: str, recipient: str, raw: Any) -> Any:
    from pyflare.js.email_message import EmailMessage

    return EmailMessage.new(sender, recipient, raw)


class TestEmailMessage:
    def test_it_is_kept_as_it_is(self, bench: Bench) -> None:
        async def program(around: Surroundings) -> Any:
            message = email_message("a@x.test", "b@y.test", MESSAGE)
            result = await around.env.EMAIL.send(message)
            (stored,) = await around.registry.email().messages()
            return result.messageId, stored, await stored.raw()

        message_id, stored, raw = bench(program, send_email=OPEN)
        assert re.fullmatch(r"<[A-Za-z0-9]{36}@x\.test>", message_id)
        assert raw == MESSAGE.encode()
        assert (stored.kind, stored.worker, stored.message_id) == ("sent", "w", message_id)
        assert (stored.sender, stored.recipients) == ("a@x.test", ("b@y.test",))

    def test_the_terminal_shows_where_it_is(self, bench: Bench) -> None:
        async def program(around: Surroundings) -> Any:
            await around.env.EMAIL.send(email_message("a@x.test", "b@y.test", MESSAGE))
            return (await around.registry.email().messages())[0].path

        path = bench(program, send_email=OPEN)
        assert f"send_email binding called with the following message:\n  {path}" in bench.out.text

    def test_a_worker_makes_it_with_the_class_of_cloudflare_email(self, bench: Bench) -> None:
        source = f"""
            from workers import Response, WorkerEntrypoint, import_from_javascript

            class Default(WorkerEntrypoint):
                async def fetch(self, request):
                    EmailMessage = import_from_javascript("cloudflare:email").EmailMessage
                    message = EmailMessage.new("a@x.test", "b@y.test", {MESSAGE!r})
                    await self.env.EMAIL.send(message)
                    return Response(f"{{message.from_}} {{message.to}} {{getattr(message, 'from')}}")
        """

        async def program(around: Surroundings) -> Any:
            answer = await request(around.flare)
            return answer.text, len(await around.registry.email().messages())

        assert bench(program, source=source, send_email=OPEN) == ("a@x.test b@y.test a@x.test", 1)

    def test_the_content_may_be_a_stream_or_bytes(self, bench: Bench) -> None:
        async def program(around: Surroundings) -> Any:
            from pyflare.js.readable import ReadableStream

            for raw in (ReadableStream.from_bytes(MESSAGE.encode()), MESSAGE.encode()):
                await around.env.EMAIL.send(email_message("a@x.test", "b@y.test", raw))
            return {await each.raw() for each in await around.registry.email().messages()}

        assert bench(program, send_email=OPEN) == {MESSAGE.encode()}

    def test_it_needs_three_arguments(self, bench: Bench) -> None:
        async def program(_: Surroundings) -> Any:
            from pyflare.js.email_message import EmailMessage

            EmailMessage.new("a@x.test")

        assert "3 arguments required, but only 1 present" in bench.error(program, send_email=OPEN)

    @pytest.mark.parametrize(
        ("raw", "text"),
        [
            ("From: a@x.test\r\n\r\nbody", "invalid message-id"),
            ("", "invalid message-id"),
            (MESSAGE.replace("a@x", "z@x"), "From: header does not match mail from"),
            ("Received: by x\r\n" + MESSAGE, "invalid headers set"),
        ],
    )
    def test_a_message_that_production_refuses(self, bench: Bench, raw: str, text: str) -> None:
        sent = refusal(bench, lambda: email_message("a@x.test", "b@y.test", raw))
        assert sent == f"Error: {text}"

    def test_one_over_the_size_is_refused(self, bench: Bench) -> None:
        raw = MESSAGE + "x" * (25 * 1024 * 1024)
        assert "at most 26214400 (25 MiB) are allowed" in refusal(
            bench, lambda: email_message("a@x.test", "b@y.test", raw)
        )


RULES = [
    ({"destination_address": "b@y.test"}, "b@y.test", None),
    ({"destination_address": "b@y.test"}, "Bo <b@y.test>", None),
    ({"destination_address": "b@y.test"}, "c@y.test", "email to c@y.test not allowed"),
    ({"allowed_destination_addresses": ["c@y.test", "b@y.test"]}, "b@y.test", None),
    ({"allowed_destination_addresses": ["c@y.test"]}, "b@y.test", "email to b@y.test not allowed"),
    ({"allowed_sender_addresses": ["a@x.test"]}, "b@y.test", None),
    ({"allowed_sender_addresses": ["z@x.test"]}, "b@y.test", "email from a@x.test not allowed"),
]


class TestAllowedAddresses:
    @pytest.mark.parametrize(("rule", "to", "refused"), RULES)
    def test_fields(self, bench: Bench, rule: Any, to: str, refused: str | None) -> None:
        block = [{"name": "EMAIL", **rule}]
        if refused is None:
            kept(bench, fields(to=to), block)
        else:
            assert refusal(bench, fields(to=to), block) == f"Error: {refused}"

    @pytest.mark.parametrize(("rule", "to", "refused"), RULES)
    def test_messages(self, bench: Bench, rule: Any, to: str, refused: str | None) -> None:
        async def program(around: Surroundings) -> Any:
            await around.env.EMAIL.send(email_message("a@x.test", to, MESSAGE))

        block = [{"name": "EMAIL", **rule}]
        if refused is None:
            bench(program, send_email=block)
        else:
            assert bench.error(program, send_email=block) == f"Error: {refused}"

    def test_copies_are_not_looked_at(self, bench: Bench) -> None:
        block = [{"name": "EMAIL", "destination_address": "b@y.test"}]
        _, stored, _ = kept(bench, fields(cc="c@y.test", bcc=["d@y.test"]), block)
        assert stored.recipients == ("b@y.test", "c@y.test", "d@y.test")


class TestFields:
    def test_they_become_a_message(self, bench: Bench) -> None:
        sent = fields(
            **{"from": {"email": "a@x.test", "name": "Ada Ü"}},
            to=["b@y.test", {"email": "c@y.test", "name": "Cy"}],
            cc="d@y.test",
            bcc="hidden@y.test",
            replyTo="r@x.test",
            subject="Grüße",
            html="<p>höi</p>",
            headers={"X-Tag": "1", "List-Unsubscribe": "<https://x.test/u>"},
            attachments=[
                {"filename": "a.txt", "type": "text/plain", "content": "aGk="},
                {
                    "filename": "b.png",
                    "type": "image/png",
                    "content": b"\x89PNG",
                    "disposition": "inline",
                    "contentId": "logo",
                },
            ],
        )
        result, stored, message = kept(bench, sent)
        assert message["From"].addresses[0].display_name == "Ada Ü"
        assert str(message["To"]) == "b@y.test, Cy <c@y.test>"
        assert (message["Cc"], message["Bcc"]) == ("d@y.test", None)
        assert (message["Reply-To"], message["Subject"]) == ("r@x.test", "Grüße")
        assert (message["X-Tag"], message["Message-ID"]) == ("1", result.messageId)
        assert message.get_body(("plain",)).get_content().strip() == "body"
        assert message.get_body(("html",)).get_content().strip() == "<p>höi</p>"
        files = [(each.get_filename(), each.get_content()) for each in message.iter_attachments()]
        assert files == [("a.txt", "hi"), ("b.png", b"\x89PNG")]
        assert [each["Content-ID"] for each in message.iter_attachments()] == [None, "<logo>"]
        assert stored.recipients == ("b@y.test", "c@y.test", "d@y.test", "hidden@y.test")

    def test_a_javascript_object_does_as_well(self, bench: Bench) -> None:
        async def program(around: Surroundings) -> Any:
            from js import Object
            from pyodide.ffi import to_js

            sent = to_js(fields(to=["b@y.test"]), dict_converter=Object.fromEntries)
            await around.raw.EMAIL.send(sent)
            return (await around.registry.email().messages())[0].recipients

        assert bench(program, send_email=OPEN) == ("b@y.test",)

    def test_keywords_do_as_well(self, bench: Bench) -> None:
        async def program(around: Surroundings) -> Any:
            await around.env.EMAIL.send(from_="a@x.test", to="b@y.test", subject="s", text="t")
            return (await around.registry.email().messages())[0].sender

        assert bench(program, send_email=OPEN) == "a@x.test"

    def test_a_message_id_of_ones_own_is_kept(self, bench: Bench) -> None:
        result, stored, message = kept(bench, fields(headers={"Message-ID": "<own@x.test>"}))
        assert {result.messageId, stored.message_id, message["Message-ID"]} == {"<own@x.test>"}

    @pytest.mark.parametrize(
        ("sent", "text"),
        [
            ({}, 'exactly one sender: set "from"'),
            (fields(**{"from": ["a@x.test", "b@x.test"]}), 'exactly one sender: set "from"'),
            (fields(to=None), 'at least one recipient: set "to", "cc" or "bcc"'),
            (
                fields(to=[f"{n}@y.test" for n in range(51)]),
                "at most 50 recipients; this one has 51",
            ),
            (fields(to="nobody"), "\"to\" has 'nobody', which is no email address."),
            (fields(to={"name": "x"}), "\"to\" has '', which is no email address."),
            (fields(subject=None), 'An email needs a "subject".'),
            (fields(subject="a\r\nBcc: c@y.test"), '"subject" holds a line break'),
            (
                fields(**{"from": {"email": "a@x.test", "name": "x\r\nBcc: c@y.test"}}),
                '"from" holds',
            ),
            (fields(text=None), 'An email needs a body: set "text" or "html".'),
            (fields(headers={"X-A": "1\r\nBcc: c@y.test"}), '"headers.X-A" holds a line break'),
            (fields(headers={"X A": "1"}), "which is no header name"),
            (fields(headers={"From": "z@x.test"}), 'The header "From" cannot be set'),
            (fields(attachments=[{"content": "no base64!"}]), '"attachments[0].content" must be'),
            (fields(attachments=[{"content": 5}]), '"attachments[0].content" must be bytes'),
            (fields(attachments=[{"type": "png", "content": b""}]), '"attachments[0].type"'),
            (
                fields(attachments=[{"disposition": "x", "content": b""}]),
                '"attachments[0].disposition" must be "attachment" or "inline".',
            ),
        ],
    )
    def test_what_is_wrong_is_named(self, bench: Bench, sent: Any, text: str) -> None:
        assert text in refusal(bench, sent)


def test_a_state_directory_that_cannot_be_written_is_an_error(bench: Bench) -> None:
    async def program(around: Surroundings) -> Any:
        outbox = around.registry.email()
        await outbox.messages()
        outbox.directory.write_text("a file where the directory belongs")
        await around.env.EMAIL.send(fields())

    assert "The email could not be stored" in bench.error(program, send_email=OPEN)
