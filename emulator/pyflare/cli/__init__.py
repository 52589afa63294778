"""The command line. Each command lives in a module of its own, which is imported only when it is asked for."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final, Protocol, cast

from .command_line import parse
from .word_order import first_command

__all__ = ["COMMANDS", "main", "parser_for"]

#: Command name: (module below this package, one line for the help).
COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "dev": ("dev", "run Workers locally and serve them over HTTP"),
    "d1": ("d1", "run SQL on local D1 databases, apply migrations, export"),
    "kv": ("kv", "read and write keys of local KV namespaces"),
    "r2": ("r2", "read and write objects of local R2 buckets"),
    "queues": ("queues", "send messages to local queues, look at them, empty them"),
    "do": ("do", "look into local Durable Objects and their alarms"),
    "state": ("state", "carry local state over from wrangler, and back"),
}


class _Command(Protocol):
    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the command's arguments."""

    def run(self, arguments: argparse.Namespace) -> int:
        """Do the command's work; returns the exit code."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; ``argv`` defaults to the process's own.

    Returns the exit code: 0 success, 1 failure. Bad usage raises ``SystemExit(2)`` with a message on standard error,
    as :mod:`argparse` does.
    """
    words = sys.argv[1:] if argv is None else argv
    parser = parser_for(words)
    arguments = parse(parser, words)
    if arguments.command is None:
        parser.print_help()
        return 0
    try:
        return cast(int, arguments.run(arguments))
    except KeyboardInterrupt:
        return 0


def parser_for(words: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of the command line, with the arguments of the one command that the words are about."""
    parser = argparse.ArgumentParser(
        prog="pyflare",
        description="Runs Cloudflare Workers written in Python in one process, with their bindings.",
        allow_abbrev=False,
    )
    parser.add_argument("-v", "--version", action=_Version, nargs=0, help="show the version")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    chosen = first_command(words, COMMANDS)
    for name, (module_name, summary) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        if name == chosen:
            module = cast(_Command, import_module(f"{__name__}.{module_name}"))
            module.configure(command)
            command.set_defaults(run=module.run)
    return parser


class _Version(argparse.Action):
    """Prints the version of the installed distribution, which is looked up only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"pyflare {version('pyflare')}")
        parser.exit()
