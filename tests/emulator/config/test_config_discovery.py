# ruff: noqa: E501 - the messages stand here as they are printed
"""Which file is used, and where its paths start."""

from __future__ import annotations

import json

import pytest

from pyflare.config import Overrides

TOML = 'name = "from-toml"\nmain = "../src/entry.py"\ncompatibility_date = "2026-01-01"\ncompatibility_flags = ["python_workers"]\n'


def json_config(name: str, main: str = "src/entry.py") -> str:
    return json.dumps(
        {
            "name": name,
            "main": main,
            "compatibility_date": "2026-01-01",
            "compatibility_flags": ["python_workers"],
        }
    )


@pytest.mark.parametrize(
    ("present", "chosen"),
    [
        (["wrangler.toml", "wrangler.jsonc", "wrangler.json"], "wrangler.json"),
        (["wrangler.toml", "wrangler.jsonc"], "wrangler.jsonc"),
        (["wrangler.toml"], "wrangler.toml"),
    ],
)
def test_the_order_of_names_in_one_directory(project, present, chosen):
    for name in present:
        project.write(name, TOML.replace("../", "") if name.endswith("toml") else json_config("x"))
    loaded = project.load()
    assert loaded.path == project.root / chosen
    noticed = [d.message for d in loaded.diagnostics if d.message.startswith("Using the")]
    others = [f'"{name}"' for name in present if name != chosen][::-1]
    expected = f'Using the configuration "{chosen}" and not {" and ".join(others)}.'
    assert noticed == ([expected] if others else [])


def test_a_json_of_a_grandparent_beats_the_toml_beside_you_and_says_so(project):
    project.write("wrangler.json", json_config("from-json"))
    project.write("a/b/wrangler.toml", TOML)
    loaded = project.load(cwd=project.root / "a" / "b")
    assert loaded.worker.name == "from-json"
    assert loaded.render_warnings().splitlines()[0] == (
        '▲ [WARNING] Using the configuration "../../wrangler.json" and not "wrangler.toml".'
    )


def test_the_search_starts_at_the_script_that_was_named(project):
    project.write("a/wrangler.json", json_config("of-a", "entry.py"))
    script = project.write("a/src/other.py", "")
    loaded = project.load(overrides=Overrides(script=script.relative_to(project.root)))
    assert loaded.worker.name == "of-a"
    assert loaded.worker.main == script
    assert loaded.worker.base_dir == script.parent


def test_a_script_without_any_configuration(project):
    overrides = Overrides(
        script=project.root / "src/entry.py",
        name="named",
        compatibility_date="2026-01-01",
        compatibility_flags=("python_workers",),
    )
    loaded = project.load(overrides=overrides)
    assert (loaded.path, loaded.worker.name, loaded.diagnostics) == (None, "named", ())
    assert loaded.worker.directory == project.root


def test_a_script_without_configuration_or_date_has_the_date_of_the_runtime_in_silence(project):
    overrides = Overrides(
        script=project.root / "src/entry.py", compatibility_flags=("python_workers",)
    )
    loaded = project.load(overrides=overrides)
    assert loaded.worker.compatibility_date == "2026-08-20"
    assert loaded.diagnostics == ()


def test_a_named_file_is_not_searched_for(project):
    project.write("wrangler.json", json_config("root"))
    project.write("a/wrangler.toml", TOML)
    assert project.load("a/wrangler.toml").worker.name == "from-toml"


def test_paths_start_at_the_directory_of_the_file(project):
    project.write(
        "a/wrangler.toml",
        TOML
        + 'base_dir = ".."\n[build]\ncommand = "make"\nwatch_dir = ["x", "y"]\n[assets]\ndirectory = "public"\n',
    )
    (project.root / "a/public").mkdir()
    worker = project.load("a/wrangler.toml").worker
    assert worker.directory == project.root / "a"
    assert worker.main == project.root / "src/entry.py"
    assert worker.base_dir == project.root
    assert worker.build.watch_dirs == (project.root / "a/x", project.root / "a/y")
    assert worker.assets.directory == project.root / "a/public"


def test_a_byte_order_mark_and_windows_line_ends_are_passed_over(project):
    project.write("wrangler.toml", "\ufeff" + TOML.replace("../", "").replace("\n", "\r\n"))
    assert project.load().worker.name == "from-toml"
    project.write("wrangler.jsonc", "\ufeff" + json_config("bom"))
    assert project.load().worker.name == "bom"


def test_the_project_is_the_directory_of_the_users_file(project):
    project.write("a/wrangler.toml", TOML)
    assert project.load("a/wrangler.toml").project == project.root / "a"


class TestRedirect:
    """Build tools leave `.wrangler/deploy/config.json`, which points to a generated file."""

    def redirect(self, project, target='"../../dist/wrangler.json"'):
        return project.write(".wrangler/deploy/config.json", f'{{"configPath": {target}}}')

    def test_the_generated_file_is_used_and_the_users_directory_keeps_the_secrets(self, project):
        project.write("dist/entry.py", "")
        project.config(name="user")
        project.write("dist/wrangler.json", json_config("built", "entry.py"))
        project.write(".dev.vars", "A=1")
        redirect = self.redirect(project)
        loaded = project.load()
        assert loaded.worker.name == "built"
        assert loaded.worker.main == project.root / "dist/entry.py"
        assert loaded.user_path == project.root / "wrangler.jsonc"
        assert loaded.project == project.root
        assert loaded.worker.secrets == {"A": "1"}
        assert redirect in loaded.files
        assert [each.message for each in loaded.diagnostics] == [
            'Using the redirected configuration "dist/wrangler.json", as a build tool asks for.\n'
            ' - Deploy configuration file: ".wrangler/deploy/config.json"\n'
            ' - Configuration of the user: "wrangler.jsonc"'
        ]

    def test_the_generated_file_alone(self, project):
        project.write("dist/entry.py", "")
        project.write("dist/wrangler.json", json_config("built", "entry.py"))
        self.redirect(project)
        (warning,) = project.load().diagnostics
        assert warning.message.endswith(" - Configuration of the user: none")

    def test_a_generated_file_has_no_environments(self, project):
        project.config()
        project.write("dist/wrangler.json", '{"env": {"a": {}}}')
        self.redirect(project)
        assert "- Redirected configurations cannot include environments" in str(project.error())

    def test_the_environment_must_be_the_one_that_was_built(self, project):
        project.config()
        project.write("dist/entry.py", "")
        project.write(
            "dist/wrangler.json",
            json_config("built", "entry.py")[:-1] + ', "targetEnvironment": "staging"}',
        )
        self.redirect(project)
        assert project.load(env="staging").worker.name == "built"
        assert 'You have specified the environment "other".' in str(project.error(env="other"))

    def test_a_redirect_without_a_path(self, project):
        project.config()
        self.redirect(project, target="1")
        assert 'the required "configPath" property was not found' in str(project.error())

    def test_a_redirect_that_leads_nowhere(self, project):
        project.config()
        self.redirect(project)
        assert str(project.error()).splitlines()[:2] == [
            'There is a deploy configuration at ".wrangler/deploy/config.json".',
            'But the redirected configuration path it points to, "dist/wrangler.json", does not '
            "exist.",
        ]

    def test_a_redirect_of_another_project(self, project):
        project.write("dist/wrangler.json", json_config("built"))
        self.redirect(project)
        project.write("a/wrangler.json", json_config("user"))
        assert "do not share the same base path" in str(project.error(cwd=project.root / "a"))

    def test_a_named_file_is_not_redirected(self, project):
        path = project.config(name="user")
        self.redirect(project)
        assert project.load(path).worker.name == "user"
