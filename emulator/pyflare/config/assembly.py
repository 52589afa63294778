"""From a source to the typed configuration: everything is checked, then the whole is built."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from . import blocks
from .compatibility import CompatibilityFlags
from .deploy_settings import OBJECTS, PLAIN
from .dev import DevConfig, default_dev, read_dev
from .diagnostics import ConfigError, Diagnostic, Position
from .environment import DEFAULT_WORKER_NAME, ENVIRONMENT_KEYS
from .kinds import BindingKind
from .local_support import check_local_support
from .paths import absolute
from .report import Report
from .routes import Route, check_routes
from .scope import Values
from .secrets import Secrets
from .settings import is_iso_date, is_worker_name
from .source import Source
from .startup_checks import Start, check_flags, check_python_flag, check_start, compatibility_date
from .stringify import stringify
from .table import Table
from .top_level import MODULE_MAPS, TOP_LEVEL_KEYS, read_environments, read_top_level
from .unique_names import Claim, check_unique_names
from .variables import SecretFiles, load_secret_files, merge
from .worker import BuildConfig, LoadedConfig, WorkerConfig


class Overrides(NamedTuple):
    """What the command line says instead of the configuration. Paths are absolute or relative to
    the working directory."""

    script: Path | None = None
    name: str | None = None
    compatibility_date: str | None = None
    compatibility_flags: tuple[str, ...] | None = None
    assets: Path | None = None
    routes: tuple[str, ...] | None = None


class Request(NamedTuple):
    """What one call of `load` or `parse` asks for. `directory` is what relative paths in the
    configuration start from, `project` where the user's own configuration lies; `settings` is
    `environ` with what the tool's own `.env` files add."""

    env: str | None
    cwd: Path
    directory: Path
    project: Path
    env_files: Sequence[Path]
    vars: Mapping[str, str]
    environ: Mapping[str, str]
    settings: Mapping[str, str]
    today: datetime.date
    overrides: Overrides
    running: bool
    secret_files: bool = True
    user_path: Path | None = None
    is_redirected: bool = False
    files: tuple[Path, ...] = ()


def assemble(source: Source, request: Request, notices: Sequence[Diagnostic]) -> LoadedConfig:
    """Check `source` and build the configuration. Raises ConfigError with all that is wrong."""
    report = Report(source, (f"Processing {source.display} configuration:",), list(notices))
    raw, overrides = source.data, request.overrides
    values = read_environments(
        raw,
        report,
        request.directory,
        env=request.env,
        name=overrides.name,
        is_redirected=request.is_redirected,
    )
    read_top_level(raw, report, is_redirected=request.is_redirected)
    report.unexpected("top-level", (), raw, (*ENVIRONMENT_KEYS, *TOP_LEVEL_KEYS))
    for path in source.repeated:
        report.warning(
            f'The key "{path[-1]}" occurs more than once in one object; the last one counts.', path
        )
    claims = list(_claims(values, source, request.env))
    check_unique_names(claims, report)
    check_local_support(_entries(values), report.alone())
    dev = _dev(raw, report)
    _override(values, request, report.alone())
    date = compatibility_date(values["compatibility_date"], request.today, report)
    flags: tuple[str, ...] = values["compatibility_flags"]
    check_flags(date, flags, report)
    check_python_flag(values["main"], flags, report)
    if request.running:
        start = Start(
            main=values["main"],
            assets=values["assets"],
            assets_by_flag=overrides.assets is not None,
            flags=flags,
            date=date,
            today=request.today,
            cwd=request.cwd,
            has_site="site" in raw,
            is_pages="pages_build_output_dir" in raw,
            is_configured=source.path is not None or bool(raw),
        )
        check_start(start, report)
        if values["routes"]:
            check_routes(
                values["routes"],
                values["assets"],
                has_main=values["main"] is not None,
                cwd=request.cwd,
                report=report.alone(),
            )
    secret_files = _read_secret_files(values, request)
    report.found += secret_files.diagnostics
    files = tuple(dict.fromkeys((*request.files, *secret_files.candidates)))
    if report.has_errors:
        raise ConfigError(report.found, files)
    required = _required(values)
    merged = merge(
        values["vars"],
        secret_files,
        request.vars,
        required=required,
        taken={c.name: c.kind for c in claims if c.block not in ("vars", "secrets")},
        environ=request.environ,
        diagnostics=report.found,
    )
    worker = _worker(values, source, request, date, dev, merged.plain, Secrets(merged.secret))
    return LoadedConfig(
        worker=worker,
        environment=request.env,
        diagnostics=tuple(report.found),
        files=files,
        path=source.path,
        user_path=request.user_path,
        project=request.project,
        secret_files=tuple(secret_files.read),
        process_env=secret_files.process_env,
    )


