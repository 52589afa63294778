"""What only the top level holds, and the choice of an environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .environment import read_environment
from .report import Report
from .scope import Values
from .stringify import stringify
from .table import Table

# Generated files of build tools hold the last five too.
TOP_LEVEL_KEYS = (
    "env", "dev", "alias", "site", "send_metrics", "keep_vars", "wasm_modules", "text_blobs",
    "data_blobs", "pages_build_output_dir", "dependencies_instrumentation", "addresses", "$schema",
    "node_compat", "legacy_env", "configPath", "userConfigPath", "topLevelName",
    "definedEnvironments", "targetEnvironment",
)  # fmt: skip
MODULE_MAPS = ("wasm_modules", "text_blobs", "data_blobs")


def read_top_level(raw: Values, report: Report, *, is_redirected: bool) -> None:
    """Check the keys that no environment can hold."""
    table = Table(raw, "", (), report)
    if "legacy_env" in raw and not is_redirected:
        table.fail(
            'The "legacy_env" field is no longer supported, so please remove it from your '
            "configuration file.",
            "legacy_env",
            'Each environment is a Worker of its own, named "<name>-<environment>".',
        )
    for key in ("send_metrics", "keep_vars"):
        table.flag(key)
    for key in ("pages_build_output_dir", "$schema"):
        table.text(key)
    table.texts("addresses")
    instrumentation = table.table("dependencies_instrumentation")
    if instrumentation is not None:
        instrumentation.flag("enabled")
        instrumentation.texts("exclude_packages")
        instrumentation.only("enabled", "exclude_packages")
    _read_texts(table, "alias")
    for key in MODULE_MAPS:
        _read_texts(table, key)
        if raw.get(key):
            table.warn(f'"{key}" needs a Worker without modules and has no effect here.', key)
    _read_site(table, raw)


def _read_texts(table: Table, key: str) -> None:
    inner = table.table(key)
    if inner is not None:
        for name in inner.value:
            inner.text(name)


def _read_site(table: Table, raw: Values) -> None:
    site = table.table("site")
    if site is None:
        return
    site.prop("bucket", "string", required=True)
    for key in ("include", "exclude"):
        site.texts(key)
    if site.text("entry-point") and raw.get("main"):
        table.fail(
            "Don't define both the `main` and `site.entry-point` fields in your configuration.\n"
            "They serve the same purpose: to point to the entry-point of your worker.\n"
            "Delete the deprecated `site.entry-point` field from your config.",
            "site",
        )
    site.only("bucket", "include", "exclude", "entry-point")
    table.warn('"site" is not served locally. Use "assets" for static files.', "site")


def read_environments(
    raw: Values,
    report: Report,
    directory: Path,
    *,
    env: str | None,
    name: str | None,
    is_redirected: bool,
) -> Values:
    """The values of the chosen environment. Mistakes at the top level and in the environment
    are reported, those of other environments are not looked for."""
    top = read_environment(raw, report, directory, name=None if env else name)
    environments = _environments(raw, report, is_redirected)
    if env is None:
        return top
    if is_redirected:
        _check_target(raw, report, env)
        return top
    chosen = environments.get(env)
    if isinstance(chosen, dict):
        inner = report.within(f'"env.{env}" environment configuration')
        return read_environment(
            chosen, inner, directory, env_name=env, top=top, top_raw=raw, name=name
        )
    if env not in environments and "pages_build_output_dir" not in raw:
        _report_unknown(env, list(environments), report)
    if name is not None or not top["name"]:
        return {**top, "name": name}
    return {**top, "name": f"{top['name']}-{env}"}


def _environments(raw: Values, report: Report, is_redirected: bool) -> dict[str, Any]:
    value = raw.get("env", {})
    if not isinstance(value, dict):
        report.error(f'The field "env" should be an object but got {stringify(value)}.', ("env",))
        return {}
    if is_redirected and value:
        names = "\n".join(f"- {name}" for name in value)
        report.error(
            "Redirected configurations cannot include environments but the following have been "
            f"found:\n{names}",
            ("env",),
            "The file is generated: the mistake is in the tool that wrote it.",
        )
    for name, each in value.items():
        if not isinstance(each, dict):
            report.error(
                f'The field "env.{name}" should be an object but got {stringify(each)}.',
                ("env", name),
            )
    return value


def _check_target(raw: Values, report: Report, env: str) -> None:
    target = raw.get("targetEnvironment")
    if isinstance(target, str) and target and target != env:
        report.error(
            f'You have specified the environment "{env}".\nThis does not match the target '
            f'environment "{target}" that was used when building the application.',
            ("targetEnvironment",),
            f'Run the build of the project again for "{env}".',
        )


def _report_unknown(env: str, names: list[str], report: Report) -> None:
    message = f'No environment found in configuration with name "{env}".\n'
    if names:
        message += f"The available configured environment names are: {stringify(names)}\n"
    message += f'Add a section "env.{env}" to the configuration, or choose another environment.'
    if names:
        from .report import nearest

        report.error(message, ("env",), nearest([env], names))
    else:
        # Without any environments the top level is used, with what is not inherited too.
        report.warning(message)
