"""Mail in both directions, with and without await."""

import pytest

MESSAGE = b"From: a@b.test\r\nTo: orders@shop.test\r\nSubject: Hello\r\nMessage-ID: <1@b.test>\r\n\r\nText\r\n"


def test_a_receipt_is_sent(pyflare, pyflare_outbox):
    assert pyflare.fetch("/receipt?to=ann@x.test", method="POST").status_code == 202
    (mail,) = pyflare_outbox.messages()
    assert mail.recipients == ("ann@x.test",)
    assert b"Subject: Receipt" in mail.raw()


@pytest.mark.asyncio
async def test_the_same_with_await(pyflare, pyflare_outbox):
    await pyflare.fetch("/receipt?to=ann@x.test", method="POST")
    (mail,) = await pyflare_outbox.messages()
    assert b"Thank you." in await mail.raw()


def test_a_message_is_taken(pyflare):
    outcome = pyflare.email(MESSAGE, sender="a@b.test", recipient="orders@shop.test")
    assert outcome.outcome == "ok"
    assert pyflare.env().SESSIONS.get("mail") == "Hello"


def test_a_message_to_nobody_is_rejected(pyflare):
    outcome = pyflare.email(MESSAGE, sender="a@b.test", recipient="else@shop.test")
    assert outcome.reject_reason == "no such address"
