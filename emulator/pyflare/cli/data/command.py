"""The frame of every data command: options, the configuration, the way to the state, errors and exit codes.

Flags follow wrangler: https://developers.cloudflare.com/workers/wrangler/commands/
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from .output import OutputLost, error, flush, notice, warn

if TYPE_CHECKING:
    from pyflare.config.worker import LoadedConfig
    from pyflare.owner.access import Access

__all__ = [
    "Action",
    "CommandError",
    "Project",
    "UsageError",
    "add_common",
    "add_confirmation",
    "run_action",
]

#: Does a command's work. Raises CommandError.
Action: TypeAlias = "Callable[[argparse.Namespace], None]"

_INTERRUPTED: Final = 130


class CommandError(Exception):
    """The command failed; ``str()`` says why and what to do."""


class UsageError(CommandError):
    """The words of the command line do not go together."""


def add_common(
    commands: argparse._SubParsersAction[Any], name: str, help: str, action: Action
) -> Callable[..., Any]:
    """Add a command with the options that all have. Gives its ``add_argument``."""
    parser = commands.add_parser(name, help=help, description=help, allow_abbrev=False)
    parser.set_defaults(action=action, json=False)
    add: Callable[..., Any] = parser.add_argument
    add("-c", "--config", type=Path, metavar="FILE", help="the configuration file")
    add("-e", "--env", metavar="NAME", help="the named environment of the configuration")
    add("--cwd", type=Path, metavar="DIR", help="run as if started in this directory")
    add("--persist-to", type=Path, metavar="DIR",
        help="where state is kept (default: .pyflare/state beside the configuration)")  # fmt: skip
    add("--local", action="store_true", default=None, help="use local data, as always")
    add("--remote", action="store_true", default=None, help=argparse.SUPPRESS)
    for name in ("local", "remote"):
        add(f"--no-{name}", dest=name, action="store_false", default=None, help=argparse.SUPPRESS)
    return add


def add_confirmation(add: Callable[..., Any]) -> None:
    """Add the flag that answers every question with yes."""
    add("-y", "--yes", "--skip-confirmation", action="store_true", help="answer questions with yes")


def run_action(arguments: argparse.Namespace) -> int:
    """Run the action of a parsed command line.

    Returns the exit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted. Failures are on standard error;
    those of SQL with ``--json`` are JSON on standard output.
    """
    from pyflare.config.diagnostics import ConfigError
    from pyflare.owner.client import OwnerLost, OwnerRefused
    from pyflare_bindings.lease import LeaseHeld

    try:
        arguments.action(arguments)
        flush()
    except ConfigError as failure:
        print(failure.render(), file=sys.stderr)
        return 1
    except (CommandError, OwnerLost, OwnerRefused, LeaseHeld) as failure:
        return _failed(failure, arguments)
    except OutputLost as failure:
        return _without_output(failure)
    except BrokenPipeError:
        # Whoever was reading has seen enough. Nothing more can be flushed at the end of the process.
        sys.stdout = None
        return 1
    except KeyboardInterrupt:
        return _INTERRUPTED
    return 0


def _failed(failure: Exception, arguments: argparse.Namespace) -> int:
    try:
        error(str(failure), as_json=arguments.json)
        if arguments.json:
            flush()
    except OutputLost as lost:
        return _without_output(lost)
    return 2 if isinstance(failure, UsageError) else 1


def _without_output(failure: OutputLost) -> int:
    # What could not be written is not tried once more at the end of the process.
    sys.stdout = None
    error(str(failure))
    return 1


class Project:
    """The configuration that a command is about, and its state directory.

    Raises ConfigError for one that cannot be used, CommandError for options that contradict each other.
    """

    def __init__(self, arguments: argparse.Namespace) -> None:
        from pyflare.config.loading import load

        if arguments.remote:
            raise CommandError(
                "can't use --local and --remote at the same time"
                if arguments.local
                else "--remote works on data in Cloudflare's network, which pyflare does not reach. Leave it out."
            )
        if arguments.local is False and arguments.remote is None:
            raise CommandError(
                "--local=false works on data in Cloudflare's network, which pyflare does not reach. Leave it out."
            )
        self.cwd = Path.cwd() if arguments.cwd is None else Path.cwd() / arguments.cwd
        self.loaded: LoadedConfig = load(
            arguments.config, env=arguments.env, cwd=self.cwd, running=False
        )
        self.worker = self.loaded.worker
        if arguments.persist_to is None:
            self.root = self.loaded.project / ".pyflare" / "state"
        else:
            self.root = self.cwd / arguments.persist_to
        if not arguments.json and (warnings := self.loaded.render_warnings()):
            print(warnings, file=sys.stderr)

    @property
    def file(self) -> str:
        """The name of the configuration file, for messages."""
        path = self.loaded.user_path or self.loaded.path
        return "wrangler.jsonc" if path is None else path.name

    def need_configuration(self) -> None:
        """Raises CommandError where there is none, in which nothing could be found."""
        if self.loaded.path is None:
            from pyflare.config.startup_checks import no_configuration

            raise CommandError(no_configuration(self.cwd))

    @property
    def shown_root(self) -> Path:
        """The state directory as it is shown to a person."""
        try:
            return self.root.relative_to(self.cwd)
        except ValueError:
            return self.root

    @contextmanager
    def state(self) -> Iterator[Access]:
        """The way to the state, closed at the end."""
        from pyflare.owner.access import open_state

        try:
            access = open_state(self.root, notice=notice)
        except OSError as failure:
            raise CommandError(
                f"The state directory {self.root} cannot be used: {failure.strerror or failure}. "
                "Choose another with --persist-to."
            ) from failure
        try:
            yield access
        finally:
            access.close()

    def note_unknown(self, kind: str, name: str) -> None:
        """Say that the configuration does not know a resource, which may be a slip of the pen."""
        if self.loaded.path is not None:
            warn(f'The {kind} "{name}" is not in {self.file}; a resource of that name is used.')
