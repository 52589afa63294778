"""Options stand anywhere on a command line, and flags have all the forms that wrangler's parser knows."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from typing import Any

import pytest

from pyflare.cli import command_line, main, parser_for
from pyflare.cli.word_order import commands_of


def parsed(*words: str) -> dict[str, Any]:
    return vars(command_line.parse(parser_for(words), words))


def commands_below(*path: str) -> Iterator[tuple[list[str], argparse.ArgumentParser]]:
    """All commands that begin with these words, each with its parser."""
    command = parser_for(path)
    for word in path:
        command = (commands_of(command) or {})[word]
    choices = commands_of(command)
    if choices is None:
        yield list(path), command
    for name in choices or ():
        yield from commands_below(*path, name)


def arguments_of(command: argparse.ArgumentParser) -> list[str]:
    """A word for each positional argument, an option for each that is required."""
    words = [f"word-{index}" for index, _ in enumerate(command._get_positional_actions())]
    for action in command._get_optional_actions():
        if action.required:
            words += [action.option_strings[0], "needed"]
    return words


FLAGS = [
    pytest.param(path, command, action, name, id=f"{' '.join(path)} {name}")
    for path, command in commands_below()
    for action in command._get_optional_actions()
    for name in action.option_strings
    if action.nargs == 0 and action.dest not in ("help", "ignored")
]

#: The words of a command with its positional arguments, and its options.
LINES = [
    ("kv key put k v", "--binding KV", "--preview", "--ttl 60", "--metadata {}"),
    ("kv key put k ''", "--binding=KV", "--no-preview", "--persist-to dir"),
    ("kv key get k", "--namespace-id x", "--text"),
    ("kv key list", "--binding KV", "--prefix a", "--json"),
    ("kv bulk put file.json", "--binding KV", "--ttl 60", "-c a.toml"),
    ("kv bulk delete file.json", "--binding KV", "-f", "-y"),
    ("r2 object put b/k", "--file a", "-J eu", "--force", "--ct text/plain"),
    ("r2 object get b/k", "--pipe", "--cwd .", "-e prod"),
    ("r2 bulk put b", "--filename a", "-eprod", "--concurrency 5"),
    ("queues send jobs '{\"id\": 1}'", "--delay 5", "--content-type json"),
    ("queues send jobs -5", "--delay -5", "--local=true"),
    ("queues list jobs", "--limit 5", "--json true"),
    ("queues purge jobs", "--force"),
    ("d1 execute DB", "--command 'SELECT a = 1'", "--json", "--yes"),
    ("d1 export DB", "--output f", "--table a", "--table b", "--no-data"),
    ("d1 migrations create DB add users", "--cwd .", "-c a.toml"),
    ("do list Counter", "--json", "-e prod"),
    ("do sql Counter", "--name a", "--command 'SELECT 1'", "--json"),
    ("state import source", "--overwrite", "-c a.toml", "-c b.toml", "--json"),
    ("dev src/entry.py", "--port 0", "--no-watch", "-e prod", "--name a"),
]


@pytest.mark.parametrize("line", LINES, ids=lambda line: line[0])
def test_an_option_stands_anywhere_on_the_line(line: tuple[str, ...]) -> None:
    plain, *given = line
    words, options = shlex.split(plain), [shlex.split(each) for each in given]
    expected = parsed(*words, *(word for each in options for word in each))
    for moved in range(len(options)):
        others = [word for index, each in enumerate(options) if index != moved for word in each]
        if "--table" in options[moved] or options[moved][0] == "-c":
            continue  # Their order is what they mean.
        for at in range(len(words) + 1):
            found = parsed(*words[:at], *options[moved], *words[at:], *others)
            assert found == expected, (at, options[moved])


@pytest.mark.parametrize("line", LINES, ids=lambda line: line[0])
def test_all_options_stand_together_anywhere_on_the_line(line: tuple[str, ...]) -> None:
    plain, *given = line
    words, options = shlex.split(plain), shlex.split(" ".join(given))
    expected = parsed(*words, *options)
    for at in range(len(words) + 1):
        assert parsed(*words[:at], *options, *words[at:]) == expected, at


def test_of_an_option_that_is_repeated_the_last_one_counts() -> None:
    given = parsed("-e", "a", "kv", "-e", "b", "key", "list", "-e", "c")
    assert given["env"] == "c"
    given = parsed("kv", "--json", "key", "list", "--json=false")
    assert given["json"] is False


@pytest.mark.parametrize(("path", "command", "action", "name"), FLAGS)
def test_a_flag_is_set_and_taken_back_in_all_forms(
    path: list[str], command: argparse.ArgumentParser, action: argparse.Action, name: str
) -> None:
    words = arguments_of(command)
    default = parsed(*path, *words)
    on = {**default, action.dest: action.const}
    switched_on, switched_off = [[name], [f"{name}=true"]], [[f"{name}=false"]]
    if not name.startswith("--no-"):
        switched_on.append([name, "true"])
        switched_off.append([name, "false"])
        if name.startswith("--"):
            switched_off.append([f"--no-{name[2:]}"])
    for form in switched_on:
        assert parsed(*path, *form, *words) == on, form
        assert parsed(*path, *words, *form) == on, form
    for form in switched_off:
        for given in (form, [name, *form], [*form, *form]):
            found = parsed(*path, *given, *words)
            assert found[action.dest] in (default[action.dest], not action.const), given
            assert {**found, action.dest: action.const} == on, given
            assert parsed(*path, *given, name, *words) == on, given


def test_the_forms_of_a_flag_with_three_states_differ() -> None:
    words = ("kv", "key", "get", "k")
    assert parsed(*words)["preview"] is None
    assert parsed(*words, "--preview")["preview"] is True
    for form in (["--no-preview"], ["--preview=false"], ["--preview", "false"]):
        assert parsed(*words, *form)["preview"] is False


def test_only_true_and_false_are_the_value_of_a_flag() -> None:
    given = parsed("kv", "key", "put", "--binding", "KV", "--preview", "foo", "bar")
    assert (given["preview"], given["key"], given["value"]) == (True, "foo", "bar")
    given = parsed("kv", "key", "put", "--binding", "KV", "--preview", "false", "true", "false")
    assert (given["preview"], given["key"], given["value"]) == (False, "true", "false")
    given = parsed("kv", "key", "put", "k", "--no-preview", "false", "--binding", "KV")
    assert (given["preview"], given["key"], given["value"]) == (False, "k", "false")


def test_flags_of_one_letter_stand_together() -> None:
    given = parsed("r2", "object", "put", "-yf", "file", "b/k")
    assert (given["force"], str(given["file"]), given["path"]) == (True, "file", "b/k")
    given = parsed("r2", "object", "-yp", "put", "b/k")
    assert (given["force"], given["pipe"], given["path"]) == (True, True, "b/k")


@pytest.mark.parametrize(
    ("words", "key", "value"),
    [
        (["--", "-k", "--v"], "-k", "--v"),
        (["k", "--", "--binding"], "k", "--binding"),
        (["-5", "-.5"], "-5", "-.5"),
        (["-", ""], "-", ""),
        (["k", "-l and more"], "k", "-l and more"),
        (["k", "a=b"], "k", "a=b"),
    ],
)
def test_words_that_are_no_options_are_arguments(words: list[str], key: str, value: str) -> None:
    given = parsed("kv", "key", "put", "--binding", "KV", *words)
    assert (given["key"], given["value"], given["binding"]) == (key, value, "KV")


def test_the_name_of_a_command_is_a_value_where_one_belongs() -> None:
    assert parsed("kv", "--binding", "key", "key", "list")["binding"] == "key"
    assert parsed("--env", "dev", "kv", "key", "list")["env"] == "dev"


def test_a_group_shows_its_commands_whatever_options_are_given(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--cwd", "."]) == 0
    assert "commands:" in capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(words)
    assert stopped.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("kv key list --nope", "unrecognized arguments: --nope"),
        ("kv --nope key list", "unrecognized arguments: --nope"),
        ("kv key get --binding KV k more", "unrecognized arguments: more"),
        ("kv key list -- more", "unrecognized arguments: more"),
        ("kv key get k --no-binding", "unrecognized arguments: --no-binding"),
        ("kv key get k --no-text=true", "unrecognized arguments: --no-text=true"),
        ("kv key get k --text=yes", "ignored explicit argument 'yes'"),
        ("kv key get k --binding", "argument --binding: expected one argument"),
        ("kv key get --binding -- k", "argument --binding: expected one argument"),
        ("kv key get k --binding --text", "argument --binding: expected one argument"),
        ("r2 object put b/k -yz", "unrecognized arguments: -z"),
        ("kv key get --binding KV", "the following arguments are required: key"),
        ("kv --binding KV key", "the following arguments are required: COMMAND"),
        ("kv --binding KV kye list", "invalid choice: 'kye'"),
        ("--cwd . d1 --json list", "'d1 list' is a command of wrangler"),
        ("--cwd . deploy", "'deploy' is a command of wrangler"),
        ("--json deplyo", "invalid choice: 'deplyo'"),
        ("--nope", "unrecognized arguments: --nope"),
    ],
)
def test_what_is_wrong_is_told_wherever_it_stands(
    capsys: pytest.CaptureFixture[str], words: str, message: str
) -> None:
    assert message in refused(capsys, *words.split())


@pytest.mark.parametrize("words", ["-h kv key", "kv -h key", "kv key -h", "--cwd . kv key --help"])
def test_help_is_about_the_command_on_the_line(
    capsys: pytest.CaptureFixture[str], words: str
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(words.split())
    assert stopped.value.code == 0
    assert capsys.readouterr().out.startswith("usage: pyflare kv key [-h]")


def test_the_version_is_told_before_a_command_is_looked_at(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--version", "kv", "key", "list", "--nope"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out.startswith("pyflare ")
