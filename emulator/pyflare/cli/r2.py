"""``pyflare r2``: objects of local R2 buckets.

Source: https://developers.cloudflare.com/r2/reference/wrangler-commands/
"""

from __future__ import annotations

import argparse
import datetime
import os
import re
import sys
from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Final

from .data.command import CommandError, Project, UsageError, add_common, run_action
from .data.output import is_terminal, notice, print_json, print_table, progress, say, write

__all__ = ["configure", "run"]

run = run_action

_CHUNK: Final = 1024 * 1024
_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]")
_CLASSES: Final = {"standard": "Standard", "infrequentaccess": "InfrequentAccess"}
_HEADERS: Final = (
    ("--content-type", "--ct", "content_type"),
    ("--content-disposition", "--cd", "content_disposition"),
    ("--content-encoding", "--ce", "content_encoding"),
    ("--content-language", "--cl", "content_language"),
    ("--cache-control", "--cc", "cache_control"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the commands below ``r2``."""
    groups = parser.add_subparsers(dest="group", metavar="COMMAND", required=True)
    objects = groups.add_parser("object", help="objects", allow_abbrev=False).add_subparsers(
        dest="action_name", metavar="COMMAND", required=True
    )
    add = add_common(objects, "put", "write an object", _put)
    _add_path(add)
    add("-f", "--file", type=Path, metavar="FILE", help="the file to upload")
    add("-p", "--pipe", action="store_true", help="upload standard input")
    _add_headers(add)
    _add_jurisdiction(add)
    _add_force(add)
    add = add_common(objects, "get", "read an object", _get)
    _add_path(add)
    add(
        "-f",
        "--file",
        type=Path,
        metavar="FILE",
        help="the file to write (default: named as the key)",
    )
    add("-p", "--pipe", action="store_true", help="write it to standard output")
    _add_jurisdiction(add)
    add = add_common(objects, "delete", "delete an object", _delete)
    _add_path(add)
    _add_jurisdiction(add)
    _add_force(add)
    add = add_common(objects, "list", "list the objects of a bucket", _list)
    add("bucket", metavar="BUCKET", help="the name or the binding of the bucket")
    add("--prefix", default="", help="only keys that begin with this")
    add("--delimiter", default="", help="what divides folders; shows each folder as one line")
    add("--json", action="store_true", help="print JSON and nothing else")
    _add_jurisdiction(add)
    bulk = groups.add_parser("bulk", help="many objects", allow_abbrev=False).add_subparsers(
        dest="action_name", metavar="COMMAND", required=True
    )
    add = add_common(bulk, "put", "write the objects of a JSON file", _bulk_put)
    add("bucket", metavar="BUCKET", help="the name or the binding of the bucket")
    add("-f", "--filename", type=Path, metavar="FILE", required=True,
        help="a JSON list of {key, file}")  # fmt: skip
    add("--concurrency", type=int, default=20, help=argparse.SUPPRESS)
    _add_headers(add)
    _add_jurisdiction(add)
    _add_force(add)


def _add_headers(add: Callable[..., Any]) -> None:
    for long, short, name in _HEADERS:
        add(long, short, dest=name, metavar="TEXT", help="stored, and sent with the object")
    add("--expires", type=_time, metavar="TIME",
        help="when caches have to let go of it: a date, or milliseconds since the epoch")  # fmt: skip
    add("-s", "--storage-class", type=_storage_class, metavar="CLASS",
        help="Standard or InfrequentAccess")  # fmt: skip


def _add_path(add: Callable[..., Any]) -> None:
    add("path", metavar="BUCKET/KEY", help="the bucket and, behind the first slash, the key")


def _add_jurisdiction(add: Callable[..., Any]) -> None:
    add("-J", "--jurisdiction", help=argparse.SUPPRESS)


def _add_force(add: Callable[..., Any]) -> None:
    """The flag that keeps wrangler from asking about a data catalog, which no local bucket has."""
    add("-y", "--force", action="store_true", help=argparse.SUPPRESS)


def _storage_class(text: str) -> str:
    found = _CLASSES.get(text.lower().replace("_", "").replace("-", ""))
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is neither Standard nor InfrequentAccess")
    return found


def _time(text: str) -> int:
    """Milliseconds since the epoch."""
    if text.isascii() and text.isdigit():
        return int(text)
    for read in (datetime.datetime.fromisoformat, parsedate_to_datetime):
        try:
            found = read(text)
        except ValueError:
            continue
        if found.tzinfo is None:
            found = found.replace(tzinfo=datetime.UTC)
        return round(found.timestamp() * 1000)
    raise argparse.ArgumentTypeError(f"{text!r} is neither a date nor milliseconds since the epoch")


def _bucket(project: Project, name: str) -> str:
    """The local id of a bucket. Raises CommandError for what no bucket can be called."""
    for entry in project.worker.r2_buckets:
        if name in (entry.bucket_name, entry.preview_bucket_name, entry.binding):
            return entry.local_id
    if not _BUCKET.fullmatch(name):
        raise CommandError(
            f'The bucket name "{name}" is invalid. Bucket names must begin and end with an alphanumeric character, '
            "only contain lowercase letters, numbers, and hyphens, and be between 3 and 63 characters long."
        )
    project.note_unknown("R2 bucket", name)
    return name


def _shown(bucket: str, arguments: argparse.Namespace) -> str:
    where = arguments.jurisdiction
    return bucket if where is None else f"{bucket} ({where})"


def _split(path: str) -> tuple[str, str]:
    bucket, slash, key = path.partition("/")
    if not bucket or not slash or not key:
        raise UsageError(
            f"The object path must be in the form of {{bucket}}/{{key}} you provided {path}"
        )
    return bucket, key


def _put(arguments: argparse.Namespace) -> None:
    bucket, key = _split(arguments.path)
    if arguments.file is None and not arguments.pipe:
        raise UsageError("Either the --file or --pipe options are required.")
    if arguments.file is not None and arguments.pipe:
        raise UsageError("Give one of --file and --pipe, not both.")
    project = Project(arguments)
    id = _bucket(project, bucket)
    path = None if arguments.pipe else project.cwd / arguments.file
    if path is not None and not path.is_file():
        raise CommandError(f'The file "{arguments.file}" does not exist.')
    storage = f" with {arguments.storage_class} storage class" if arguments.storage_class else ""
    say(f'Creating object "{key}"{storage} in bucket "{_shown(bucket, arguments)}".')
    length = None if path is None else os.stat(path).st_size
    with project.state() as state, progress("Uploading", length, in_bytes=True) as step:
        state.call(
            "r2.put",
            body=_contents(path, step),
            id=id,
            key=key,
            length=length,
            **_stored(arguments),
        )
    say("Upload complete.")


def _stored(arguments: argparse.Namespace) -> dict[str, Any]:
    """What is kept with an object."""
    http = {name: getattr(arguments, name) for _, _, name in _HEADERS}
    http["cache_expiry"] = arguments.expires
    return {"http": http, "storage_class": arguments.storage_class}


def _bulk_put(arguments: argparse.Namespace) -> None:
    from .data.bulk_files import read_files

    project = Project(arguments)
    id = _bucket(project, arguments.bucket)
    entries = read_files(project.cwd, arguments.filename)
    storage = f" with {arguments.storage_class} storage class" if arguments.storage_class else ""
    say(
        f"Starting bulk upload of {len(entries)} objects to bucket {_shown(arguments.bucket, arguments)}{storage} "
        f"using a concurrency of {max(1, arguments.concurrency)}"
    )
    with project.state() as state:
        # One after the other: what takes time is the disk.
        for done, (key, path, length) in enumerate(entries, 1):
            body = _contents(path, lambda _: None)
            state.call("r2.put", body=body, id=id, key=key, length=length, **_stored(arguments))
            if done % 100 == 0 or done == len(entries):
                say(f"Uploaded {100 * done // len(entries)}% ({done:,} out of {len(entries):,})")


def _contents(path: Path | None, step: Callable[[float], None]) -> Iterator[bytes]:
    try:
        with sys.stdin.buffer if path is None else path.open("rb") as file:
            while piece := file.read(_CHUNK):
                yield piece
                step(len(piece))
    except OSError as failure:
        raise CommandError(
            f"{path or 'Standard input'} cannot be read: {failure.strerror}."
        ) from failure


def _get(arguments: argparse.Namespace) -> None:
    from .data.whole_file import WholeFile

    bucket, key = _split(arguments.path)
    if arguments.file is not None and arguments.pipe:
        raise UsageError("Give one of --file and --pipe, not both.")
    project = Project(arguments)
    id = _bucket(project, bucket)
    if not arguments.pipe:
        say(f'Downloading "{key}" from "{_shown(bucket, arguments)}".')
    with project.state() as state:
        found, pieces = state.fetch("r2.get", id=id, key=key)
        if found is None:
            for _ in pieces:
                pass
            raise CommandError("The specified key does not exist.")
        if arguments.pipe:
            for piece in pieces:
                write(piece)
            return
        target = project.cwd / (_file_for(key) if arguments.file is None else arguments.file)
        with (
            WholeFile(target) as file,
            progress("Downloading", found["size"], in_bytes=True) as step,
        ):
            for piece in pieces:
                file.write(piece)
                step(len(piece))
    say("Download complete.")


def _file_for(key: str) -> Path:
    """The file that a key is written to when none is named; never one outside the working directory."""
    path = Path(key)
    if path.is_absolute() or ".." in path.parts or not path.name or "\0" in key:
        raise CommandError(
            f'The key "{key}" cannot be the name of a file here. Name one with --file.'
        )
    return path


def _delete(arguments: argparse.Namespace) -> None:
    bucket, key = _split(arguments.path)
    project = Project(arguments)
    id = _bucket(project, bucket)
    say(f'Deleting object "{key}" from bucket "{_shown(bucket, arguments)}".')
    with project.state() as state:
        state.call("r2.delete", id=id, key=key)
    say("Delete complete.")


def _list(arguments: argparse.Namespace) -> None:
    project = Project(arguments)
    id = _bucket(project, arguments.bucket)
    objects: list[dict[str, Any]] = []
    folders: list[str] = []
    cursor: str | None = None
    with project.state() as state:
        while True:
            page = state.call(
                "r2.list",
                id=id,
                prefix=arguments.prefix,
                delimiter=arguments.delimiter,
                cursor=cursor,
            )
            objects += page["objects"]
            folders += page["prefixes"]
            cursor = page["cursor"]
            if cursor is None:
                break
    for each in objects:
        uploaded = datetime.datetime.fromtimestamp(each["uploaded"] / 1000, datetime.UTC)
        each["uploaded"] = uploaded.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if is_terminal() and not arguments.json:
        rows = [(each["key"], each["size"], each["uploaded"], each["etag"]) for each in objects]
        print_table(
            ("key", "size", "uploaded", "etag"), [*((name, "", "", "") for name in folders), *rows]
        )
        notice(f"{len(objects)} object{'' if len(objects) == 1 else 's'}")
    elif arguments.delimiter:
        print_json({"objects": objects, "delimitedPrefixes": folders})
    else:
        print_json(objects)
