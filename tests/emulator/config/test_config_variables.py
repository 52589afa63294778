"""Variables and secrets: where they come from and which of them wins."""

from __future__ import annotations

import itertools
from typing import ClassVar

import pytest

from pyflare.config import Secrets, parse_var_flags

SOURCES = ("top", "stg", "dev", "cli", "os")


def values(loaded):
    return {**loaded.worker.vars, **loaded.worker.secrets}


@pytest.mark.parametrize("env", [None, "staging"])
@pytest.mark.parametrize(
    "present",
    [c for n in range(len(SOURCES) + 1) for c in itertools.combinations(SOURCES, n)],
    ids="+".join,
)
def test_the_command_line_beats_the_file_beats_the_chosen_block(project, present, env):
    project.config(
        vars={"MODE": "top"} if "top" in present else {},
        env={"staging": {"vars": {"MODE": "stg"} if "stg" in present else {}}},
    )
    if "dev" in present:
        project.write(".dev.vars", "MODE=dev")
    loaded = project.load(
        env=env,
        vars={"MODE": "cli"} if "cli" in present else {},
        environ={"MODE": "os"} if "os" in present else {},
    )
    block = "top" if env is None else "stg"
    expected = next((each for each in ("cli", "dev", block) if each in present), None)
    assert values(loaded).get("MODE") == expected


FILES = {
    ".dev.vars": {"D": "dev.vars", "X": "dev.vars"},
    ".dev.vars.staging": {"S": "dev.vars.staging", "X": "dev.vars.staging"},
    ".env": {"E": "env", "X": "env"},
    ".env.local": {"L": "env.local", "X": "env.local"},
    ".env.staging": {"T": "env.staging", "X": "env.staging"},
    ".env.staging.local": {"TL": "env.staging.local", "X": "env.staging.local"},
}
DOT_ENV = {k: v for k, v in FILES.items() if k.startswith(".env")}
BY_FLAG = {"env": "staging"}
BY_VARIABLE = {"environ": {"CLOUDFLARE_ENV": "staging"}}
BY_BOTH = {"env": "staging", "environ": {"CLOUDFLARE_ENV": "production"}}


@pytest.mark.parametrize(
    ("files", "chosen", "read"),
    [
        (FILES, {}, [".dev.vars"]),
        (DOT_ENV, {}, [".env", ".env.local"]),
        *((FILES, how, [".dev.vars.staging"]) for how in (BY_FLAG, BY_VARIABLE, BY_BOTH)),
        *((DOT_ENV, how, list(DOT_ENV)) for how in (BY_FLAG, BY_VARIABLE, BY_BOTH)),
        ({".dev.vars": FILES[".dev.vars"], **DOT_ENV}, BY_FLAG, [".dev.vars"]),
    ],
)
def test_flag_and_variable_choose_the_same_files(project, files, chosen, read):
    project.config(env={"staging": {}, "production": {}})
    for name, content in files.items():
        project.write(name, "".join(f"{k}={v}\n" for k, v in content.items()))
    loaded = project.load(**chosen)
    assert [path.name for path in loaded.secret_files] == read
    expected = {k: v for name in read for k, v in files[name].items()}
    assert loaded.worker.secrets == expected


def test_the_files_that_a_watcher_should_watch_include_those_that_may_come(project):
    path = project.config(env={"e": {}})
    names = [".dev.vars.e", ".dev.vars", ".env", ".env.local", ".env.e", ".env.e.local"]
    assert project.load(env="e").files == (path, *(project.root / name for name in names))


class TestEnvFiles:
    """`--env-file` replaces the whole family and disables `.dev.vars`."""

    def test_later_files_win_and_paths_start_at_the_configuration(self, project):
        (project.root / "elsewhere").mkdir()
        path = project.config()
        project.write(".dev.vars", "D=1")
        project.write(".env", "E=1")
        project.write("one.env", "A=1\nB=1")
        project.write("two.env", "B=2\nC=$A")
        loaded = project.load(
            path, cwd=project.root / "elsewhere", env_files=["one.env", "two.env"]
        )
        assert loaded.worker.secrets == {"A": "1", "B": "2", "C": "1"}

    def test_a_file_that_is_not_there_is_a_warning(self, project):
        project.config()
        loaded = project.load(env_files=["no.env"])
        assert [d.message for d in loaded.diagnostics] == [
            'The file "no.env" named by --env-file was not found.'
        ]


def test_references_are_expanded_in_env_files_and_not_in_dev_vars(project):
    project.config()
    project.write(".env", "A=1\nB=${A}")
    assert project.load().worker.secrets["B"] == "1"
    project.write(".dev.vars", "A=1\nB=${A}")
    assert project.load().worker.secrets["B"] == "${A}"


def test_the_env_family_can_be_switched_off(project):
    project.config()
    project.write(".env", "A=1")
    environ = {"CLOUDFLARE_LOAD_DEV_VARS_FROM_DOT_ENV": "false"}
    assert project.load(environ=environ).worker.secrets == {}


