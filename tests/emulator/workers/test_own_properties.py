"""Objects of the platform whose properties are their own, so that JSON, `Object.keys` and the console show them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from pyflare.cron.controller import ScheduledController
from pyflare.env.objects.id import DurableObjectId
from pyflare.js.events import CloseEvent, MessageEvent
from pyflare.js.inspect_value import inspect
from pyflare.js.json import JSON
from pyflare.js.value import JsObject
from pyflare.queues.batch import Marks, MessageBatch
from pyflare_bindings.objects.ids import ObjectId


@dataclass
class Delivered:
    id: str = "m1"
    sent_at: int = 0
    attempts: int = 1
    content_type: str = "json"
    body: bytes = b'{"a":1}'


def batch() -> Any:
    marks = Marks(lambda _: None)
    return MessageBatch._make("q", [Delivered()], marks, lambda: JsObject.adopt({"metrics": 1}))


def object_id() -> Any:
    return DurableObjectId._make(ObjectId(bytes(32), "alice"), "alice")


MESSAGE = {"id": "m1", "timestamp": "1970-01-01T00:00:00.000Z", "body": {"a": 1}, "attempts": 1}


@pytest.mark.parametrize(
    ("make", "shown"),
    [
        (lambda: ScheduledController._make("* * * * *", 5), {"scheduledTime": 5, "cron": "* * * * *"}),
        (lambda: batch().messages[0], MESSAGE),
        (batch, {"messages": [MESSAGE], "queue": "q", "metadata": {"metrics": 1}}),
        (object_id, {"name": "alice"}),
        (
            lambda: MessageEvent.new("message", {"data": "x"}),
            {"data": "x", "origin": None, "lastEventId": "", "source": None, "ports": []},
        ),
        (
            lambda: CloseEvent.new("close", {"code": 1000, "reason": "r", "wasClean": True}),
            {"code": 1000, "reason": "r", "wasClean": True},
        ),
    ],
)  # fmt: skip
def test_json_shows_them(make: Any, shown: dict[str, Any]) -> None:
    text = JSON.stringify(make())
    assert json.loads(text) == shown
    assert list(json.loads(text)) == list(shown)


def test_the_console_shows_them() -> None:
    controller = ScheduledController._make("* * * * *", 5)
    assert inspect(controller) == "ScheduledController { scheduledTime: 5, cron: '* * * * *' }"
