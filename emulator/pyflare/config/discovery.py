"""Which configuration file is used when none is named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .diagnostics import ConfigError, Diagnostic
from .paths import absolute, display_name, is_file
from .source import read_source

# wrangler looks for one name in every ancestor before it looks for the next one at all.
FILE_NAMES = ("wrangler.json", "wrangler.jsonc", "wrangler.toml")
REDIRECT = Path(".wrangler", "deploy", "config.json")


class Discovered:
    """`path` is what is read, `user_path` what the user wrote; they differ with a redirect,
    whose file is `redirect`. Both are None when there is no configuration at all."""

    __slots__ = ("notices", "path", "redirect", "user_path")

    def __init__(self) -> None:
        self.path: Path | None = None
        self.user_path: Path | None = None
        self.redirect: Path | None = None
        self.notices: list[Diagnostic] = []


def discover(start: Path, cwd: Path) -> Discovered:
    """Search from `start` upwards, in wrangler's order. Raises ConfigError for a redirect that
    leads nowhere."""
    found = Discovered()
    for name in FILE_NAMES:
        path = _find_up(start, Path(name))
        if path is not None:
            found.path = found.user_path = path
            _note_others(found, path, start, cwd)
            break
    _follow_redirect(found, start, cwd)
    return found


def _ancestors(start: Path) -> Iterator[Path]:
    yield start
    yield from start.parents


def _find_up(start: Path, name: Path) -> Path | None:
    return next((each / name for each in _ancestors(start) if is_file(each / name)), None)


def _note_others(found: Discovered, chosen: Path, start: Path, cwd: Path) -> None:
    """Say so when another file is as near as, or nearer than, the chosen one."""
    for directory in _ancestors(start):
        others = [
            directory / name
            for name in FILE_NAMES
            if is_file(directory / name) and directory / name != chosen
        ]
        if others:
            names = " and ".join(f'"{display_name(each, cwd)}"' for each in others)
            found.notices.append(
                Diagnostic(
                    "warning",
                    f'Using the configuration "{display_name(chosen, cwd)}" and not {names}.',
                    hint="The search takes wrangler.json from any parent directory first, then "
                    "wrangler.jsonc, then wrangler.toml. Name a file with --config to choose.",
                )
            )
        if others or directory == chosen.parent:
            return


def _follow_redirect(found: Discovered, start: Path, cwd: Path) -> None:
    """Build tools write `.wrangler/deploy/config.json` with the path of a generated file."""
    redirect = _find_up(start, REDIRECT)
    if redirect is None:
        return
    shown = display_name(redirect, cwd)
    data = read_source(redirect, cwd).data
    target = data.get("configPath")
    if not isinstance(target, str) or not target:
        raise _failure(
            redirect,
            f'A deploy configuration file was found at "{shown}".\n'
            'But this is not valid - the required "configPath" property was not found.',
        )
    path = absolute(redirect.parent, target)
    if not is_file(path):
        raise _failure(
            redirect,
            f'There is a deploy configuration at "{shown}".\n'
            f'But the redirected configuration path it points to, "{display_name(path, cwd)}", '
            "does not exist.",
            "Run the build of the project again, or delete the deploy configuration.",
        )
    if found.user_path is not None and found.user_path.parent / REDIRECT != redirect:
        raise _failure(
            redirect,
            f'Found both a user configuration file at "{display_name(found.user_path, cwd)}"\n'
            f'and a deploy configuration file at "{shown}".\n'
            "But these do not share the same base path so it is not clear which should be used.",
            "Name a file with --config, or delete one of them.",
        )
    found.path, found.redirect = path, redirect
    found.notices.append(_redirect_notice(found, cwd))


def _redirect_notice(found: Discovered, cwd: Path) -> Diagnostic:
    def shown(path: Path | None) -> str:
        return "none" if path is None else f'"{display_name(path, cwd)}"'

    return Diagnostic(
        "warning",
        f"Using the redirected configuration {shown(found.path)}, as a build tool asks for.\n"
        f" - Deploy configuration file: {shown(found.redirect)}\n"
        f" - Configuration of the user: {shown(found.user_path)}",
        hint="What is changed in the configuration of the user counts when the build is run again.",
    )


def _failure(path: Path, message: str, hint: str | None = None) -> ConfigError:
    return ConfigError([Diagnostic("error", message, hint=hint)], files=(path,))
