"""Named environments: what they inherit, what they do not, and how one is chosen."""

from __future__ import annotations

import json

import pytest


@pytest.mark.parametrize(
    ("key", "top", "own", "attribute"),
    [
        ("compatibility_date", "2026-01-01", "2026-02-02", "compatibility_date"),
        (
            "compatibility_flags",
            ["python_workers"],
            ["python_workers", "rpc"],
            "compatibility_flags",
        ),
        ("limits", {"cpu_ms": 1, "subrequests": 2}, {"cpu_ms": 3}, "limits"),
        ("triggers", {"crons": ["* * * * *"]}, {"crons": []}, "crons"),
        ("python_modules", {"exclude": ["a"]}, {"exclude": []}, "python_modules_exclude"),
        (
            "migrations",
            [{"tag": "1", "new_classes": ["A"]}],
            [{"tag": "2", "new_sqlite_classes": ["B"]}],
            "object_classes",
        ),
        (
            "exports",
            {"A": {"type": "durable-object", "storage": "sqlite"}},
            {"B": {"type": "durable-object", "storage": "legacy-kv"}},
            "object_classes",
        ),
        ("routes", ["a.com/*"], ["b.com/*"], "routes"),
        ("rules", [{"type": "Text", "globs": ["a"]}], [{"type": "Data", "globs": ["b"]}], "rules"),
        ("base_dir", "src", ".", "base_dir"),
    ],
)
def test_an_inheritable_key_replaces_the_whole_value(project, key, top, own, attribute):
    plain = getattr(project.worker(**{key: top}), attribute)
    inherited = getattr(project.worker("e", **{key: top, "env": {"e": {}}}), attribute)
    replaced = getattr(project.worker("e", **{key: top, "env": {"e": {key: own}}}), attribute)
    alone = getattr(project.worker(**{key: own}), attribute)
    assert inherited == plain
    assert replaced == alone
    assert replaced != plain


def test_settings_for_deployment_are_inherited_too(project):
    worker = project.worker("e", logpush=True, workers_dev=False, env={"e": {"workers_dev": True}})
    assert (worker.deploy_only["logpush"], worker.deploy_only["workers_dev"]) == (True, True)


def test_null_in_an_environment_inherits(project):
    assert project.worker(
        "e", migrations=[{"tag": "1", "new_classes": ["A"]}], env={"e": {"migrations": None}}
    ).object_classes == {"A": False}


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"env": {"e": {}}}, "app-e"),
        ({"env": {"e": {"name": "own"}}}, "own"),
        ({"name": None, "env": {"e": {}}}, "worker"),
        ({}, "app-e"),
    ],
)
def test_the_name_in_an_environment(project, settings, name):
    assert project.worker("e", **settings).name == name


NOT_INHERITED = {
    "vars": {"A": "x"},
    "define": {"A": "x"},
    "kv_namespaces": [{"binding": "A"}],
    "d1_databases": [{"binding": "A"}],
    "r2_buckets": [{"binding": "A"}],
    "durable_objects": {"bindings": [{"name": "A", "class_name": "C", "script_name": "s"}]},
    "queues": {"producers": [{"binding": "A"}], "consumers": [{"queue": "q"}]},
    "workflows": [{"binding": "A", "name": "w", "class_name": "C"}],
    "services": [{"binding": "A", "service": "s"}],
    "send_email": [{"name": "A"}],
    "ratelimits": [{"name": "A", "namespace_id": "1", "simple": {"limit": 1, "period": 10}}],
    "analytics_engine_datasets": [{"binding": "A"}],
    "version_metadata": {"binding": "A"},
    "tail_consumers": [{"service": "s"}],
}


@pytest.mark.parametrize("key", NOT_INHERITED)
def test_a_key_that_is_not_inherited_is_empty_with_a_warning(project, key):
    settings = {key: NOT_INHERITED[key], "env": {"e": {}}}
    worker = project.worker("e", **settings)
    assert list(worker.bindings()) == []
    assert worker.queue_consumers == worker.tail_consumers == ()
    assert project.messages("warning", "e", **settings) == [
        f'"{key}" exists at the top level, but not on "env.e".\n"{key}" is not inherited by '
        f'environments. Please add "{key}" to "env.e".'
    ]


