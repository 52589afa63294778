"""Command lines as wrangler's parser takes them, and words for commands that only wrangler has.

Options of all commands may stand before the command, and flags may be given a value (``--json=true``).
Source: https://developers.cloudflare.com/workers/wrangler/commands/ and wrangler's ``src/index.ts`` (global options)
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any, Final

__all__ = ["Listed", "arranged", "parse"]

#: Options of all commands, each with a value.
_GLOBAL: Final = frozenset(("-c", "--config", "-e", "--env", "--cwd", "--env-file", "--persist-to"))

#: How the names of options begin that wrangler tries out.
_EXPERIMENTAL: Final = ("--experimental-", "--no-experimental-", "--x-", "--no-x-")

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
    arguments, extra = parser.parse_known_args(_spread(command, _without_values(command, words)))
    if hasattr(arguments, "ignored"):
        arguments.ignored += [word for word in extra if word.startswith(_EXPERIMENTAL)]
        extra = [word for word in extra if not word.startswith(_EXPERIMENTAL)]
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
    index = 0
    while index < len(words):
        word = words[index]
        if word == "--":
            return [*plain, *words[index:]]
        index += 1
        name, equals, value = word.partition("=")
        if name not in flags and not name.startswith(_EXPERIMENTAL):
            plain.append(word)
            continue
        if not equals and index < len(words) and words[index] in ("true", "false"):
            value = words[index]
            index += 1
        if value == "true":
            plain.append(name)
        elif value != "false":
            plain.append(word)
    return plain


class Listed(argparse.Action):
    """An option that takes all the words behind it, and may be repeated.

    Other than in wrangler the name of a Python file ends the list: it is the entry-point.
    """

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        setattr(namespace, self.dest, [*getattr(namespace, self.dest), values])


def _spread(parser: argparse.ArgumentParser, words: Sequence[str]) -> list[str]:
    """The words with each option of a list repeated before each of its values."""
    listed = {
        name
        for action in parser._actions
        if isinstance(action, Listed)
        for name in action.option_strings
    }
    spread: list[str] = []
    option, first = "", False
    for index, word in enumerate(words):
        if word == "--":
            return [*spread, *words[index:]]
        script = not first and word.endswith(".py") and ":" not in word
        if word.startswith("-") or script:
            name, equals, _ = word.partition("=")
            option, first = (name, not equals) if name in listed else ("", False)
        elif option and not first:
            spread.append(option)
        else:
            first = False
        spread.append(word)
    return spread
