"""Messages that are handed to a `queue` handler past the store."""

from __future__ import annotations

import datetime
from typing import Any

import pytest


def deliver(shop: Any, messages: list[Any], *script: str, queue: str = "q") -> Any:
    async def program(run: Any) -> Any:
        outcome = await run.flare.queues.deliver(queue, messages)
        assert await run.backlog("q") == 0
        return outcome, run.batches(), run.module().get("seen")

    return shop(program, shop.recorder(*script))


def test_are_told_to_be_done(shop: Any) -> None:
    outcome, batches, _ = deliver(shop, [{"body": {"a": None}}, {"body": "x"}])
    assert batches == [[{"a": None}, "x"]]
    assert outcome == {
        "outcome": "ok",
        "ackAll": False,
        "retryBatch": {"retry": False},
        "explicitAcks": [],
        "retryMessages": [],
    }


def test_are_told_to_have_been_marked(shop: Any) -> None:
    script = (
        "m = batch.messages",
        "m[0].ack()",
        "m[1].retry(delaySeconds=7)",
        "m[2].retry()",
        "batch.retryAll(delaySeconds=9)",
    )
    messages = [{"id": id, "body": 1} for id in "abcd"]
    outcome, _, _ = deliver(shop, messages, *script)
    assert outcome == {
        "outcome": "ok",
        "ackAll": False,
        "retryBatch": {"retry": True, "delaySeconds": 9},
        "explicitAcks": ["a"],
        "retryMessages": [{"msgId": "b", "delaySeconds": 7}, {"msgId": "c"}],
    }


def test_are_told_of_a_failure(shop: Any) -> None:
    outcome, _, _ = deliver(shop, [{"body": 1}], "batch.ackAll()", "raise ValueError")
    assert (outcome["outcome"], outcome["ackAll"]) == ("exception", True)


def test_have_what_they_are_given(shop: Any) -> None:
    script = (
        "m = batch.messages[0]",
        "globals()['seen'] = (batch.queue, m.id, m.attempts, m.timestamp, bytes(m.body))",
    )
    message = {"id": "x", "attempts": 3, "timestamp": "2026-01-02T03:04:05+00:00", "body": b"b"}
    _, _, seen = deliver(shop, [message], *script)
    at = datetime.datetime.fromtimestamp(1767323045)
    assert seen == ("q", "x", 3, at, b"b")


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({}, 'A message is an object with a "body"'),
        ("text", 'A message is an object with a "body"'),
        ({"body": 1, "contentType": "xml"}, "Unsupported queue message content type: xml"),
        ({"body": 1, "contentType": "text"}, "requires a value of type string"),
        ({"body": 1, "attempts": 0}, '"attempts" is a whole number from 1 on, not 0'),
        ({"body": 1, "timestamp": "soon"}, '"timestamp" is a number of milliseconds'),
    ],
)
def test_that_cannot_be_read_are_refused(shop: Any, message: Any, text: str) -> None:
    with pytest.raises(ValueError) as caught:
        deliver(shop, [message])
    assert text in str(caught.value)


def test_for_a_queue_that_nobody_consumes_are_refused(shop: Any) -> None:
    with pytest.raises(LookupError, match=r'consumes the queue "other"; consumed are: "q"'):
        deliver(shop, [{"body": 1}], queue="other")
