"""Command lines as wrangler's parser takes them, and words for commands that only wrangler has.

Source: https://developers.cloudflare.com/workers/wrangler/commands/
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Final

from .word_order import EXPERIMENTAL, ordered

__all__ = ["parse"]

_OF_WRANGLER: Final = (
    "ai auth build cert check complete containers delete deploy deployments dispatch-namespace docs email generate "
    "hello-world hyperdrive init login logout mtls-certificate pages pipelines preview pubsub queue rollback secret "
    "secrets-store setup tail telemetry triggers tunnel turnstile types vectorize versions vpc whoami workflows"
)

#: Where a group's resources are found locally, for its commands about Cloudflare's account.
_LOCALLY: Final[Mapping[str, str]] = {
    "d1": "Local databases are those of the configuration, and begin with their first use: `pyflare d1 info NAME`",
    "kv": "Local namespaces are those of the configuration, and begin with their first use: "
    "`pyflare kv key list --binding NAME`",
    "r2": "Local buckets are those of the configuration, and begin with their first use: "
    "`pyflare r2 object list NAME`",
    "queues": "Local queues are those of the configuration: `pyflare queues list`",
}

_OF_ACCOUNTS: Final[Mapping[str, frozenset[str]]] = {
    "d1": frozenset(("create", "delete", "insights", "list", "time-travel")),
    "kv": frozenset(("namespace",)),
    "r2": frozenset(("bucket", "sql")),
    "queues": frozenset(
        (
            "consumer", "create", "delete", "info", "pause-delivery", "resume-delivery",
            "subscription", "update",
        )
    ),
}  # fmt: skip


def parse(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Namespace:
    """What a command line says. Bad usage is told by the parser of the command that it is about."""
    line = ordered(parser, words)
    if line.unknown is not None and (why := _why_not(line.path, line.unknown)) is not None:
        line.command.error(why)
    arguments, extra = parser.parse_known_args(line.words)
    if hasattr(arguments, "ignored"):
        arguments.ignored += [word for word in extra if word.startswith(EXPERIMENTAL)]
        extra = [word for word in extra if not word.startswith(EXPERIMENTAL)]
    if "--" in extra:
        extra.remove("--")
    if extra:
        line.command.error(f"unrecognized arguments: {' '.join(extra)}")
    return arguments


def _why_not(path: Sequence[str], word: str) -> str | None:
    """Why a command of wrangler's is none here."""
    if not path:
        if word not in _OF_WRANGLER.split():
            return None
        return (
            f"{word!r} is a command of wrangler. pyflare runs Workers on this machine and works on their local data; "
            "what is about Cloudflare's account, or makes files, is done with wrangler or pywrangler."
        )
    group = path[0]
    if len(path) == 1 and word in _OF_ACCOUNTS.get(group, ()):
        return f"'{group} {word}' is a command of wrangler, for Cloudflare's account. {_LOCALLY[group]}."
    return None