def test_one_missing_binding_is_named(project):
    messages = project.messages(
        "warning",
        "e",
        kv_namespaces=[{"binding": "A"}, {"binding": "B"}],
        env={"e": {"kv_namespaces": [{"binding": "B"}]}},
    )
    assert [m.splitlines()[0] for m in messages] == [
        'There is a kv_namespaces binding with name "A" at the top level, but not on "env.e".'
    ]


def test_missing_variables_and_objects_are_listed(project):
    objects = [{"name": n, "class_name": "C", "script_name": "s"} for n in ("X", "Y")]
    messages = project.messages(
        "warning",
        "e",
        vars={"A": 1, "B": 2},
        durable_objects={"bindings": objects},
        env={"e": {"vars": {"C": 3}, "durable_objects": {"bindings": objects[:1]}}},
    )
    assert [(m.splitlines()[0], m.splitlines()[2:]) for m in messages] == [
        ('The following vars exist at the top level, but not on "env.e.vars".', ["- A", "- B"]),
        ('The following bindings are at the top level, but not on "env.e".', ["- Y"]),
    ]


def test_without_any_environments_the_top_level_is_used_with_a_warning(project):
    settings = {"vars": {"A": "x"}, "kv_namespaces": [{"binding": "KV"}]}
    assert [b.name for b in project.worker("nope", **settings).bindings()] == ["KV", "A"]
    (message,) = project.messages("warning", "nope", **settings)
    assert message.startswith('No environment found in configuration with name "nope".\n')


def test_an_unknown_key_of_an_environment_is_told_under_its_heading(project):
    project.config(env={"e": {"dev": {}}})
    (found,) = project.load(env="e").diagnostics
    assert found.message == 'Unexpected fields found in env.e field: "dev"'
    assert found.section == (
        "Processing wrangler.jsonc configuration:",
        '"env.e" environment configuration',
    )


def test_mistakes_of_other_environments_are_not_looked_for(project):
    assert project.worker("a", env={"a": {}, "b": {"name": "No!"}}).name == "app-a"


@pytest.mark.parametrize(
    ("flag", "variable", "chosen"),
    [
        (None, None, None),
        ("a", None, "a"),
        (None, "a", "a"),
        ("a", "b", "a"),
        ("", "b", None),
    ],
)
def test_the_flag_wins_over_the_variable(project, flag, variable, chosen):
    project.config(env={"a": {}, "b": {}})
    environ = {} if variable is None else {"CLOUDFLARE_ENV": variable}
    assert project.load(env=flag, environ=environ).environment == chosen


def test_the_variable_may_stand_in_the_dot_env_of_the_working_directory(project):
    project.config(env={"a": {}, "b": {}})
    project.write(".env", "CLOUDFLARE_ENV=a\n")
    assert project.load().environment == "a"
    assert project.load(environ={"CLOUDFLARE_ENV": "b"}).environment == "b"


def test_two_workers_with_one_environment_use_their_own_blocks_and_folders(project):
    for name in ("one", "two"):
        project.write(f"{name}/entry.py", "")
        settings = {
            "name": name,
            "main": "entry.py",
            "compatibility_date": "2026-01-01",
            "compatibility_flags": ["python_workers"],
            "env": {
                "dev": {
                    "vars": {"WHO": name},
                    "queues": {"consumers": [{"queue": f"q-{name}"}]},
                    "d1_databases": [{"binding": "DB", "database_id": f"id-{name}"}],
                }
            },
        }
        project.write(f"{name}/wrangler.json", json.dumps(settings))
    for name in ("one", "two"):
        worker = project.load(f"{name}/wrangler.json", env="dev").worker
        assert worker.name == f"{name}-dev"
        assert worker.vars == {"WHO": name}
        assert [c.queue for c in worker.queue_consumers] == [f"q-{name}"]
        assert [d.local_id for d in worker.d1_databases] == [f"id-{name}"]
        assert worker.main == project.root / name / "entry.py"


def test_custom_domains_that_an_environment_inherits(project):
    routes = [{"pattern": "a.com", "custom_domain": True}]
    (message,) = project.messages("warning", "e", routes=routes, env={"e": {}})
    assert "includes the custom domain(s): a.com." in message
    assert project.messages("warning", "e", routes=routes, env={"e": {"routes": []}}) == []
