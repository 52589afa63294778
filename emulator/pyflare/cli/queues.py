"""``pyflare queues``: send to local queues, look at them and empty them.

wrangler has these commands for queues in Cloudflare's network only:
https://developers.cloudflare.com/queues/reference/wrangler-commands/
"""

from __future__ import annotations

import argparse
import base64
import datetime
import json
import sys
from pathlib import Path
from typing import Any, Final

from .data.command import (
    CommandError,
    Project,
    UsageError,
    add_common,
    add_confirmation,
    run_action,
)
from .data.json_text import compact, parse_json
from .data.output import ask, is_terminal, print_json, print_table, say

__all__ = ["configure", "run"]

run = run_action

_TYPES: Final = ("json", "text", "bytes")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the commands below ``queues``."""
    commands = parser.add_subparsers(dest="action_name", metavar="COMMAND", required=True)
    add = add_common(commands, "send", "send a message", _send)
    _add_queue(add)
    add("message", nargs="?", help="the body of the message; or give --file")
    add(
        "--file",
        type=Path,
        metavar="FILE",
        help="a file with the body of the message; - for standard input",
    )
    add("--content-type", choices=_TYPES, default="json", help="what the body is (default: json)")
    add(
        "--delay",
        type=int,
        default=0,
        metavar="SECONDS",
        help="when it is delivered at the earliest",
    )
    add = add_common(commands, "list", "list queues, or the messages of one", _list)
    add("queue", nargs="?", help="the name or the binding of a queue, to list its messages")
    add(
        "--limit",
        type=int,
        default=100,
        metavar="N",
        help="at most so many messages (default: 100)",
    )
    add("--json", action="store_true", help="print JSON and nothing else")
    add = add_common(commands, "purge", "delete all messages of a queue", _purge)
    _add_queue(add)
    add_confirmation(add)
    add("--force", dest="yes", action="store_true", help=argparse.SUPPRESS)


def _add_queue(add: Any) -> None:
    add("queue", metavar="QUEUE", help="the name or the binding of the queue")


def _configured(project: Project) -> list[str]:
    worker = project.worker
    names = [entry.local_id for entry in worker.queue_producers]
    for consumer in worker.queue_consumers:
        names.append(consumer.queue)
        if consumer.dead_letter_queue is not None:
            names.append(consumer.dead_letter_queue)
    return sorted(set(names))


def _queue(project: Project, name: str) -> str:
    for entry in project.worker.queue_producers:
        if name == entry.binding:
            return entry.local_id
    if name not in _configured(project):
        project.note_unknown("queue", name)
    return name


def _send(arguments: argparse.Namespace) -> None:
    if (arguments.message is None) == (arguments.file is None):
        raise UsageError("Exactly one of the arguments message and file is required.")
    project = Project(arguments)
    name = _queue(project, arguments.queue)
    body = _body(project, arguments)
    if arguments.content_type == "json":
        try:
            body = compact(parse_json(body)).encode()
        except ValueError as failure:
            raise CommandError(
                f"The message is not JSON: {failure}. Mend it, or send it with --content-type text."
            ) from None
    with project.state() as state:
        state.call(
            "queues.send",
            id=name,
            content=base64.b64encode(body).decode(),
            content_type=arguments.content_type,
            delay=arguments.delay,
        )
    say(f"Sent a message of {len(body)} bytes to the queue {name}.")


def _body(project: Project, arguments: argparse.Namespace) -> bytes:
    if arguments.message is not None:
        return bytes(arguments.message.encode("utf-8", "surrogateescape"))
    if str(arguments.file) == "-":
        return sys.stdin.buffer.read()
    try:
        return bytes((project.cwd / arguments.file).read_bytes())
    except OSError as failure:
        raise CommandError(f"{arguments.file} cannot be read: {failure.strerror}.") from failure


def _list(arguments: argparse.Namespace) -> None:
    project = Project(arguments)
    if arguments.queue is not None:
        _list_messages(project, arguments)
        return
    project.need_configuration()
    with project.state() as state:
        found = state.call("queues.list", names=_configured(project))
    if is_terminal() and not arguments.json:
        print_table(
            ("name", "messages", "bytes", "oldest"),
            [(name, count, size, _time(oldest) or "") for name, count, size, oldest in found],
        )
        return
    print_json(
        [
            {"queue_name": name, "messages": count, "bytes": size, "oldest": _time(oldest)}
            for name, count, size, oldest in found
        ]
    )


def _list_messages(project: Project, arguments: argparse.Namespace) -> None:
    name = _queue(project, arguments.queue)
    if arguments.limit < 1:
        raise UsageError("--limit has to be at least 1.")
    with project.state() as state:
        found = state.call("queues.messages", id=name, limit=arguments.limit)
    for each in found:
        each["body"] = _shown(base64.b64decode(each["body"]), each["content_type"])
        each["sent_at"], each["visible_at"] = _time(each["sent_at"]), _time(each["visible_at"])
    if is_terminal() and not arguments.json:
        print_table(
            ("id", "sent", "attempts", "type", "body"),
            [
                (
                    each["id"],
                    each["sent_at"],
                    each["attempts"],
                    each["content_type"],
                    each["body"]
                    if isinstance(each["body"], str)
                    else json.dumps(each["body"], ensure_ascii=False),
                )
                for each in found
            ],
        )
    else:
        print_json(found)


def _shown(body: bytes, content_type: str) -> Any:
    """JSON as the value, text as text, everything else in base64."""
    if content_type == "json":
        try:
            return json.loads(body)
        except ValueError:
            return body.decode("utf-8", "replace")
    if content_type == "text":
        return body.decode("utf-8", "replace")
    return base64.b64encode(body).decode()


def _time(milliseconds: int | None) -> str | None:
    if milliseconds is None:
        return None
    found = datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.UTC)
    return found.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _purge(arguments: argparse.Namespace) -> None:
    project = Project(arguments)
    name = _queue(project, arguments.queue)
    if not arguments.yes:
        typed = ask(
            f"This operation will permanently delete all the messages in Queue {name}. Type {name} to proceed."
        )
        if typed is None:
            raise CommandError(
                "The --force flag is required to purge a Queue in non-interactive mode"
            )
        if typed != name:
            raise CommandError("Incorrect queue name provided. Skipping purge operation")
    with project.state() as state:
        count = state.call("queues.purge", id=name)
    say(f"Purged the queue {name}: {count} message{'' if count == 1 else 's'} deleted.")
