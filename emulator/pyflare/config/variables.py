"""Where a worker's variables and secrets come from, and which of them wins.

Order: `vars` of the configuration, then the secrets file, then `--var`. See
https://developers.cloudflare.com/workers/local-development/environment-variables/.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from .diagnostics import ConfigError, Diagnostic, Position
from .paths import display_name, is_file
from .source import read_text

LOAD_DOT_ENV = "CLOUDFLARE_LOAD_DEV_VARS_FROM_DOT_ENV"
INCLUDE_PROCESS_ENV = "CLOUDFLARE_INCLUDE_PROCESS_ENV"


class SecretFiles:
    """What the secrets files gave. `read` are the files that were read, `candidates` those that
    would be if they existed. `values` is None when there was no source at all."""

    __slots__ = ("candidates", "diagnostics", "process_env", "read", "values")

    def __init__(self) -> None:
        self.values: dict[str, str] | None = None
        self.read: list[Path] = []
        self.candidates: list[Path] = []
        self.process_env = False
        self.diagnostics: list[Diagnostic] = []


def load_secret_files(
    directory: Path,
    *,
    cwd: Path,
    env: str | None,
    env_files: Sequence[Path],
    environ: Mapping[str, str],
    settings: Mapping[str, str],
    secrets_declared: bool,
) -> SecretFiles:
    """Read `.dev.vars`, the `.env` family or the files named by `--env-file`, all relative to
    `directory` (the configuration file's). `settings` holds the switches of the tool, `environ`
    the process environment that `${NAME}` may mean. Raises ConfigError for a file that cannot be
    read."""
    found = SecretFiles()
    if not env_files:
        names = [".dev.vars"] if env is None else [f".dev.vars.{env}", ".dev.vars"]
        found.candidates += [directory / name for name in names]
        for path in found.candidates:
            if is_file(path):
                found.read.append(path)
                found.values = _read(path, cwd, found.diagnostics)
                break
    if found.values is None and (env_files or settings.get(LOAD_DOT_ENV, "").lower() != "false"):
        include = settings.get(INCLUDE_PROCESS_ENV, "").lower() == "true" or secrets_declared
        paths = [directory / each for each in env_files] or dot_env_family(directory, env)
        _read_dot_env(found, paths, cwd, environ if include else {}, named=bool(env_files))
    return found


def _read_dot_env(
    found: SecretFiles,
    paths: Sequence[Path],
    cwd: Path,
    process: Mapping[str, str],
    *,
    named: bool,
) -> None:
    from .dotenv import expand

    found.candidates += paths
    merged: dict[str, str] = {}
    for path in paths:
        if is_file(path):
            found.read.append(path)
            merged.update(_read(path, cwd, found.diagnostics))
        elif named:
            message = f'The file "{display_name(path, cwd)}" named by --env-file was not found.'
            found.diagnostics.append(Diagnostic("warning", message))
    found.process_env = bool(process)
    if found.read or process:
        found.values = {**process, **expand(merged, process)}


def dot_env_family(directory: Path, env: str | None) -> list[Path]:
    """The `.env` files that count, the later ones winning."""
    names = [".env", ".env.local"]
    if env is not None:
        names += [f".env.{env}", f".env.{env}.local"]
    return [directory / name for name in names]


def _read(path: Path, cwd: Path, diagnostics: list[Diagnostic]) -> dict[str, str]:
    from .dotenv import parse

    display = display_name(path, cwd)
    variables = parse(read_text(path, display))
    # Messages name the place only: the text of such a line may be a secret.
    diagnostics += [
        Diagnostic(
            "warning",
            "This line is not of the form KEY=VALUE and was passed over.",
            position=Position(display, line),
        )
        for line in variables.unread
    ]
    diagnostics += [
        Diagnostic(
            "warning",
            "The quote that opens this value is never closed, so it is taken as part of the value.",
            position=Position(display, line),
        )
        for line in variables.unclosed
    ]
    return variables.values


def tool_environ(
    cwd: Path, env: str | None, env_files: Sequence[Path], environ: Mapping[str, str]
) -> Mapping[str, str]:
    """`environ` with the `CLOUDFLARE_*` and `WRANGLER_*` settings that the `.env` files of the
    working directory add to it. The process's own values win."""
    paths = [cwd / each for each in env_files] or dot_env_family(cwd, env)
    present = [path for path in paths if is_file(path)]
    if not present:
        return environ
    from .dotenv import expand

    merged: dict[str, str] = {}
    for path in present:
        merged.update(_read(path, cwd, []))
    settings = {
        name: value
        for name, value in expand(merged, environ).items()
        if name.startswith(("CLOUDFLARE_", "WRANGLER_"))
    }
    return {**environ, **{k: v for k, v in settings.items() if k not in environ}}


class Merged(NamedTuple):
    """`plain` are the variables that stay as configured, `secret` those whose value is hidden."""

    plain: dict[str, object]
    secret: dict[str, str]


def merge(
    configured: Mapping[str, object],
    files: SecretFiles,
    flags: Mapping[str, str],
    *,
    required: Sequence[str] | None,
    taken: Mapping[str, str],
    environ: Mapping[str, str],
    diagnostics: list[Diagnostic],
) -> Merged:
    """Combine the three sources. `required` is `secrets.required` (None when the configuration
    declares no secrets): then only those names and the configured ones are taken from files.
    `taken` maps the names of other bindings to their kinds; no secret replaces one of them."""
    loaded = files.values or {}
    chosen: dict[str, str]
    if required is None:
        chosen = dict(loaded)
    else:
        # The process environment is consulted for declared names also beside a `.dev.vars`.
        chosen = {name: environ[name] for name in required if name in environ}
        allowed = {*required, *configured}
        chosen.update({name: value for name, value in loaded.items() if name in allowed})
        missing = [name for name in required if name not in chosen and name not in flags]
        if missing:
            message = (
                f"Missing required secrets: {', '.join(missing)}. "
                "Add them to .dev.vars, .env, or set as environment variables."
            )
            diagnostics.append(Diagnostic("warning", message))
    chosen.update(flags)
    secret: dict[str, str] = {}
    for name, value in chosen.items():
        if name not in taken:
            secret[name] = value
        elif name in flags or not files.process_env:
            diagnostics.append(
                Diagnostic(
                    "warning",
                    f'The value for "{name}" is not used: {name} is a {taken[name]} binding, and '
                    "a variable never replaces a binding.",
                )
            )
    plain = {name: value for name, value in configured.items() if name not in secret}
    return Merged(plain, secret)


def parse_var_flags(flags: Iterable[str]) -> dict[str, str]:
    """The values of `--var KEY:VALUE`, split at the first colon. Raises ConfigError for one
    without a colon or without a name."""
    values: dict[str, str] = {}
    for flag in flags:
        name, colon, value = flag.partition(":")
        if not colon or not name:
            shown = name if not colon else ":..."
            raise ConfigError(
                [
                    Diagnostic(
                        "error",
                        f'--var "{shown}" is not of the form KEY:VALUE, for example '
                        "--var MODE:staging.",
                    )
                ]
            )
        values[name] = value
    return values
