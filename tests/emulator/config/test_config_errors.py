# ruff: noqa: E501 - the messages stand here as they are printed
"""Wrong input, and exactly what a person is told."""

from __future__ import annotations

import textwrap

import pytest

from pyflare.config import ConfigError, parse_var_flags


def shown(text: str) -> str:
    return textwrap.dedent(text).strip("\n")


def test_a_bad_name(project):
    project.config(name="My_App")
    assert str(project.error()) == shown(
        """
        Processing wrangler.jsonc configuration:

            - Expected "name" to be of type string, alphanumeric and lowercase with dashes only but got "My_App".
              at wrangler.jsonc:2:3
        """
    )


def test_all_mistakes_are_told_at_once_nested_by_environment(project):
    project.config(
        compatibility_date="2025-13-01",
        kv_namespaces=[{"binding": 1}],
        env={"staging": {"d1_databases": [{}], "main": 5}},
    )
    assert project.error(env="staging").render() == shown(
        """
        ✘ [ERROR] Processing wrangler.jsonc configuration:

            - "compatibility_date" field should be a valid ISO-8601 date (YYYY-MM-DD), but got "2025-13-01".
              at wrangler.jsonc:4:3
            - "kv_namespaces[0]" bindings should have a string "binding" field but got {"binding":1}.
              at wrangler.jsonc:6:22
            - "env.staging" environment configuration
              - Expected "main" to be of type string but got 5.
                at wrangler.jsonc:7:45
              - "env.staging.d1_databases[0]" bindings should have a string "binding" field but got {}.
                at wrangler.jsonc:7:40
        """
    )


def test_errors_of_a_durable_object_stand_under_the_entry(project):
    project.config(durable_objects={"bindings": [{"name": "C"}]})
    assert str(project.error()) == shown(
        """
        Processing wrangler.jsonc configuration:

            - "durable_objects.bindings[0]": {"name":"C"}
              - binding should have a string "class_name" field.
                at wrangler.jsonc:6:36
        """
    )


def test_a_syntax_error_in_json_shows_the_line_with_a_caret(project):
    project.write("wrangler.json", '{\n  "name": "app"\n  "main": "x.py"\n}')
    assert project.error().render() == shown(
        """
        ✘ [ERROR] CommaExpected

            wrangler.json:3:3:
              3 │   "main": "x.py"
                ╵   ^

        A "," is expected between two entries.
        """
    )


def test_a_syntax_error_in_toml_shows_the_line_with_a_caret(project):
    project.write("wrangler.toml", 'name = "app"\nmain = \n')
    assert str(project.error()) == shown(
        """
        Invalid value

            wrangler.toml:2:8:
              2 │ main =\x20
                ╵        ^
        """
    )


def test_a_mistake_at_the_end_of_toml(project):
    project.write("wrangler.toml", "a = [1\n")
    assert str(project.error()) == shown(
        """
        Unclosed array

            wrangler.toml:1:7:
              1 │ a = [1
                ╵       ^
        """
    )


def test_an_empty_json_file(project):
    project.write("wrangler.json", "")
    assert str(project.error()).startswith("ValueExpected\n\n    wrangler.json:1:1:\n")


def test_a_json_file_without_an_object(project):
    project.write("wrangler.json", "[]")
    assert str(project.error()) == (
        'Expected "wrangler.json" to hold an object, but got [].\nat wrangler.json:1:1'
    )


def test_an_unknown_suffix_names_the_accepted_ones(project):
    path = project.write("wrangler.yaml", "name: app")
    assert str(project.error(path)) == (
        'The configuration file "wrangler.yaml" has an unknown suffix; '
        "accepted are .toml, .json, .jsonc."
    )


def test_a_file_that_is_not_there(project):
    assert str(project.error("no/wrangler.toml")) == (
        "Could not read file: no/wrangler.toml\nNo such file or directory"
    )


def test_a_file_in_another_encoding(project):
    path = project.root / "wrangler.json"
    path.write_bytes('{"name": "é"}'.encode("utf-16"))
    assert str(project.error()) == '"wrangler.json" is written in UTF-16. Save it as UTF-8, please.'
    path.write_bytes(b'{\n"name": "\xe9"}')
    assert str(project.error()) == '"wrangler.json" is not UTF-8 text.\nat wrangler.json:2:10'


def test_no_configuration_at_all(project):
    assert str(project.error()) == (
        "Missing entry-point to Worker script or to assets directory\n"
        f"No wrangler.json, wrangler.jsonc or wrangler.toml was found in {project.root} or above it. "
        "Start in the project's folder, or name the file with -c."
    )


def test_a_configuration_without_an_entry_point(project):
    project.config(main=None)
    assert str(project.error()).startswith(
        "Missing entry-point to Worker script or to assets directory\n"
        'Set "main" in the configuration, for example "main": "src/entry.py", or name the script'
    )


