"""The command line: what is accepted, what is refused."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from pyflare.cli import command_line, main
from pyflare.cli.dev import configure


def parse(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    configure(parser)
    return parser.parse_args(words)


def test_configurations_can_be_repeated() -> None:
    assert parse("-c", "a.toml", "--config", "b.jsonc").config == [Path("a.toml"), Path("b.jsonc")]


def test_variables_are_split_at_the_first_colon() -> None:
    assert parse("--var", "URL:http://x:1", "--var", "A:").var == [("URL", "http://x:1"), ("A", "")]


def test_compatibility_flags_have_two_spellings() -> None:
    given = parse("--compatibility-flag", "a", "--compatibility-flags", "b", "c")
    assert given.compatibility_flag == ["a", "b", "c"]


def as_wrangler(*words: str) -> argparse.Namespace:
    """What `pyflare dev` is told, as its command line is read."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    configure(parser)
    return command_line.parse(parser, words)


FLAGS = [
    "show-interactive-dev-session", "latest", "enable-containers", "live-reload", "local", "types",
    "minify", "bundle", "tunnel", "install-skills", "node-compat",
]  # fmt: skip


@pytest.mark.parametrize("flag", [*FLAGS, "x-provision", "experimental-auto-create"])
def test_flags_of_wrangler_have_all_its_forms(flag: str) -> None:
    for words in ([f"--{flag}"], [f"--no-{flag}"], [f"--{flag}=true"], [f"--{flag}", "true"]):
        given = as_wrangler(*words, "src/entry.py")
        assert given.ignored == [words[0].removesuffix("=true")]
        assert given.script == Path("src/entry.py")
    for words in ([f"--{flag}=false"], [f"--{flag}", "false"]):
        given = as_wrangler(*words, "src/entry.py")
        assert given.ignored == []
        assert given.script == Path("src/entry.py")


@pytest.mark.parametrize("flag", ["remote", "test-scheduled"])
def test_flags_with_an_effect_have_all_forms_too(flag: str) -> None:
    name = flag.replace("-", "_")
    for words in ([f"--{flag}"], [f"--{flag}=true"], [f"--{flag}", "true"]):
        assert getattr(as_wrangler(*words), name) is True
    for words in ([], [f"--no-{flag}"], [f"--{flag}=false"], [f"--{flag}", "false"]):
        assert getattr(as_wrangler(*words), name) is False


def test_lists_take_what_stands_behind_them_up_to_the_entry_point() -> None:
    given = as_wrangler(
        "--var", "A:1", "B:x.py", "src/entry.py", "--var=C:3", "D:4",
        "--routes", "a.com/*", "b.com", "--route", "c.com", "--alias", "x:y", "z:w",
    )  # fmt: skip
    assert given.var == [("A", "1"), ("B", "x.py"), ("C", "3"), ("D", "4")]
    assert given.routes == ["a.com/*", "b.com", "c.com"]
    assert given.script == Path("src/entry.py")
    assert given.ignored == ["--alias", "--alias"]


def test_values_of_options_without_effect_are_passed_over() -> None:
    given = as_wrangler("--site", "public", "--tunnel-name", "t", "--site-include", "a", "b")
    assert given.script is None
    assert given.ignored == ["--site", "--tunnel-name", "--site-include", "--site-include"]


def test_flags_of_wrangler_without_effect_are_accepted_and_remembered() -> None:
    given = parse("--latest", "--inspector-port", "9229", "--no-bundle", "src/entry.py")
    assert given.ignored == ["--latest", "--inspector-port", "--no-bundle"]
    assert given.script == Path("src/entry.py")


def test_log_level_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WRANGLER_LOG", "DEBUG")
    assert parse().log_level == "debug"


def test_log_level_in_the_environment_that_is_unknown_is_ignored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WRANGLER_LOG", "loud")
    assert parse().log_level == "log"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--port", "abc"], "'abc' is not a port number"),
        (["--port", "70000"], "70000 is not a port: choose one from 0 to 65535"),
        (["--var", "novalue"], "'novalue' is not of the form KEY:VALUE"),
        (["--var", ":x"], "':x' is not of the form KEY:VALUE"),
        (["--log-level", "loud"], "invalid choice: 'loud'"),
        (["--durability", "none"], "invalid choice: 'none'"),
        (["--local-protocol", "https"], "invalid choice: 'https'"),
        (["--unknown-flag"], "unrecognized arguments: --unknown-flag"),
        (["--por", "1"], "unrecognized arguments: --por"),
        (["--host", "https://a.com/x"], "'https://a.com/x' is not a host name, with or without"),
        (["--local-upstream", "*.a.com"], "'*.a.com' is not a host name, with or without a port"),
    ],
)
def test_bad_usage_exits_with_2_and_says_why(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["dev", *words])
    assert stopped.value.code == 2
    told = capsys.readouterr().err
    assert message in told
    assert "usage: pyflare dev [-h]" in told


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("deplyo", "invalid choice: 'deplyo'"),
        ("deploy", "'deploy' is a command of wrangler. pyflare runs Workers on this machine"),
        ("secret list", "'secret' is a command of wrangler."),
        (
            "d1 list",
            "'d1 list' is a command of wrangler, for Cloudflare's account. Local databases",
        ),
        ("d1 time-travel info DB", "'d1 time-travel' is a command of wrangler"),
        ("kv namespace list", "`pyflare kv key list --binding NAME`"),
        ("r2 bucket list", "`pyflare r2 object list NAME`"),
        ("queues info jobs", "`pyflare queues list`"),
        ("queues inof", "invalid choice: 'inof'"),
    ],
)
def test_unknown_commands_exit_with_2_and_say_what_there_is(
    words: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(words.split())
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", ["kv key list --nope", "kv key list --binding KV more", "d1 migrations list DB --nope"]
)
def test_an_unknown_argument_is_told_with_the_usage_of_its_command(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(words.split())
    assert stopped.value.code == 2
    told = capsys.readouterr().err
    assert f"usage: pyflare {' '.join(words.split()[:3])} [-h] [-c FILE]" in told
    assert "unrecognized arguments: " in told


def test_version_is_the_distributions(capsys: pytest.CaptureFixture[str]) -> None:
    from importlib.metadata import version

    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"pyflare {version('pyflare')}\n"


def test_no_command_shows_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "dev" in capsys.readouterr().out


def test_remote_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dev", "--remote"]) == 1
    assert "--remote runs on Cloudflare's network" in capsys.readouterr().err