def _worker(
    values: Values,
    source: Source,
    request: Request,
    date: str,
    dev: DevConfig,
    plain: Mapping[str, Any],
    secrets: Secrets,
) -> WorkerConfig:
    main: Path | None = values["main"]
    return WorkerConfig(
        name=values["name"] or DEFAULT_WORKER_NAME,
        directory=request.directory,
        config_path=source.path,
        main=main,
        base_dir=values["base_dir"] or (request.directory if main is None else main.parent),
        compatibility_date=date,
        compatibility_flags=values["compatibility_flags"],
        compatibility=CompatibilityFlags.resolve(date, values["compatibility_flags"]),
        vars=plain,
        secrets=secrets,
        blocks=_blocks(values, request.environ),
        var_positions=_var_positions(values, source, request.env),
        required_secrets=_required(values),
        migrations=values["migrations"],
        object_classes=values["object_classes"],
        queue_consumers=values["queues"]["consumers"],
        tail_consumers=values["tail_consumers"],
        streaming_tail_consumers=values["streaming_tail_consumers"],
        routes=values["routes"] or (),
        crons=None if values["triggers"] is None else values["triggers"]["crons"],
        assets=values["assets"],
        rules=_rules(values, main),
        python_modules_exclude=values["python_modules"],
        build=values["build"] or BuildConfig(),
        dev=dev,
        limits=values["limits"],
        define=values["define"],
        deploy_only=_deploy_only(values),
    )


def _override(values: Values, request: Request, report: Report) -> None:
    """Put what the command line says in the place of what was configured."""
    overrides = request.overrides
    if overrides.script is not None:
        values["main"] = absolute(request.cwd, overrides.script)
    if overrides.name is not None and not is_worker_name(overrides.name):
        report.error(
            'Expected "--name" to be of type string, alphanumeric and lowercase with dashes only '
            f"but got {stringify(overrides.name)}."
        )
    if overrides.compatibility_date is not None:
        values["compatibility_date"] = overrides.compatibility_date
        if not is_iso_date(overrides.compatibility_date):
            report.error(
                '"--compatibility-date" should be a valid ISO-8601 date (YYYY-MM-DD), but got '
                f"{stringify(overrides.compatibility_date)}."
            )
    if overrides.compatibility_flags is not None:
        values["compatibility_flags"] = overrides.compatibility_flags
    if overrides.routes is not None:
        values["routes"] = tuple(Route(pattern) for pattern in overrides.routes)
    if overrides.assets is not None:
        from .assets import AssetsConfig

        folder = absolute(request.cwd, overrides.assets)
        values["assets"] = replace(values["assets"] or AssetsConfig(), directory=folder)


