"""Compatibility dates and flags."""

from __future__ import annotations

import datetime

import pytest

from pyflare.config import CompatibilityFlags, ConfigError

PYTHON = ["python_workers"]


@pytest.mark.parametrize(
    ("date", "flags", "pyodide", "python"),
    [
        ("2025-09-28", PYTHON, "0.26.0a2", "3.12"),
        ("2025-09-29", PYTHON, "0.28.2", "3.13"),
        ("2025-01-01", [*PYTHON, "python_workers_20250116"], "0.28.2", "3.13"),
        ("2026-01-01", [*PYTHON, "no_python_workers_20250116"], "0.26.0a2", "3.12"),
        ("2026-08-20", PYTHON, "0.28.2", "3.13"),
        ("2026-08-20", [*PYTHON, "python_workers_20260610"], "314.0.4", "3.14"),
        ("2026-08-20", [*PYTHON, "python_workers_20260817"], "314.0.5", "3.14"),
        ("2026-08-20", ["python_workers_development"], "314.0.5", "3.14"),
    ],
)
def test_the_runtime_of(date, flags, pyodide, python):
    resolved = CompatibilityFlags.resolve(date, flags)
    assert (resolved.pyodide_version, resolved.python_version) == (pyodide, python)


@pytest.mark.parametrize(
    ("flags", "null_is_none", "dict_to_object", "bigint"),
    [
        ([*PYTHON, "no_python_workers_20250116"], True, False, False),
        (PYTHON, False, False, False),
        ([*PYTHON, "python_workers_20260610"], False, True, True),
    ],
)
def test_what_worker_code_sees_of_the_runtime(flags, null_is_none, dict_to_object, bigint):
    resolved = CompatibilityFlags.resolve("2026-08-20", flags)
    assert resolved.null_is_none is null_is_none
    assert resolved.dict_to_object is dict_to_object
    assert resolved.bigint_is_js_bigint is bigint


@pytest.mark.parametrize(
    ("flag", "off", "since"),
    [
        ("python_workers_20250116", "no_python_workers_20250116", "2025-09-29"),
        ("python_workflows", "disable_python_workflows", "2025-09-20"),
        (
            "python_workflows_implicit_dependencies",
            "no_python_workflows_implicit_dependencies",
            "2026-02-25",
        ),
        ("python_dedicated_snapshot", "disable_python_dedicated_snapshot", "2025-10-16"),
    ],
)
def test_implied_for_python_workers(flag, off, since):
    before = (datetime.date.fromisoformat(since) - datetime.timedelta(1)).isoformat()
    assert CompatibilityFlags.resolve(since, PYTHON).flags[flag] is True
    assert CompatibilityFlags.resolve(before, PYTHON).flags[flag] is False
    assert CompatibilityFlags.resolve(since, []).flags[flag] is False
    assert CompatibilityFlags.resolve(since, [*PYTHON, off]).flags[flag] is False
    assert CompatibilityFlags.resolve(before, [*PYTHON, flag]).flags[flag] is True


@pytest.mark.parametrize(
    ("flag", "off", "since"),
    [
        ("python_no_global_handlers", "disable_python_no_global_handlers", "2025-08-14"),
        (
            "python_request_headers_preserve_commas",
            "disable_python_request_headers_preserve_commas",
            "2026-02-17",
        ),
        ("enable_python_external_sdk", "disable_python_external_sdk", "2026-04-21"),
        ("python_process_pth_files", "disable_python_process_pth_files", "2026-05-26"),
        (
            "formdata_parser_supports_files",
            "formdata_parser_converts_files_to_strings",
            "2021-11-03",
        ),
        ("fetcher_no_get_put_delete", "fetcher_has_get_put_delete", "2024-03-26"),
        ("queues_json_messages", "no_queues_json_messages", "2024-03-18"),
        ("urlpattern_standard", "urlpattern_original", "2025-05-01"),
        ("fetch_iterable_type_support", "no_fetch_iterable_type_support", "2026-02-19"),
        ("delete_all_deletes_alarm", "delete_all_preserves_alarm", "2026-02-24"),
        ("queue_expose_error_codes", "no_queue_expose_error_codes", "2026-03-12"),
    ],
)
def test_on_for_every_worker(flag, off, since):
    before = (datetime.date.fromisoformat(since) - datetime.timedelta(1)).isoformat()
    assert getattr(CompatibilityFlags.resolve(since), flag) is True
    assert getattr(CompatibilityFlags.resolve(before), flag) is False
    assert getattr(CompatibilityFlags.resolve(since, [off]), flag) is False
    assert getattr(CompatibilityFlags.resolve(before, [flag]), flag) is True


def test_flags_that_only_a_name_turns_on():
    resolved = CompatibilityFlags.resolve("2026-08-20", PYTHON)
    assert resolved.python_workers is True
    assert resolved.python_workers_20260610 is False
    assert resolved.python_workers_20260817 is False


def test_one_flag_implies_the_next():
    resolved = CompatibilityFlags.resolve("2025-10-16", PYTHON)
    assert resolved.python_dedicated_snapshot is True
    off = CompatibilityFlags.resolve("2025-10-16", [*PYTHON, "no_python_workers_20250116"])
    assert off.python_dedicated_snapshot is False


def test_a_date_object_will_do():
    assert CompatibilityFlags.resolve(datetime.date(2026, 1, 2)).date == "2026-01-02"


def test_an_unknown_attribute_is_an_attribute_error():
    with pytest.raises(AttributeError):
        _ = CompatibilityFlags.resolve("2026-01-01").no_such_flag


def test_flags_cannot_be_changed():
    with pytest.raises(AttributeError):
        CompatibilityFlags.resolve("2026-01-01").python_workers = True  # type: ignore[misc]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ["python_wrkers"],
            'No such compatibility flag: python_wrkers\nDid you mean "python_workers" instead of "python_wrkers"?',
        ),
        (["rpc", "rpc"], "Compatibility flag specified multiple times: rpc"),
        (["rpc", "no_rpc"], "Compatibility flags are mutually contradictory: rpc vs no_rpc"),
        (["no_rpc", "rpc"], "Compatibility flags are mutually contradictory: rpc vs no_rpc"),
    ],
)
def test_what_the_runtime_refuses(flags, message):
    with pytest.raises(ConfigError) as caught:
        CompatibilityFlags.resolve("2026-01-01", flags)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        (
            "python_workers_20260817",
            "The compatibility flag python_workers_20260817 is experimental and cannot yet be "
            "used in Workers deployed to Cloudflare.",
        ),
        (
            "queues_json_messages",
            "The compatibility flag queues_json_messages became the default as of 2024-03-18 so "
            "does not need to be specified anymore.",
        ),
    ],
)
def test_what_the_runtime_remarks(project, flag, message):
    assert project.messages("warning", compatibility_flags=[*PYTHON, flag]) == [message]


def test_a_wrong_flag_is_placed_at_its_element(project):
    project.config(compatibility_flags=["python_workers", "rcp"])
    assert str(project.error().diagnostics[0].position) == "wrangler.jsonc:5:45"
