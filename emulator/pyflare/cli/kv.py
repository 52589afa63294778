"""``pyflare kv``: keys of local KV namespaces, one by one and in bulk.

Source: https://developers.cloudflare.com/kv/reference/kv-commands/
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from .data.bulk_entries import read_entries, read_names
from .data.command import (
    CommandError,
    Project,
    UsageError,
    add_common,
    add_confirmation,
    run_action,
)
from .data.json_text import compact, parse_json
from .data.output import confirm, notice, print_json, progress, say, warn, write

__all__ = ["configure", "run"]

run = run_action

_CHUNK: Final = 256 * 1024
#: What one request carries at most, so that progress is seen and nothing has to be held at once.
_ENTRIES: Final = 500
_CHARACTERS: Final = 8 * 1024 * 1024
#: A number as it is written in JavaScript, without its other bases.
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
#: Options of `kv key put` that wrangler takes for `kv bulk put` too and does not use, and what an entry has in their
#: place.
_WITHOUT_USE: Final = {
    "ttl": "expiration_ttl",
    "expiration": "expiration",
    "metadata": "metadata",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the commands below ``kv``."""
    groups = parser.add_subparsers(dest="group", metavar="COMMAND", required=True)
    keys = groups.add_parser(
        "key", help="single keys and listings", allow_abbrev=False
    ).add_subparsers(dest="action_name", metavar="COMMAND", required=True)
    add = add_common(keys, "put", "write a value", _put)
    add("key", help="the key, taken as it is")
    add("value", nargs="?", help="the value; or give --path")
    add("--path", type=Path, metavar="FILE", help="a file with the value; - for standard input")
    add("--ttl", type=_seconds, metavar="SECONDS", help="how long the value stays")
    add("--expiration", type=_seconds, metavar="TIME",
        help="when the value expires, in seconds since the epoch")  # fmt: skip
    add("--metadata", metavar="JSON", help="metadata, a JSON object")
    _add_namespace(add)
    add = add_common(keys, "get", "print a value", _get)
    add("key", help="the key, taken as it is")
    add("--text", action="store_true", help="print it as text")
    _add_namespace(add)
    add = add_common(keys, "list", "list keys", _list)
    add("--prefix", default="", help="only keys that begin with this")
    add("--json", action="store_true", help="print JSON, as always")
    _add_namespace(add)
    add = add_common(keys, "delete", "delete a key", _delete)
    add("key", help="the key, taken as it is")
    _add_namespace(add)
    bulk = groups.add_parser("bulk", help="many keys", allow_abbrev=False).add_subparsers(
        dest="action_name", metavar="COMMAND", required=True
    )
    for name, help, action in (
        ("put", "write the entries of a JSON file", _bulk_put),
        ("get", "print the values of the keys in a JSON file", _bulk_get),
        ("delete", "delete the keys in a JSON file", _bulk_delete),
    ):
        add = add_common(bulk, name, help, action)
        add("file", type=Path, metavar="FILE", help="a JSON list")
        _add_namespace(add)
        if name == "put":
            for each in _WITHOUT_USE:
                add(f"--{each}", help=argparse.SUPPRESS)
        if name == "get":
            add("--json", action="store_true", help="print JSON, as always")
        if name == "delete":
            add_confirmation(add)
            add("--force", "-f", dest="yes", action="store_true", help=argparse.SUPPRESS)


def _add_namespace(add: Any) -> None:
    add("--binding", metavar="NAME", help="the binding of the namespace")
    add("--namespace-id", metavar="ID", help="the id of the namespace")
    add("--preview", action="store_true", default=None,
        help="take preview_id, or id with `false`; by default the one that `pyflare dev` uses")  # fmt: skip
    add("--no-preview", dest="preview", action="store_false", default=None, help=argparse.SUPPRESS)


def _seconds(text: str) -> int:
    """Whole seconds; a fraction is cut off."""
    if _NUMBER.fullmatch(text) and math.isfinite(number := float(text)):
        return int(number)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")


def _shown(arguments: argparse.Namespace, namespace: str) -> str:
    id = f'id: "{namespace}"'
    return id if arguments.binding is None else f'binding: "{arguments.binding}" ({id})'


def _namespace(project: Project, arguments: argparse.Namespace) -> str:
    binding, given = arguments.binding, arguments.namespace_id
    if (binding is None) == (given is None):
        raise UsageError("Exactly one of the arguments binding and namespace-id is required.")
    if given is not None:
        for entry in project.worker.kv_namespaces:
            if given in (entry.id, entry.preview_id, entry.local_id):
                break
        else:
            project.note_unknown("KV namespace", given)
        return str(given)
    project.need_configuration()
    for entry in project.worker.kv_namespaces:
        if entry.binding != binding:
            continue
        wanted = {True: entry.preview_id, False: entry.id, None: entry.local_id}
        found = wanted[arguments.preview]
        if found is None:
            key = "preview_id" if arguments.preview else "id"
            raise CommandError(
                f'The KV namespace {binding} has no "{key}" in {project.file}. Leave --preview out.'
            )
        return found
    raise CommandError(
        f'A namespace with binding name "{binding}" was not found in the configured "kv_namespaces".'
    )