def test_an_entry_point_that_is_not_there(project):
    project.config(main="missing.py")
    assert str(project.error()) == shown(
        """
        The entry-point file at "missing.py" was not found.
        If a build generates the file, run the build first.
        at wrangler.jsonc:3:3
        """
    )


def test_a_python_entry_point_without_the_flag(project):
    project.config(compatibility_flags=None)
    assert str(project.error()) == shown(
        """
        The `python_workers` compatibility flag is required to use Python.
        Add "compatibility_flags": ["python_workers"] to the configuration.
        at wrangler.jsonc:1:1
        """
    )


def test_a_javascript_entry_point(project):
    project.write("src/index.js", "")
    project.config(main="src/index.js")
    assert str(project.error()) == shown(
        """
        The entry-point "src/index.js" is not a Python file. pyflare runs Workers written in Python: name a file that ends in .py.
        at wrangler.jsonc:3:3
        """
    )


def test_a_date_in_the_future(project):
    project.config(compatibility_date="2099-01-01")
    assert str(project.error()) == shown(
        """
        Compatibility date "2099-01-01" is in the future and unsupported
        at wrangler.jsonc:4:3
        """
    )


def test_dashes_that_are_no_hyphens(project):
    project.config(compatibility_date="2025–01–01")
    assert project.error().diagnostics[0].message == (
        '"compatibility_date" field should use ISO-8601 accepted hyphens (-) rather than '
        "en-dashes (–) or em-dashes (—)."
    )


def test_a_toml_date_among_the_variables(project):
    project.write(
        "wrangler.toml",
        'main = "src/entry.py"\ncompatibility_flags = ["python_workers"]\n'
        'compatibility_date = "2026-01-01"\n[vars]\nT = 2025-12-19\n',
    )
    assert str(project.error()) == shown(
        """
        Processing wrangler.toml configuration:

            - The field "vars.T" is a TOML date, which is not supported. Please use a string instead, e.g. T = "2025-12-19".
              at wrangler.toml:5:1
        """
    )


def test_one_name_for_two_kinds_of_bindings(project):
    project.config(vars={"K": "x"}, kv_namespaces=[{"binding": "K"}, {"binding": "K"}])
    assert str(project.error()) == shown(
        """
        Processing wrangler.jsonc configuration:

            - K assigned to KV Namespace and Environment Variable bindings.
              at wrangler.jsonc:6:12
            - K assigned to multiple KV Namespace bindings.
              at wrangler.jsonc:7:39
            - Bindings must have unique names, so that they can all be referenced in the worker.
              Please change your bindings to have unique names.
        """
    )


def test_a_declared_secret_counts_as_a_name_too(project):
    messages = project.messages(
        "error", secrets={"required": ["DB"]}, d1_databases=[{"binding": "DB"}]
    )
    assert messages[0] == "DB assigned to D1 Database and Secret bindings."


def test_an_unknown_environment_with_the_known_ones(project):
    project.config(env={"staging": {}, "production": {}})
    assert str(project.error(env="prodution")) == shown(
        """
        Processing wrangler.jsonc configuration:

            - No environment found in configuration with name "prodution".
              The available configured environment names are: ["staging","production"]
              Add a section "env.prodution" to the configuration, or choose another environment.
              Did you mean "production" instead of "prodution"?
              at wrangler.jsonc:6:3
        """
    )