def _entries(values: Values) -> Iterator[tuple[BindingKind, tuple[Any, ...]]]:
    """The typed entries of every block that has some."""
    for kind in BindingKind:
        key = kind.value
        match kind:
            case BindingKind.VAR | BindingKind.SECRET:
                continue
            case BindingKind.UNSAFE:
                limits = _unsafe_limits(values)
                entries = tuple(each for each in values[key] if each not in limits)
            case BindingKind.RATE_LIMIT:
                entries = (*values[key], *_unsafe_limits(values))
            case BindingKind.QUEUE:
                entries = values["queues"]["producers"]
            case BindingKind.ASSETS:
                assets = values["assets"]
                entries = () if assets is None or assets.binding is None else (assets,)
            case _ if key in blocks.SINGLES:
                entries = () if values[key] is None else (values[key],)
            case _:
                entries = values[key]
        if entries:
            yield kind, entries


def _unsafe_limits(values: Values) -> tuple[Any, ...]:
    """The rate limits among the `unsafe` bindings."""
    if not values["unsafe"]:
        return ()
    from .blocks.small import RateLimit

    return tuple(each for each in values["unsafe"] if isinstance(each, RateLimit))


def _blocks(values: Values, environ: Mapping[str, str]) -> dict[str, tuple[Any, ...]]:
    found = {kind.value: entries for kind, entries in _entries(values)}
    if "hyperdrive" in found:
        found["hyperdrive"] = tuple(_with_address(e, environ) for e in found["hyperdrive"])
    return found


def _with_address(entry: Any, environ: Mapping[str, str]) -> Any:
    """A Hyperdrive entry with the connection string of the environment, which wins."""
    for prefix in ("CLOUDFLARE", "WRANGLER"):
        address = environ.get(f"{prefix}_HYPERDRIVE_LOCAL_CONNECTION_STRING_{entry.binding}")
        if address:
            return replace(entry, local_connection_string=address)
    return entry


def _claims(values: Values, source: Source, env: str | None) -> Iterator[Claim]:
    for kind, entries in _entries(values):
        for entry in entries:
            yield Claim(kind.value, kind.friendly, entry.binding, entry.position)
    friendly = BindingKind.VAR.friendly
    for name, position in _var_positions(values, source, env).items():
        yield Claim("vars", friendly, name, position)
    for name in _required(values) or ():
        yield Claim("secrets", BindingKind.SECRET.friendly, name, None)
    for key, noun in zip(MODULE_MAPS, ("Wasm Module", "Text Blob", "Data Blob"), strict=True):
        named = source.data.get(key)
        for name in named if isinstance(named, dict) else ():
            yield Claim(key, noun, name, source.position((key, name)))


def _var_positions(values: Values, source: Source, env: str | None) -> dict[str, Position | None]:
    environments = source.data.get("env")
    in_env = isinstance(environments, dict) and env in environments
    prefix = ("env", env) if in_env and env is not None else ()
    return {name: source.position((*prefix, "vars", name)) for name in values["vars"]}


def _required(values: Values) -> tuple[str, ...] | None:
    return None if values["secrets"] is None else values["secrets"]["required"]


def _dev(raw: Values, report: Report) -> DevConfig:
    table = Table(raw, "", (), report).table("dev")
    return default_dev() if table is None else read_dev(table)


def _read_secret_files(values: Values, request: Request) -> SecretFiles:
    if not request.secret_files:
        return SecretFiles()
    return load_secret_files(
        request.project,
        cwd=request.cwd,
        env=request.env,
        env_files=request.env_files,
        environ=request.environ,
        settings=request.settings,
        secrets_declared=values["secrets"] is not None,
    )


def _rules(values: Values, main: Path | None) -> tuple[Any, ...]:
    """The user's rules, and the one for Python modules where the entry-point is one."""
    if main is None or main.suffix != ".py":
        return tuple(values["rules"])
    from .rules import PYTHON_RULE

    return (*values["rules"], PYTHON_RULE)


def _deploy_only(values: Values) -> dict[str, Any]:
    keys = (*PLAIN, *OBJECTS, "compliance_region", "containers", "connect")
    return {key: values[key] for key in keys if values[key] is not None}
