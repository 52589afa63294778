"""Words that do not go together, a missing configuration, output that cannot be written: what each command says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pyflare.cli import main
from pyflare_bindings.lease import Lease

from .conftest import SETTINGS, Cli


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("d1 execute DB", "Missing required option --command or --file."),
        ("d1 execute DB --command x --file y", "can't provide both --command and --file."),
        ("d1 export DB --output x --no-data --no-schema", "Cannot use --no-schema and --no-data"),
        ("kv key get k", "Exactly one of the arguments binding and namespace-id is required."),
        ("kv key put k --binding KV", "Exactly one of the arguments value and path is required."),
        ("r2 object put my-bucket --pipe", "form of {bucket}/{key} you provided my-bucket"),
        ("r2 object put my-bucket/k", "Either the --file or --pipe options are required."),
        ("r2 object put my-bucket/k --file x --pipe", "Give one of --file and --pipe, not both."),
        ("r2 object get my-bucket/k --file x --pipe", "Give one of --file and --pipe, not both."),
        ("queues send jobs", "Exactly one of the arguments message and file is required."),
        ("queues list jobs --limit 0", "--limit has to be at least 1."),
        ("do sql --command x", "Exactly one of the arguments id and name is required."),
    ],
)
def test_wrong_usage_exits_with_2(cli: Cli, project: Path, words: str, text: str) -> None:
    failed = cli(*words.split())
    assert failed.code == 2
    assert text in failed.err
    assert not (project / ".pyflare").exists()


@pytest.mark.parametrize("message", ["", "  "])
def test_a_migration_needs_a_message(cli: Cli, project: Path, message: str) -> None:
    failed = cli("d1", "migrations", "create", "DB", message)
    assert failed.code == 2
    assert "The message is empty." in failed.err
    assert not (project / "migrations").exists()


@pytest.mark.parametrize(
    "words",
    [
        "d1 info DB",
        "d1 migrations list DB",
        "queues list",
        "do list",
        "kv key list --binding KV",
        "state export out",
        "state import",
    ],
)
def test_without_a_configuration_the_search_for_it_is_told(tmp_path: Path, words: str) -> None:
    failed = subprocess.run(
        [sys.executable, "-m", "pyflare", *words.split()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr == (
        f"✘ [ERROR] No wrangler.json, wrangler.jsonc or wrangler.toml was found in {tmp_path} or above it. "
        "Start in the project's folder, or name the file with -c.\n"
    )
    assert list(tmp_path.iterdir()) == []


needs_full_device = pytest.mark.skipif(
    not os.path.exists("/dev/full"), reason="the system has no device that is always full"
)


@needs_full_device
@pytest.mark.parametrize(
    "words",
    [
        "kv key get k --binding KV",
        "kv key get k --text --binding KV",
        "kv key get big --binding KV",
        "kv key list --binding KV",
        "d1 execute DB --command SELECT(1)",
        "d1 execute DB --command nonsense --json",
        "queues list",
        "r2 object get my-bucket/big --pipe",
        "state export out",
        "state export out --json",
    ],
)
def test_output_that_cannot_be_written_is_one_error(cli: Cli, project: Path, words: str) -> None:
    _store(cli, project)
    with open("/dev/full", "wb") as full:
        failed = subprocess.run(
            [sys.executable, "-m", "pyflare", *words.split()],
            cwd=project,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    lines = [line for line in failed.stderr.splitlines() if not line.startswith(("🌀", "🚣"))]
    assert lines == ["✘ [ERROR] Standard output cannot be written: No space left on device."]
    assert failed.returncode == 1


@pytest.mark.parametrize("words", ["queues list", "kv key get k --binding KV", "state export out"])
def test_output_that_is_closed_is_one_error(cli: Cli, project: Path, words: str) -> None:
    _store(cli, project)
    failed = subprocess.run(
        ["sh", "-c", f'exec "$0" -m pyflare {words} >&-', sys.executable],
        cwd=project,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert failed.stderr == "✘ [ERROR] Standard output is closed.\n"
    assert failed.returncode == 1


@needs_full_device
@pytest.mark.parametrize(
    "words",
    [
        "r2 object get my-bucket/big --file /dev/full",
        "r2 object get my-bucket/small --file /dev/full",
        "d1 export DB --output /dev/full",
    ],
)
def test_a_file_that_cannot_be_written_to_its_end_is_named(
    cli: Cli, project: Path, words: str
) -> None:
    _store(cli, project)
    failed = cli(*words.split())
    assert failed.code == 1
    assert "✘ [ERROR] /dev/full cannot be written: No space left on device." in failed.err


def _store(cli: Cli, project: Path) -> None:
    (project / "wrangler.json").write_text(json.dumps(SETTINGS))
    (project / "big").write_bytes(b"x" * 3_000_000)
    (project / "small").write_bytes(b"x")
    assert cli("kv", "key", "put", "k", "v", "--binding", "KV").code == 0
    assert cli("kv", "key", "put", "big", "--path", "big", "--binding", "KV").code == 0
    for name in ("big", "small"):
        assert cli("r2", "object", "put", f"my-bucket/{name}", "--file", name).code == 0


@pytest.mark.parametrize(
    "words",
    [
        "{options} d1 info DB --json",
        "d1 info DB --json {options}",
        "d1 info DB --json=true {options}",
        "{options} d1 info DB --json=true --local=true --remote=false",
        "-ewhat-is-not-there {options} --env=staging d1 info DB --json",
    ],
)
def test_options_of_all_commands_stand_anywhere_and_flags_take_values(
    project: Path, capfd: pytest.CaptureFixture[str], words: str
) -> None:
    environment = {"d1_databases": SETTINGS["d1_databases"]}
    config = project / "other.json"
    config.write_text(json.dumps({**SETTINGS, "env": {"staging": environment}}))
    options = f"--cwd {project} -c other.json"
    assert main(words.format(options=options).split()) == 0
    assert json.loads(capfd.readouterr().out)["num_tables"] == 0


@pytest.mark.parametrize(
    "words",
    [
        ["kv", "key", "put", "k", b"\xff", "--binding", "KV"],
        ["r2", "object", "delete", b"my-bucket/\xff"],
    ],
)
def test_words_that_are_no_text_are_shown_all_the_same(
    project: Path, words: list[str | bytes]
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pyflare", *words],
        cwd=project,
        env={**os.environ, "PYTHONIOENCODING": "utf-8:strict"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert '"?"' in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--remote", "--remote works on data in Cloudflare's network"),
        ("--local=false", "--local=false works on data in Cloudflare's network"),
        ("--no-local", "--local=false works on data in Cloudflare's network"),
        ("--local --remote", "can't use --local and --remote at the same time"),
        ("--no-local --remote", "--remote works on data in Cloudflare's network"),
    ],
)
def test_what_is_not_local_is_refused(cli: Cli, project: Path, words: str, told: str) -> None:
    failed = cli(*f"kv key put k v --binding KV {words}".split())
    assert failed.code == 1
    assert told in failed.err
    assert not (project / ".pyflare").exists()


@pytest.mark.parametrize("words", ["--local", "--no-remote", "--remote=false --local=false"])
def test_what_is_local_has_several_names(cli: Cli, words: str) -> None:
    assert cli(*f"kv key list --binding KV {words}".split()).json == []


def test_words_after_the_double_dash_are_taken_as_they_are(cli: Cli, project: Path) -> None:
    main(["--cwd", str(project), "kv", "key", "put", "--binding", "KV", "--", "--local=true", "-c"])
    assert cli("kv", "key", "list", "--binding", "KV", "--json").json == [{"name": "--local=true"}]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("kv key list --binding KV", []),
        ("d1 migrations list DB", [{"Name": "0001_a.sql"}]),
        ("queues list", None),
        ("do list Counter", []),
        ("do alarms Counter", []),
        ("r2 object list my-bucket", None),
        ("d1 execute DB --command SELECT(1)", None),
        ("d1 info DB", None),
    ],
)
def test_every_list_and_result_is_json_where_asked_for(
    cli: Cli, project: Path, words: str, expected: object
) -> None:
    (project / "migrations").mkdir()
    (project / "migrations/0001_a.sql").write_text("SELECT 1")
    found = cli(*words.split(), "--json").json
    assert expected is None or found == expected


def test_state_is_carried_over_from_another_folder(cli: Cli, project: Path) -> None:
    cli("kv", "key", "put", "k", "v", "--binding", "KV")
    assert cli("state", "export", "out").code == 0
    assert (project / "out").is_dir()
    assert cli("state", "import", "out/v3", "--persist-to", "other").code == 0
    found = cli("kv", "key", "get", "k", "--binding", "KV", "--persist-to", "other")
    assert found.out == "v"


def test_state_that_is_in_use_is_not_carried_over(cli: Cli, project: Path) -> None:
    root = project / ".pyflare" / "state"
    root.mkdir(parents=True)
    lease = Lease.acquire(root)
    failed = cli("state", "export", "out")
    lease.release()
    assert failed.code == 1
    assert "Stop that process, and run this again." in failed.err