def test_a_table_where_toml_needs_a_list_of_tables(project):
    project.write(
        "wrangler.toml",
        'main = "src/entry.py"\ncompatibility_date = "2026-01-01"\n'
        'compatibility_flags = ["python_workers"]\n\n[kv_namespaces]\nbinding = "KV"\n',
    )
    assert str(project.error()) == shown(
        """
        Processing wrangler.toml configuration:

            - The field "kv_namespaces" should be an array but got {"binding":"KV"}.
              In TOML, an entry of a list is written [[kv_namespaces]], with two brackets.
              at wrangler.toml:5:1
        """
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"node_compat": True},
            'Removed: "node_compat":\nThe "node_compat" field is no longer supported as of '
            "Wrangler v4. Instead, use the `nodejs_compat` compatibility flag.",
        ),
        (
            {"legacy_env": True},
            'The "legacy_env" field is no longer supported, so please remove it from your '
            "configuration file.",
        ),
        (
            {"pages_build_output_dir": "dist"},
            "The configuration is for a Pages project, which is run with `wrangler pages dev`.",
        ),
        (
            {"main": 1},
            'Expected "main" to be of type string but got 1.',
        ),
        (
            {"compatibility_flags": "python_workers"},
            'Expected "compatibility_flags" to be of type string array but got "python_workers".',
        ),
        (
            {"compatibility_flags": ["python_workers", "nodejs_compatt"]},
            "No such compatibility flag: nodejs_compatt",
        ),
        (
            {"env": []},
            'The field "env" should be an object but got [].',
        ),
        (
            {"env": {"x": 1}},
            'The field "env.x" should be an object but got 1.',
        ),
        (
            {"vars": ["A"]},
            'The field "vars" should be an object but got ["A"].',
        ),
        (
            {"define": {"A": 1}},
            'The field "define.A" should be a string but got 1.',
        ),
        (
            {"dev": {"local_protocol": "ftp"}},
            'Expected "dev.local_protocol" field to be one of ["http","https"] but got "ftp".',
        ),
        (
            {"dev": {"port": "8787"}},
            'Expected "dev.port" to be of type number but got "8787".',
        ),
        (
            {"dev": {"port": 70000}},
            '"dev.port" must be a port between 0 and 65535 but got 70000.',
        ),
        (
            {"triggers": {"crons": "* * * * *"}},
            'Expected "triggers.crons" to be of type array, but got {"crons":"* * * * *"}.',
        ),
        (
            {"triggers": []},
            'Expected "triggers" to be of type object but got [].',
        ),
        (
            {"build": {"command": 1}},
            'Expected "build.command" to be of type string but got 1.',
        ),
        (
            {"compliance_region": "mars"},
            'Expected "compliance_region" field to be one of ["public","fedramp_high"] but got '
            '"mars".',
        ),
        (
            {"workers_dev": "yes"},
            'Expected "workers_dev" to be of type boolean but got "yes".',
        ),
        (
            {"observability": {}},
            '"observability.enabled" or "observability.logs.enabled" or '
            '"observability.traces.enabled" is required.',
        ),
        (
            {"placement": {"mode": "fast"}},
            'Expected "placement.mode" field to be one of ["off","smart","targeted"] but got '
            '"fast".',
        ),
        (
            {"limits": {"cpu_ms": "1"}},
            'Expected "limits.cpu_ms" to be of type number but got "1".',
        ),
        (
            {"secrets": {"required": [1]}},
            'Expected "secrets.required.[0]" to be of type string but got 1.',
        ),
    ],
)
def test_settings_of_the_wrong_kind(project, settings, message):
    assert message in project.messages("error", **settings)


def test_an_unknown_key_is_a_warning_with_the_nearest_name(project):
    project.config(kv_namespace=[], kv_namespaces=[{"binding": "KV", "bogus": 1}])
    assert project.load().render_warnings() == shown(
        """
        ▲ [WARNING] Processing wrangler.jsonc configuration:

            - Unexpected fields found in kv_namespaces[0] field: "bogus"
              at wrangler.jsonc:7:39
            - Unexpected fields found in top-level field: "kv_namespace"
              Did you mean "kv_namespaces" instead of "kv_namespace"?
              at wrangler.jsonc:6:3
        """
    )


def test_a_missing_date_is_a_warning_with_the_date_used(project):
    project.config(compatibility_date=None)
    loaded = project.load()
    assert loaded.worker.compatibility_date == "2026-08-20"
    assert loaded.render_warnings() == shown(
        """
        ▲ [WARNING] No compatibility_date was specified. Using the default compatibility date: 2026-08-20.
        Add "compatibility_date": "2026-08-20" to the configuration.
        at wrangler.jsonc:1:1
        """
    )


def test_a_repeated_key_is_a_warning(project):
    project.write(
        "wrangler.json",
        '{"main": "x", "main": "src/entry.py",\n"compatibility_date": "2026-01-01", "compatibility_flags": ["python_workers"]}',
    )
    loaded = project.load()
    assert loaded.worker.main == project.root / "src/entry.py"
    assert [d.message for d in loaded.diagnostics] == [
        'The key "main" occurs more than once in one object; the last one counts.'
    ]


def test_an_error_knows_the_files_to_watch(project):
    path = project.config(name="No!")
    assert project.error().files == (
        path,
        project.root / ".dev.vars",
        project.root / ".env",
        project.root / ".env.local",
    )
    broken = project.write("wrangler.jsonc", "{")
    assert project.error().files == (broken,)


def test_credentials_are_not_quoted(project):
    messages = project.messages(
        "error", hyperdrive=[{"binding": "H", "localConnectionString": "postgres://u:hush@h/d"}]
    )
    assert messages == [
        '"hyperdrive[0]" bindings must have a "id" field but got '
        '{"binding":"H","localConnectionString":"(hidden)"}.'
    ]


@pytest.mark.parametrize("flag", ["MODE", ":x", ""])
def test_a_var_flag_without_name_or_colon(flag):
    with pytest.raises(ConfigError, match=r'^--var ".*" is not of the form KEY:VALUE'):
        parse_var_flags([flag])
