"""The words of a command line in an order in which :mod:`argparse` finds all of them.

wrangler's parser takes options anywhere: between the words of a command's name, before positional arguments and among
them. argparse does not find a positional argument that may be left out behind an option, and a flag's value not at all.
So options go first here, each with what belongs to it, and positional arguments behind ``--``.

Source: https://github.com/yargs/yargs-parser/blob/main/docs/tricks.md and wrangler's ``src/index.ts`` (global options)
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

__all__ = ["EXPERIMENTAL", "Line", "Listed", "commands_of", "first_command", "ordered"]

#: How the names of options begin that wrangler tries out; they are flags.
EXPERIMENTAL: Final = ("--experimental-", "--no-experimental-", "--x-", "--no-x-")

#: Options of all commands, each with a value.
_GLOBAL: Final = frozenset(("-c", "--config", "-e", "--env", "--cwd", "--env-file", "--persist-to"))

_NEGATIVE_NUMBER: Final = re.compile(r"-\d+|-\d*\.\d+")
_SEVERAL_LETTERS: Final = re.compile(r"-[A-Za-z]{2,}")

_Options: TypeAlias = Mapping[str, argparse.Action]


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


@dataclass(slots=True)
class Line:
    """A command line: the parser of the command that is meant, the names that lead to it, one that leads nowhere,
    and the words for the outermost parser."""

    command: argparse.ArgumentParser
    path: list[str] = field(default_factory=list)
    unknown: str | None = None
    words: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Option:
    action: argparse.Action | None
    words: list[str]


def first_command(words: Sequence[str], names: Collection[str]) -> str | None:
    """The first word that is a command's name, and no value of an option of all commands."""
    is_value = False
    for word in words:
        if not is_value and word in names:
            return word
        is_value = word in _GLOBAL
    return None


def ordered(parser: argparse.ArgumentParser, words: Sequence[str]) -> Line:
    """Find the command that a line is about, and put the line's words in order."""
    line, rest = Line(parser), list(words)
    between = _find_command(line, rest)
    line.words += line.path
    if line.unknown is not None:
        line.words.append(line.unknown)
        return line
    known, own = _options_below(line.command), line.command._option_string_actions
    options, positionals = list[_Option](), list[str]()
    _sort(between, known, options, positionals)
    _sort(rest, known, options, positionals)
    for option in options:
        # In a group without a command, options of its commands are not what is wrong.
        if commands_of(line.command) is None or not _is_for_commands(option, own):
            line.words += option.words
    if positionals:
        line.words += ["--", *positionals]
    return line


def _find_command(line: Line, rest: list[str]) -> list[str]:
    """Take a command's name off the words, and the options before it and in it, which are given back."""
    outermost, between = line.command, list[str]()
    while rest and rest[0] != "--" and (commands := commands_of(line.command)) is not None:
        known = _options_below(line.command)
        if _is_option(rest[0], known):
            _, end = _option(rest, 0, known, whole_lists=False)
            is_own = line.command is outermost and rest[0] in outermost._option_string_actions
            # What the outermost parser itself answers, as --version, is for no command.
            into = line.words if is_own and rest[0] not in ("-h", "--help") else between
            into += rest[:end]
            del rest[:end]
        elif rest[0] in commands:
            line.command = commands[rest[0]]
            line.path.append(rest.pop(0))
        else:
            line.unknown = rest[0]
            break
    return between


def commands_of(parser: argparse.ArgumentParser) -> Mapping[str, Any] | None:
    """The commands below a parser by name; None for one that is a command itself."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return action.choices
    return None


def _options_below(parser: argparse.ArgumentParser) -> _Options:
    """The options of a parser and of all commands below it."""
    found: dict[str, argparse.Action] = {}
    for command in (commands_of(parser) or {}).values():
        found |= _options_below(command)
    return found | parser._option_string_actions


def _is_for_commands(option: _Option, own: _Options) -> bool:
    """Whether an option is none of a group's own, but one that its commands take."""
    name = option.words[0].partition("=")[0] if option.words else ""
    return name not in own and (option.action is not None or name in _GLOBAL)


