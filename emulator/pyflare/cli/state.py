"""``pyflare state``: carry local state over from wrangler, and back."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .data.output import OutputLost, flush, say

if TYPE_CHECKING:
    from pyflare.config import LoadedConfig
    from pyflare.state_files.carrying import Resource
    from pyflare.state_files.outcome import Outcome
    from pyflare_bindings.registry import BindingRegistry

__all__ = ["configure", "run"]

_INTERRUPTED: Final = 130

Carry = Callable[["BindingRegistry", "list[Resource]"], AsyncIterator["Outcome"]]


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(
        dest="action", metavar="ACTION", title="actions", required=True
    )
    importing = commands.add_parser(
        "import",
        help="read what wrangler's local state holds for the configured resources",
        description="Reads D1 databases, KV namespaces, R2 buckets and Durable Objects that the configuration names. "
        "Nothing in SOURCE is changed. What has data already is kept.",
        allow_abbrev=False,
    )
    importing.add_argument("directory", nargs="?", type=Path, metavar="SOURCE",
        help="wrangler's state (default: .wrangler/state beside the configuration)")  # fmt: skip
    importing.add_argument("--overwrite", action="store_true",
        help="replace resources that have data already")  # fmt: skip
    importing.add_argument("--skip-damaged", action="store_true",
        help="leave out values whose content is missing or damaged")  # fmt: skip
    exporting = commands.add_parser(
        "export",
        help="write the configured resources as wrangler keeps them",
        description="Writes D1 databases, KV namespaces, R2 buckets and Durable Objects that the configuration names "
        "below DIR, for `wrangler dev --persist-to DIR`. What is there already is kept.",
        allow_abbrev=False,
    )
    exporting.add_argument("directory", type=Path, metavar="DIR", help="where to write")
    exporting.add_argument("--overwrite", action="store_true",
        help="replace resources that are there already; stop wrangler first")  # fmt: skip
    for each in (importing, exporting):
        each.add_argument("-c", "--config", action="append", type=Path, default=[], metavar="FILE",
            help="a configuration file; repeat it for several Workers, the first is the primary one")  # fmt: skip
        each.add_argument("-e", "--env", metavar="NAME", help="the named environment of the configuration")  # fmt: skip
        each.add_argument("--cwd", type=Path, default=Path(), metavar="DIR",
            help="run as if started in this directory")  # fmt: skip
        each.add_argument("--persist-to", type=Path, metavar="DIR",
            help="pyflare's state (default: .pyflare/state beside the first configuration)")  # fmt: skip
        each.add_argument("--json", action="store_true", help="print one JSON document")


def run(arguments: argparse.Namespace) -> int:
    """Do it. Returns 0, 1 when something could not be carried over, 130 after an interruption."""
    from pyflare.config import ConfigError, load
    from pyflare.config.diagnostics import render
    from pyflare.config.startup_checks import no_configuration
    from pyflare_bindings.lease import LeaseHeld
    from pyflare_bindings.storage.errors import StateError

    paths: list[Path | None] = arguments.config or [None]
    cwd = arguments.cwd.absolute()
    try:
        loaded = [load(path, env=arguments.env, cwd=cwd, running=False) for path in paths]
    except ConfigError as error:
        _say(render(error.diagnostics, "warning") + error.render())
        return 1
    if all(each.path is None for each in loaded):
        _say(f"✘ [ERROR] {no_configuration(cwd)}")
        return 1
    for each in loaded:
        if warnings := each.render_warnings():
            _say(warnings)
    try:
        code = (
            _import(arguments, loaded)
            if arguments.action == "import"
            else _export(arguments, loaded)
        )
        flush()
        return code
    except OutputLost as error:
        # What could not be written is not tried once more at the end of the process.
        sys.stdout = None
        _say(f"✘ [ERROR] {error}")
    except LeaseHeld as held:
        who = f"process {held.holder['pid']}" if "pid" in held.holder else "another process"
        _say(
            f"✘ [ERROR] The state directory {held.root} is in use by {who}, and state is carried over while nobody "
            "uses it. Stop that process, and run this again."
        )
    except StateError as error:
        _say(f"{error}")
    except OSError as error:
        _say(f"{error.filename}: {error.strerror}")
    except KeyboardInterrupt:
        _say("Interrupted. What is done is whole; run the command again for the rest.")
        return _INTERRUPTED
    return 1


def _import(arguments: argparse.Namespace, loaded: list[LoadedConfig]) -> int:
    from pyflare.state_files.carrying import import_state, unclaimed
    from pyflare.state_files.layout import WranglerState
    from pyflare.state_files.options import Options

    given = (
        loaded[0].project / ".wrangler" / "state"
        if arguments.directory is None
        else arguments.cwd / arguments.directory
    )
    source = WranglerState.find(given)
    options = Options(arguments.overwrite, arguments.skip_damaged)
    resources = _resources(loaded)
    code = asyncio.run(
        _carry(
            arguments,
            loaded,
            resources,
            lambda registry, wanted: import_state(source, wanted, registry, options),
        )
    )
    for note in unclaimed(source, resources):
        _say(f"Not imported: {note}")
    return code


def _export(arguments: argparse.Namespace, loaded: list[LoadedConfig]) -> int:
    from pyflare.state_files.carrying import export_state
    from pyflare.state_files.layout import WranglerState
    from pyflare.state_files.options import Options

    target = WranglerState.make((arguments.cwd / arguments.directory).absolute())
    options = Options(arguments.overwrite)
    return asyncio.run(
        _carry(
            arguments,
            loaded,
            _resources(loaded),
            lambda registry, wanted: export_state(registry, wanted, target, options),
        )
    )


def _resources(loaded: list[LoadedConfig]) -> list[Resource]:
    from pyflare.state_files.carrying import resources_of

    return resources_of(each.worker for each in loaded)


async def _carry(
    arguments: argparse.Namespace,
    loaded: list[LoadedConfig],
    resources: list[Resource],
    carry: Carry,
) -> int:
    from pyflare.state_directory import StateDirectory
    from pyflare_bindings.registry import BindingRegistry

    if arguments.persist_to is None:
        state = StateDirectory(loaded[0].project / ".pyflare" / "state", private_parent=True)
    else:
        state = StateDirectory((arguments.cwd / arguments.persist_to).absolute())
    outcomes = []
    state.open()
    try:
        registry = BindingRegistry(state.path)
        try:
            async for outcome in carry(registry, resources):
                outcomes.append(outcome)
                if not arguments.json:
                    _print(outcome)
        finally:
            await registry.close()
    finally:
        state.close()
    if arguments.json:
        say(json.dumps([outcome.as_dict() for outcome in outcomes], indent=2))
    elif not resources:
        _say("The configuration names no D1 database, KV namespace, R2 bucket or Durable Object.")
    return 1 if any(outcome.action == "failed" for outcome in outcomes) else 0


def _print(outcome: Outcome) -> None:
    told = {
        "imported": f"imported, {outcome.count} {outcome.unit}",
        "exported": f"exported, {outcome.count} {outcome.unit}",
        "kept": "kept: there is data already (--overwrite replaces it)",
        "absent": "nothing to carry over",
        "failed": "FAILED" + (f", {outcome.count} {outcome.unit}" if outcome.count else ""),
    }
    say(f"{outcome.kind} {outcome.id}: {told[outcome.action]}")
    flush()
    for note in outcome.notes:
        _say(f"  {note}")
    for problem in outcome.problems:
        _say(f"  {problem}")


def _say(text: str) -> None:
    print(text, file=sys.stderr)