def _put(arguments: argparse.Namespace) -> None:
    if (arguments.value is None) == (arguments.path is None):
        raise UsageError("Exactly one of the arguments value and path is required.")
    metadata = _metadata(arguments.metadata)
    meta = "" if metadata is None else f' with metadata "{metadata}"'
    project = Project(arguments)
    namespace = _namespace(project, arguments)
    where = f"on namespace {_shown(arguments, namespace)}{meta}."
    options = {
        "id": namespace,
        "key": arguments.key,
        "expiration": arguments.expiration,
        "expiration_ttl": arguments.ttl,
        "metadata": metadata,
    }
    if arguments.value is not None:
        value = arguments.value.encode("utf-8", "surrogateescape")
        say(f'Writing the value "{arguments.value}" to key "{arguments.key}" {where}')
        with project.state() as state:
            state.call("kv.put", body=[value], length=len(value), **options)
        return
    say(f'Writing the contents of {arguments.path} to the key "{arguments.key}" {where}')
    with project.state() as state:
        state.call("kv.put", body=_contents(project, arguments.path), **options)


def _contents(project: Project, given: Path) -> Iterator[bytes]:
    try:
        with sys.stdin.buffer if str(given) == "-" else (project.cwd / given).open("rb") as file:
            while piece := file.read(_CHUNK):
                yield piece
    except OSError as failure:
        raise CommandError(f"{given} cannot be read: {failure.strerror}.") from failure


def _metadata(text: str | None) -> str | None:
    """The JSON of --metadata, without spaces. Raises CommandError in wrangler's words."""
    if text is None:
        return None
    try:
        value = parse_json(text)
        written = compact(value)
    except ValueError:
        raise CommandError(f"--metadata must be valid JSON. Received: {text}") from None
    if not isinstance(value, dict):
        raise CommandError(f"--metadata must be a JSON object. Received: {text}")
    return written


def _get(arguments: argparse.Namespace) -> None:
    project = Project(arguments)
    namespace = _namespace(project, arguments)
    with project.state() as state:
        found, pieces = state.fetch("kv.get", id=namespace, key=arguments.key)
        if arguments.text and found is not None:
            write(f"{b''.join(pieces).decode('utf-8', 'replace')}\n".encode())
        else:
            for piece in pieces:
                write(piece)
    if found is None:
        # Exit code 0, as wrangler has it; not on standard output, where a value would be.
        notice("Value not found")


def _list(arguments: argparse.Namespace) -> None:
    project = Project(arguments)
    namespace = _namespace(project, arguments)
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    with project.state() as state:
        while True:
            page = state.call("kv.list", id=namespace, prefix=arguments.prefix, cursor=cursor)
            for name, expiration, metadata in page["keys"]:
                key: dict[str, Any] = {"name": name}
                if expiration is not None:
                    key["expiration"] = expiration
                if metadata is not None:
                    key["metadata"] = json.loads(metadata)
                found.append(key)
            cursor = page["cursor"]
            if cursor is None:
                break
    print_json(found)


def _delete(arguments: argparse.Namespace) -> None:
    project = Project(arguments)
    namespace = _namespace(project, arguments)
    say(f'Deleting the key "{arguments.key}" on namespace {_shown(arguments, namespace)}.')
    with project.state() as state:
        state.call("kv.delete", id=namespace, key=arguments.key)


def _bulk_put(arguments: argparse.Namespace) -> None:
    _metadata(arguments.metadata)
    for name, instead in _WITHOUT_USE.items():
        if getattr(arguments, name) is not None:
            warn(f'--{name} has no effect here. Give each entry its "{instead}".')
    project = Project(arguments)
    namespace = _namespace(project, arguments)
    entries = read_entries(project.cwd / arguments.file, arguments.file)
    with project.state() as state, progress("Writing keys", len(entries)) as step:
        for batch in _batches(entries):
            state.call("kv.put_many", id=namespace, entries=batch)
            step(len(batch))
    say("Success!")


def _batches(entries: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    size = 0
    for entry in entries:
        length = len(entry["value"])
        if batch and (len(batch) == _ENTRIES or size + length > _CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += length
    if batch:
        yield batch


def _bulk_get(arguments: argparse.Namespace) -> None:
    project = Project(arguments)
    namespace = _namespace(project, arguments)
    names = read_names(project.cwd / arguments.file, arguments.file)
    found: dict[str, Any] = {}
    with project.state() as state, progress("Reading keys", len(names)) as step:
        for name in names:
            told, pieces = state.fetch("kv.get", id=namespace, key=name)
            value = b"".join(pieces)
            found[name] = {"value": None if told is None else value.decode("utf-8", "replace")}
            if told is not None and told["metadata"] is not None:
                found[name]["metadata"] = json.loads(told["metadata"])
            step(1)
    print_json(found)
    notice("Success!")


def _bulk_delete(arguments: argparse.Namespace) -> None:
    project = Project(arguments)
    namespace = _namespace(project, arguments)
    names = read_names(project.cwd / arguments.file, arguments.file)
    if not confirm(
        f'Are you sure you want to delete all the keys read from "{arguments.file}" from kv-namespace '
        f"{_shown(arguments, namespace)}?",
        yes=arguments.yes,
    ):
        say(f'Not deleting keys read from "{arguments.file}".')
        return
    with project.state() as state, progress("Deleting keys", len(names)) as step:
        for start in range(0, len(names), _ENTRIES):
            batch = names[start : start + _ENTRIES]
            state.call("kv.delete_many", id=namespace, keys=batch)
            step(len(batch))
    say("Success!")
