"""`pyflare queues send`, `list` and `purge`."""

from pathlib import Path

import pytest

from .conftest import Cli


def test_messages_wait_until_they_are_purged(cli: Cli) -> None:
    assert cli("queues", "send", "QUEUE", '{"a": [1, "ü"]}').code == 0
    done = cli("queues", "send", "jobs", "hello", "--content-type", "text", "--delay", "60")
    assert done.out == "Sent a message of 5 bytes to the queue jobs.\n"
    found = cli("queues", "list", "jobs", "--json").json
    assert [(each["content_type"], each["body"]) for each in found] == [
        ("json", {"a": [1, "ü"]}),
        ("text", "hello"),
    ]
    (queue,) = cli("queues", "list").json
    assert (queue["queue_name"], queue["messages"]) == ("jobs", 2)
    refused = cli("queues", "purge", "jobs")
    assert refused.code == 1
    assert "The --force flag is required to purge a Queue in non-interactive mode" in refused.err
    assert (
        cli("queues", "purge", "jobs", "--force").out
        == "Purged the queue jobs: 2 messages deleted.\n"
    )
    assert cli("queues", "list", "jobs").json == []


def test_bytes_come_from_a_file(cli: Cli, project: Path) -> None:
    (project / "body").write_bytes(b"\x00\xff")
    cli("queues", "send", "jobs", "--file", "body", "--content-type", "bytes")
    assert cli("queues", "list", "jobs").json[0]["body"] == "AP8="


def test_a_message_is_found_behind_options(cli: Cli) -> None:
    assert cli("queues", "send", "jobs", "--delay", "5", '{"id": 1}').code == 0
    assert cli("queues", "send", "--content-type", "text", "jobs", "").code == 0
    bodies = [each["body"] for each in cli("queues", "list", "jobs").json]
    assert sorted(bodies, key=str) == ["", {"id": 1}]


def test_json_is_sent_as_javascript_writes_it(cli: Cli) -> None:
    done = cli("queues", "send", "jobs", '{"a": 1.0, "b": "\\ud800"}')
    assert done.out == "Sent a message of 20 bytes to the queue jobs.\n"


def test_a_queue_that_nobody_used_is_listed_when_it_is_configured(cli: Cli) -> None:
    assert cli("queues", "list").json == [
        {"queue_name": "jobs", "messages": 0, "bytes": 0, "oldest": None}
    ]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("send", "jobs", "{"), "The message is not JSON"),
        (("send", "jobs", '{"a": NaN}'), "The message is not JSON: NaN is no JSON."),
        (("send", "jobs", "[" * 600 + "]" * 600), "The message is not JSON: it is nested too deep"),
        (("send", "jobs", "--file", "none"), "none cannot be read"),
        (("send", "jobs", "1", "--delay", "-1"), "message delay -1 is invalid"),
        (("send", "jobs", f'"{"x" * 128_000}"'), "exceeds limit of 128000"),
    ],
)
def test_what_cannot_be_done_is_refused(cli: Cli, words: tuple[str, ...], text: str) -> None:
    failed = cli("queues", *words)
    assert failed.code == 1
    assert text in failed.err
    assert cli("queues", "list", "jobs").json == []
