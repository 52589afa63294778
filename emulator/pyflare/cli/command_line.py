"""Command lines as wrangler's parser takes them, and words for commands that only wrangler has.

Options of all commands may stand before the command, and flags may be given a value (``--json=true``).
Source: https://developers.cloudflare.com/workers/wrangler/commands/ and wrangler's ``src/index.ts`` (global options)
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any, Final

__all__ = ["arranged", "parse"]

#: Options of all commands, each with a value.
_GLOBAL: Final = frozenset(("-c", "--config", "-e", "--env", "--cwd", "--env-file", "--persist-to"))

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


def arranged(words: Sequence[str]) -> list[str]:
    """The words with the options that stand before the command behind it."""
    index = 0
    while index < len(words):
        name, equals, _ = words[index].partition("=")
        if name in _GLOBAL:
            index += 1 if equals else 2
        elif name[:2] in ("-c", "-e") and len(name) > 2:
            index += 1
        else:
            break
    options, rest = list(words[:index]), list(words[index:])
    end = rest.index("--") if "--" in rest else len(rest)
    return rest[:end] + options + rest[end:]


def parse(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Namespace:
    """What a command line says. Bad usage is told by the parser of the command that it is about."""
    command, path, unknown = _found(parser, words)
    if unknown is not None and (why := _why_not(path, unknown)) is not None:
        command.error(why)
    arguments, extra = parser.parse_known_args(_without_values(command, words))
    if extra:
        command.error(f"unrecognized arguments: {' '.join(extra)}")
    return arguments


def _found(
    parser: argparse.ArgumentParser, words: Sequence[str]
) -> tuple[argparse.ArgumentParser, list[str], str | None]:
    """The parser of the command that is meant, the words that lead to it, and one that leads nowhere."""
    path: list[str] = []
    for word in words:
        choices = _commands_of(parser)
        if choices is None or word.startswith("-"):
            break
        if word not in choices:
            return parser, path, word
        parser = choices[word]
        path.append(word)
    return parser, path, None


def _commands_of(parser: argparse.ArgumentParser) -> Mapping[str, Any] | None:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return action.choices
    return None


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


def _without_values(parser: argparse.ArgumentParser, words: Sequence[str]) -> list[str]:
    """The words with flags that are given a value as flags alone, or left out."""
    flags = {
        name
        for action in parser._actions
        if action.nargs == 0 and not isinstance(action, argparse._HelpAction)
        for name in action.option_strings
    }
    plain: list[str] = []
    for index, word in enumerate(words):
        if word == "--":
            return [*plain, *words[index:]]
        name, _, value = word.partition("=")
        if name not in flags or value not in ("true", "false"):
            plain.append(word)
        elif value == "true":
            plain.append(name)
    return plain
