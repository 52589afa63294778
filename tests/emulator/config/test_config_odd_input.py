"""Whatever stands in a file: it is read, or refused with a ConfigError."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyflare.config import ConfigError, LoadedConfig, load
from pyflare.config.environment import ENVIRONMENT_KEYS
from pyflare.config.top_level import TOP_LEVEL_KEYS

KEYS = sorted({*ENVIRONMENT_KEYS, *TOP_LEVEL_KEYS})
INNER_KEYS = st.sampled_from(
    [
        "binding", "name", "id", "bindings", "class_name", "script_name", "environment", "queue",
        "producers", "consumers", "simple", "limit", "period", "namespace_id", "required", "type",
        "storage", "state", "tag", "new_classes", "renamed_classes", "from", "to", "pattern",
        "directory", "run_worker_first", "crons", "events", "targets", "filter", "limits", "steps",
        "schedules", "remote", "outbound", "local_dev", "experimental_s3_credentials", "metadata",
        "logs", "enabled", "dev", "port", "command", "watch_dir", "exclude", "staging", "vars",
        "props", "protocol", "globs", "fallthrough", "bucket_name", "certificate_id", "stream",
    ]
)  # fmt: skip
ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["", "a", "B", "é\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(INNER_KEYS, inner, max_size=4),
    max_leaves=12,
)
CONFIGS = st.dictionaries(st.sampled_from(KEYS), ANY, max_size=4)
ON_DISK = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150
)


def attempt(path: Path, env: str | None = None) -> None:
    found: LoadedConfig | ConfigError
    try:
        found = load(path, env=env, cwd=path.parent, environ={})
    except ConfigError as error:
        found = error
    if isinstance(found, ConfigError):
        assert any(each.level == "error" for each in found.diagnostics)
        assert found.render().encode()
    else:
        assert repr(found)
        assert all(isinstance(each.entry.label, str) for each in found.worker.bindings())
        assert isinstance(found.render_warnings().encode(), bytes)


@ON_DISK
@given(config=CONFIGS, inside=st.none() | CONFIGS)
def test_values_of_any_kind_under_known_keys(tmp_path, config, inside):
    config = config if inside is None else {**config, "env": {"staging": inside}}
    path = tmp_path / "wrangler.json"
    text = json.dumps(config).replace("NaN", "0").replace("Infinity", "1e999")
    path.write_text(text)
    attempt(path)
    attempt(path, "staging")


@ON_DISK
@given(content=st.binary(max_size=60), suffix=st.sampled_from(["json", "jsonc", "toml"]))
def test_bytes_of_any_kind(tmp_path, content, suffix):
    path = tmp_path / f"wrangler.{suffix}"
    path.write_bytes(content)
    attempt(path)


@ON_DISK
@given(text=st.text(alphabet="[]{}=\"'#,.\nabvars1 -:T", max_size=60))
def test_toml_of_any_kind(tmp_path, text):
    path = tmp_path / "wrangler.toml"
    path.write_text(text)
    attempt(path)


@ON_DISK
@given(content=st.binary(max_size=60))
def test_secrets_files_of_any_kind(tmp_path, content):
    (tmp_path / "entry.py").touch()
    path = tmp_path / "wrangler.json"
    path.write_text(
        '{"main": "entry.py", "compatibility_date": "2026-01-01", '
        '"compatibility_flags": ["python_workers"]}'
    )
    (tmp_path / ".dev.vars").write_bytes(content)
    attempt(path)


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 5000,
        "a = " + "[" * 300 + "]" * 300,
        "a" + ".a" * 3000 + " = 1",
        "vars.A = " + "9" * 5000,
        "vars.A = 1e999",
    ],
)
def test_toml_beyond_measure(tmp_path, text):
    path = tmp_path / "wrangler.toml"
    path.write_text(text + "\n")
    attempt(path)


def test_a_directory_in_the_place_of_the_file(tmp_path):
    path = tmp_path / "wrangler.toml"
    path.mkdir()
    with pytest.raises(ConfigError, match=r"^Could not read file: wrangler.toml\n"):
        load(path, cwd=tmp_path, environ={})
