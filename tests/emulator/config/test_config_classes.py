"""Durable Object classes: migrations folded in order, and exports."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("migrations", "classes"),
    [
        (
            [{"tag": "1", "new_classes": ["A"], "new_sqlite_classes": ["B"]}],
            {"A": False, "B": True},
        ),
        (
            [
                {"tag": "1", "new_sqlite_classes": ["A"]},
                {"tag": "2", "renamed_classes": [{"from": "A", "to": "B"}]},
            ],
            {"B": True},
        ),
        ([{"tag": "1", "new_classes": ["A"]}, {"tag": "2", "deleted_classes": ["A"]}], {}),
        (
            [
                {"tag": "1", "new_classes": ["A", "B"]},
                {
                    "tag": "2",
                    "new_sqlite_classes": ["A"],
                    "renamed_classes": [{"from": "B", "to": "C"}],
                    "deleted_classes": ["A"],
                },
            ],
            {"C": False, "A": True},
        ),
        (
            [{"tag": "1", "transferred_classes": [{"from": "A", "from_script": "s", "to": "B"}]}],
            {"B": True},
        ),
    ],
)
def test_migrations_fold_to_the_classes_that_are_left(project, migrations, classes):
    assert project.worker(migrations=migrations).object_classes == classes


@pytest.mark.parametrize(
    ("migrations", "message"),
    [
        (
            [{"tag": "1", "renamed_classes": [{"from": "X", "to": "Y"}]}],
            "Cannot apply renamed_classes migration to non-existent class X",
        ),
        (
            [{"tag": "1", "deleted_classes": ["X"]}],
            "Cannot apply deleted_classes migration to non-existent class X",
        ),
        (
            [{"tag": "1", "new_classes": ["X"]}, {"tag": "2", "new_classes": ["X"]}],
            "Cannot apply new_classes migration to existing class X",
        ),
        (
            [{"tag": "1", "new_classes": ["X"], "new_sqlite_classes": ["X"]}],
            "Cannot apply new_sqlite_classes migration to existing class X",
        ),
        ({}, 'The optional "migrations" field should be an array, but got {}'),
        ([1], '"migrations[0]" should be an object but got 1.'),
        ([{}], '"migrations[0].tag" is a required field.'),
        (
            [{"tag": "1", "new_classes": "A"}],
            'Expected "migrations[0].new_classes" to be an array of strings but got "A"',
        ),
        (
            [{"tag": "1", "renamed_classes": [{"from": "A"}]}],
            'Expected "migrations[0].renamed_classes" to be an array of "{from: string, to: '
            'string}" objects but got [{"from":"A"}].',
        ),
    ],
)
def test_migrations_that_cannot_be(project, migrations, message):
    assert project.messages("error", migrations=migrations) == [message]


def test_a_mistake_in_inherited_migrations_is_told_once(project):
    migrations = [{"tag": "1", "deleted_classes": ["X"]}]
    assert len(project.messages("error", "e", migrations=migrations, env={"e": {}})) == 1


def test_an_object_whose_class_is_nowhere_declared_is_a_warning_with_a_remedy(project):
    project.config(durable_objects={"bindings": [{"name": "O", "class_name": "C"}]})
    (found,) = project.load().diagnostics
    assert found.message == (
        "You have configured `durable_objects` exported by this Worker (C), but no `migrations` "
        "(or live `exports` entry) for them."
    )
    assert '"new_sqlite_classes": ["C"]' in found.hint


def test_exports_declare_classes(project):
    exports = {
        "A": {"type": "durable-object", "storage": "sqlite"},
        "B": {"type": "durable-object", "storage": "legacy-kv", "state": "created"},
        "C": {"type": "durable-object", "state": "deleted"},
        "D": {"type": "worker", "cache": {"enabled": True}},
    }
    objects = {"bindings": [{"name": "O", "class_name": "A"}]}
    assert project.messages("warning", exports=exports, durable_objects=objects) == []
    assert project.load().worker.object_classes == {"A": True, "B": False}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (1, '"exports.A" should be an object but got 1.'),
        ({}, '"exports.A.type" must be "durable-object" or "worker", but got null.'),
        (
            {"type": "durable-object"},
            '"exports.A.storage" is required for state "created" and must be one of sqlite and '
            "legacy-kv, but got null",
        ),
        (
            {"type": "durable-object", "state": "gone"},
            '"exports.A.state" must be one of "created", "deleted", "renamed", "transferred", or '
            '"expecting-transfer" but got "gone".',
        ),
        (
            {"type": "durable-object", "state": "renamed"},
            '"exports.A.renamed_to" is required for state "renamed" and must be a non-empty '
            "string.",
        ),
        (
            {"type": "durable-object", "state": "deleted", "storage": "sqlite"},
            '"exports.A.storage" is forbidden on state "deleted".',
        ),
    ],
)
def test_exports_that_cannot_be(project, entry, message):
    assert project.messages("error", exports={"A": entry}) == [message]


def test_migrations_and_exports_exclude_each_other(project):
    messages = project.messages(
        "error",
        migrations=[{"tag": "1", "new_classes": ["A"]}],
        exports={"B": {"type": "durable-object", "storage": "sqlite"}},
    )
    assert messages == [
        "`migrations` and `exports` are mutually exclusive. Choose one or the other to declare "
        "your Durable Object lifecycle, but not both."
    ]