def test_the_process_environment_comes_only_when_asked_for(project):
    project.config()
    assert project.load(environ={"HOST_ONLY": "1"}).worker.secrets == {}
    environ = {"HOST_ONLY": "1", "CLOUDFLARE_INCLUDE_PROCESS_ENV": "true"}
    loaded = project.load(environ=environ)
    assert loaded.worker.secrets["HOST_ONLY"] == "1"
    assert loaded.process_env


def test_a_secret_replaces_a_variable_and_never_another_binding(project):
    project.config(vars={"A": {"x": 1}}, kv_namespaces=[{"binding": "KV"}])
    project.write(".dev.vars", "A=secret\nKV=oops")
    loaded = project.load(vars={"KV": "cli"})
    assert (loaded.worker.vars, loaded.worker.secrets) == ({}, {"A": "secret"})
    assert [b.kind.value for b in loaded.worker.bindings()] == ["kv_namespaces", "secrets"]
    assert [d.message for d in loaded.diagnostics] == [
        'The value for "KV" is not used: KV is a KV Namespace binding, and a variable never '
        "replaces a binding."
    ]


class TestRequiredSecrets:
    """With `secrets.required` only the declared names are taken."""

    SECRETS: ClassVar = {"required": ["NEEDED", "MISSING"]}

    def test_other_names_are_left_out_and_missing_ones_told(self, project):
        project.config(vars={"A": "x"}, secrets=self.SECRETS)
        project.write(".dev.vars", "NEEDED=1\nOTHER=2\nA=3")
        loaded = project.load()
        assert loaded.worker.secrets == {"NEEDED": "1", "A": "3"}
        assert [d.message for d in loaded.diagnostics] == [
            "Missing required secrets: MISSING. Add them to .dev.vars, .env, or set as "
            "environment variables."
        ]

    def test_the_process_environment_is_always_consulted(self, project):
        project.config(secrets=self.SECRETS)
        environ = {"NEEDED": "os", "MISSING": "os", "OTHER": "os"}
        assert project.load(environ=environ).worker.secrets == {"NEEDED": "os", "MISSING": "os"}
        project.write(".dev.vars", "NEEDED=file")
        assert project.load(environ=environ).worker.secrets == {"NEEDED": "file", "MISSING": "os"}

    def test_the_command_line_gives_them_too(self, project):
        project.config(secrets={"required": ["A"]})
        loaded = project.load(vars={"A": "1"})
        assert (loaded.worker.secrets, loaded.diagnostics) == ({"A": "1"}, ())


def test_lines_that_say_nothing_are_told_without_their_text(project):
    project.config()
    project.write(".dev.vars", 'A=1\nhunter2\nB="hunter3\n')
    loaded = project.load()
    assert [(d.message, str(d.position)) for d in loaded.diagnostics] == [
        ("This line is not of the form KEY=VALUE and was passed over.", ".dev.vars:2:1"),
        (
            "The quote that opens this value is never closed, so it is taken as part of the value.",
            ".dev.vars:3:1",
        ),
    ]


def test_secrets_are_never_shown(project):
    project.config(vars={"OPEN": "seen"})
    project.write(".dev.vars", "KEY=hunter2")
    loaded = project.load(vars={"FLAG": "hunter3"})
    rows = [(b.name, b.entry.label) for b in loaded.worker.bindings()]
    assert rows == [("OPEN", '"seen"'), ("KEY", '"(hidden)"'), ("FLAG", '"(hidden)"')]
    shown = repr(loaded) + repr(list(loaded.worker.bindings())) + str(loaded.worker.secrets)
    assert "hunter" not in shown
    assert repr(Secrets({"A": "x"})) == "Secrets(A=(hidden))"


@pytest.mark.parametrize(
    ("value", "label"),
    [
        ("x" * 41, f'"{"x" * 40}..."'),
        ({"a": [1, True]}, '{"a":[1,true]}'),
        (1.5, "1.5"),
    ],
)
def test_what_the_start_up_table_shows_of_a_variable(project, value, label):
    (row,) = project.worker(vars={"A": value}).bindings()
    assert row.entry.label == label


def test_values_arrive_as_they_are(project):
    vars = {"text": "1", "number": 1, "list": [1, None], "no": False, "deep": {"a": {"b": 1.5}}}
    assert project.worker(vars=vars).vars == vars


def test_toml_values_arrive_as_json_would_carry_them(project):
    project.write(
        "wrangler.toml",
        'main = "src/entry.py"\ncompatibility_date = "2026-01-01"\n'
        'compatibility_flags = ["python_workers"]\n[vars]\n'
        "inside = { when = 2025-12-19 }\nendless = inf\n",
    )
    assert project.load().worker.vars == {"inside": {"when": "2025-12-19"}, "endless": None}


def test_var_flags_split_at_the_first_colon():
    assert parse_var_flags(["A:1", "B:http://x:1", "C:"]) == {"A": "1", "B": "http://x:1", "C": ""}


def test_the_position_of_a_variable(project):
    project.config(vars={"A": 1}, env={"e": {"vars": {"A": 2}}})
    (top,) = project.load().worker.bindings()
    (inside,) = project.load(env="e").worker.bindings()
    assert (top.entry.position.line, inside.entry.position.line) == (6, 7)
