"""`load` and `parse`: from a file, or from Python objects, to the configuration of a worker."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .assembly import Overrides, Request, assemble
from .diagnostics import ConfigError, Diagnostic
from .discovery import discover
from .paths import absolute
from .source import Source, plain_table, read_source
from .variables import tool_environ
from .worker import LoadedConfig


def load(
    path: Path | None = None,
    *,
    env: str | None = None,
    cwd: Path | None = None,
    env_files: Sequence[Path] = (),
    vars: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
    today: datetime.date | None = None,
    overrides: Overrides | None = None,
    running: bool = True,
) -> LoadedConfig:
    """Read the configuration of one worker.

    `path` names the file; without it the search is wrangler's (`discovery.py`), starting at the
    script of `overrides` or at `cwd`. `env` is the environment, else `CLOUDFLARE_ENV`; both ways
    give the same result. `env_files` are those of `--env-file` (relative to the configuration's
    directory), `vars` those of `--var`. `running` also checks what only matters when the worker
    starts: that its entry-point exists and is Python, that its date is not in the future.

    Raises ConfigError with everything that is wrong, not just the first mistake.
    """
    cwd = Path.cwd() if cwd is None else absolute(Path.cwd(), cwd)
    overrides = overrides or Overrides()
    process = os.environ if environ is None else environ
    settings = tool_environ(cwd, env, env_files, process)
    script = None if overrides.script is None else absolute(cwd, overrides.script)
    notices: list[Diagnostic] = []
    if path is None:
        found = discover(cwd if script is None else script.parent, cwd)
        path, user_path, notices = found.path, found.user_path, found.notices
        files = [each for each in (path, user_path, found.redirect) if each is not None]
    else:
        path = user_path = absolute(cwd, path)
        files = [path]
    owner = user_path or path
    try:
        source = Source({}) if path is None else read_source(path, cwd)
        request = Request(
            env=_chosen(env, settings),
            cwd=cwd,
            directory=cwd if path is None else path.parent,
            # `.dev.vars` belongs to the file that the user wrote, also beside a redirect.
            project=cwd if owner is None else owner.parent,
            env_files=env_files,
            vars=vars or {},
            environ=process,
            today=today or datetime.datetime.now(datetime.UTC).date(),
            overrides=overrides,
            running=running,
            user_path=owner,
            is_redirected=path is not None and user_path != path,
            settings=settings,
            files=tuple(dict.fromkeys(files)),
        )
        return assemble(source, request, notices)
    except ConfigError as error:
        error.files = tuple(dict.fromkeys((*files, *error.files)))
        raise


def parse(
    data: Mapping[str, Any],
    *,
    base: Path,
    env: str | None = None,
    vars: Mapping[str, str] | None = None,
    env_files: Sequence[Path] = (),
    secret_files: bool = False,
    environ: Mapping[str, str] | None = None,
    today: datetime.date | None = None,
    overrides: Overrides | None = None,
    running: bool = True,
) -> LoadedConfig:
    """The same from Python objects: `data` has the shape of a wrangler.json, and relative paths
    in it start at `base`. `.dev.vars` and `.env` files in `base` are read only with
    `secret_files` or `env_files`; `CLOUDFLARE_ENV` does not choose the environment.

    Raises ConfigError, also for values that a configuration cannot hold.
    """
    base = absolute(Path.cwd(), base)
    try:
        plain = plain_table(data)
    except ValueError as error:
        raise ConfigError([Diagnostic("error", str(error))]) from None
    except RecursionError:
        raise ConfigError(
            [Diagnostic("error", "The configuration is nested too deeply.")]
        ) from None
    process = os.environ if environ is None else environ
    request = Request(
        env=env or None,
        cwd=base,
        directory=base,
        project=base,
        env_files=env_files,
        vars=vars or {},
        environ=process,
        today=today or datetime.datetime.now(datetime.UTC).date(),
        overrides=overrides or Overrides(),
        running=running,
        secret_files=secret_files or bool(env_files),
        settings=process,
    )
    return assemble(Source(plain), request, [])


def _chosen(env: str | None, settings: Mapping[str, str]) -> str | None:
    """An empty `--env` means the top level, also where the variable names an environment."""
    return (settings.get("CLOUDFLARE_ENV") if env is None else env) or None