def _sort(
    words: list[str], known: _Options, options: list[_Option], positionals: list[str]
) -> None:
    index = 0
    while index < len(words):
        if words[index] == "--":
            positionals += words[index + 1 :]
            return
        if not _is_option(words[index], known):
            positionals.append(words[index])
            index += 1
            continue
        option, index = _option(words, index, known, whole_lists=True)
        if not option.words:
            # A flag that is taken back: the last one counts.
            options[:] = [each for each in options if each.action is not option.action]
        options.append(option)


def _is_option(word: str, known: _Options) -> bool:
    """Whether argparse takes a word for an option."""
    if len(word) < 2 or word[0] != "-":
        return False
    if word.partition("=")[0] in known or (word[1] != "-" and word[:2] in known):
        return True
    return _NEGATIVE_NUMBER.fullmatch(word) is None and " " not in word


def _option(
    words: list[str], index: int, known: _Options, *, whole_lists: bool
) -> tuple[_Option, int]:
    """The option at an index with what belongs to it, and the index behind that.

    ``words`` may be changed: short flags in one word (``-yf``) become one word each.
    """
    word = words[index]
    first = known.get(word[:2])
    if _SEVERAL_LETTERS.fullmatch(word) and first is not None and first.nargs == 0:
        words[index : index + 1] = [word[:2], f"-{word[2:]}"]
        word = words[index]
    name, value = _split(word, known)
    action = known.get(name)
    index += 1
    negated = _negated(name, known) if action is None else None
    if negated is not None and value is None:
        return _switched_off(negated, known), index
    if name.startswith(EXPERIMENTAL) if action is None else action.nargs == 0:
        if (
            value is None
            and not name.startswith("--no-")
            and words[index : index + 1] in (["true"], ["false"])
        ):
            value = words[index]
            index += 1
        return _flag(action, name, value, known), index
    if action is None and name not in _GLOBAL:
        return _Option(None, [word]), index
    values = [] if value is None else [value]
    if not values and _is_value(words, index, known):
        values.append(words[index])
        index += 1
    if whole_lists and values and (isinstance(action, Listed) or _takes_several(action)):
        while _is_value(words, index, known) and not _is_script(words[index]):
            values.append(words[index])
            index += 1
        if isinstance(action, Listed):
            return _Option(action, [f"{name}={each}" for each in values]), index
        return _Option(action, [name, *values]), index
    return _Option(action, [word] if value is not None else [word, *values]), index


def _split(word: str, known: _Options) -> tuple[str, str | None]:
    """The name of an option, and the value in the same word: ``--name=value``, ``-nvalue``."""
    name, equals, value = word.partition("=")
    if name not in known and word[1] != "-" and word[:2] in known:
        return word[:2], word[2:]
    return name, value if equals else None


def _negated(name: str, known: _Options) -> argparse.Action | None:
    """The flag that ``--no-NAME`` takes back."""
    if not name.startswith("--no-"):
        return None
    action = known.get(f"--{name.removeprefix('--no-')}")
    return action if action is not None and action.nargs == 0 else None


def _flag(action: argparse.Action | None, name: str, value: str | None, known: _Options) -> _Option:
    match value:
        case None | "true":
            return _Option(action, [name])
        case "false":
            return _Option(None, []) if action is None else _switched_off(action, known)
        case _:
            return _Option(action, [f"{name}={value}"])


def _switched_off(action: argparse.Action, known: _Options) -> _Option:
    """A flag that is false: by the option that says so, where there is one."""
    for name in action.option_strings:
        opposite = known.get(f"--no-{name.removeprefix('--')}")
        if opposite is not None and opposite is not action and opposite.dest == action.dest:
            return _Option(action, [opposite.option_strings[0]])
    return _Option(action, [])


def _is_value(words: Sequence[str], index: int, known: _Options) -> bool:
    return index < len(words) and words[index] != "--" and not _is_option(words[index], known)


def _takes_several(action: argparse.Action | None) -> bool:
    return action is not None and action.nargs in ("+", "*")


def _is_script(word: str) -> bool:
    return word.endswith(".py") and ":" not in word
