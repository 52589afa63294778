"""``pyflare dev``: load the workers, serve them, watch their files, stop cleanly.

Flags, ports and lines follow ``wrangler dev``: https://developers.cloudflare.com/workers/wrangler/commands/#dev
"""

from __future__ import annotations

import argparse
import os
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyflare.server.log import LEVELS, LogSink

from .word_order import Listed

if TYPE_CHECKING:
    from pyflare.config import LoadedConfig

__all__ = ["configure", "run"]

#: Flags of `wrangler dev` that have no effect here; those that take a value; those that take several.
_FLAGS = (
    "bundle", "enable-containers", "install-skills", "latest", "live-reload", "local", "minify",
    "node-compat", "show-interactive-dev-session", "tunnel", "types",
)  # fmt: skip
_WITH_VALUE = (
    "https-cert-path", "https-key-path", "inspector-ip", "inspector-port", "jsx-factory",
    "jsx-fragment", "profile", "site", "tsconfig", "tunnel-name",
)  # fmt: skip
_WITH_VALUES = ("alias", "define", "site-exclude", "site-include")


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "script", nargs="?", type=Path, help="the main module; default: `main` of the configuration"
    )
    add("-c", "--config", action="append", type=Path, default=[], metavar="FILE",
        help="a configuration file; repeat it for several Workers, the first is the primary one")  # fmt: skip
    add("-e", "--env", metavar="NAME", help="the named environment of the configuration")
    add("--env-file", action="append", type=Path, default=[], metavar="FILE",
        help="a file with variables in place of the .env family and .dev.vars; repeatable")  # fmt: skip
    add("--cwd", type=Path, metavar="DIR", help="run as if started in this directory")
    add("--port", type=_port, help="the port to listen on; 0 for any free one (default: 8787)")
    add("--ip", help="the address to listen on (default: localhost)")
    add(
        "--host", type=_host, help="the host that Workers see in request.url and in the Host header"
    )
    add(
        "--local-upstream",
        type=_host,
        metavar="HOST",
        help="the same as --host, which it wins over",
    )
    add("--route", "--routes", dest="routes", action=Listed, default=[], metavar="PATTERN",
        help="the routes of the (primary) Worker in place of the configuration's")  # fmt: skip
    add("--local-protocol", choices=("http",), default=None, help="only http is served locally")
    add(
        "--upstream-protocol",
        choices=("http", "https"),
        help="the protocol that Workers see in request.url",
    )
    add("--var", action=Listed, type=_variable, default=[], metavar="KEY:VALUE",
        help="a variable; wins over configuration and files; repeatable")  # fmt: skip
    add("--name", help="the name of the (primary) Worker")
    add(
        "--compatibility-date",
        metavar="YYYY-MM-DD",
        help="the compatibility date of the (primary) Worker",
    )
    add("--compatibility-flag", "--compatibility-flags", action="extend", nargs="+", default=[], metavar="FLAG",
        help="compatibility flags of the (primary) Worker")  # fmt: skip
    add("--persist-to", type=Path, metavar="DIR",
        help="where state is kept (default: .pyflare/state beside the first configuration)")  # fmt: skip
    add("--durability", choices=("process", "machine"), default="process",
        help="what acknowledged writes survive: the end of the process, or a power cut too")  # fmt: skip
    add("--log-level", choices=LEVELS, default=_default_level(),
        help="how much is printed (default: log, or the variable WRANGLER_LOG)")  # fmt: skip
    add("--ready-file", type=Path, metavar="FILE",
        help="write url, address, port and process id as JSON to this file when requests are answered")  # fmt: skip
    add("--assets", type=Path, metavar="DIR",
        help="the directory of static assets; wins over the configuration's")  # fmt: skip
    add("--no-cron", action="store_true", help="do not fire cron triggers at their times")
    add("--test-scheduled", action="store_true",
        help="run the scheduled handler at /__scheduled?cron= too, beside /cdn-cgi/local/scheduled")  # fmt: skip
    add("--no-watch", action="store_true", help="do not watch the Workers' files for changes")
    ignored: dict[str, Any] = {"dest": "ignored", "default": [], "help": argparse.SUPPRESS}
    for name in _FLAGS:
        short = ["-l"] if name == "local" else []
        add(f"--{name}", f"--no-{name}", *short, action=_Ignored, nargs=0, **ignored)
    for name in _WITH_VALUE:
        add(f"--{name}", action=_Ignored, nargs=1, **ignored)
    for name in _WITH_VALUES:
        add(f"--{name}", action=_IgnoredList, **ignored)
    add("-r", "--remote", action="store_true", help=argparse.SUPPRESS)
    for name in ("remote", "test-scheduled"):
        add(
            f"--no-{name}",
            action="store_false",
            dest=name.replace("-", "_"),
            help=argparse.SUPPRESS,
        )


class _Ignored(argparse.Action):
    """Remembers a flag that is accepted and has no effect, so that a notice can name it."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        namespace.ignored = [*namespace.ignored, option_string]


class _IgnoredList(_Ignored, Listed):
    """The same for an option that takes several values."""


def _default_level() -> str:
    level = os.environ.get("WRANGLER_LOG", "log").lower()
    return level if level in LEVELS else "log"


def _port(text: str) -> int:
    try:
        port = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port number") from None
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{port} is not a port: choose one from 0 to 65535")
    return port


def _host(text: str) -> str:
    from pyflare.config.dev import HOST_FORM, is_host

    if not is_host(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not {HOST_FORM}")
    return text


def _variable(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form KEY:VALUE")
    return name, value


def run(arguments: argparse.Namespace) -> int:
    """Serve until a signal comes. Returns 0 after a clean stop, 1 when nothing could be started."""
    for stream in (sys.stdout, sys.stderr):
        # Whoever reads a pipe sees what a worker prints when it is printed.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(line_buffering=True)
    log = LogSink(level=arguments.log_level)
    try:
        if arguments.remote:
            log.error(
                "--remote runs on Cloudflare's network, which pyflare does not do. Leave it out."
            )
            return 1
        if arguments.ignored:
            log.warning(f"No effect here: {', '.join(dict.fromkeys(arguments.ignored))}")
        if arguments.cwd is not None:
            try:
                os.chdir(arguments.cwd)
            except OSError as error:
                log.error(f"--cwd {arguments.cwd}: {error.strerror}")
                return 1
        return _start(arguments, log)
    finally:
        log.close()


def _start(arguments: argparse.Namespace, log: LogSink) -> int:
    from pyflare.config import Overrides, load
    from pyflare.config.diagnostics import ConfigError, render
    from pyflare.embed import DEFAULT, Pyflare
    from pyflare_bindings.clock import SystemClock

    from .breakpoints import answering_breakpoints
    from .custom_build import CustomBuilds
    from .open_files import raise_limit
    from .ports import AddressInUse, listen
    from .session import Session, ready_file_problem

    raise_limit()
    if arguments.ready_file is not None:
        problem = ready_file_problem(arguments.ready_file)
        if problem is not None:
            log.error(problem)
            return 1
    options: dict[str, Any] = {
        "env": arguments.env,
        "env_files": arguments.env_file,
        "vars": dict(arguments.var),
        "overrides": _overrides(arguments),
    }

    def make() -> Pyflare:
        return Pyflare(
            arguments.config or None,
            persist_to=DEFAULT if arguments.persist_to is None else arguments.persist_to,
            durability=arguments.durability,
            # Nobody puts the clock of a server forward, so that its workers use the machine's directly.
            clock=SystemClock(),
            log=log,
            cron=not arguments.no_cron,
            **options,
        )

    def read(path: Path | None) -> LoadedConfig:
        script = Overrides(script=arguments.script)
        options = {"env": arguments.env, "env_files": arguments.env_file}
        return load(path, overrides=script, running=False, **options)

    builds = CustomBuilds(read, log)
    ended = builds.first(arguments.config or [None])
    if ended is not None:
        return ended
    try:
        flare = make()
    except ConfigError as error:
        log.prepared("warning", render(error.diagnostics, "warning"))
        log.prepared("error", error.render())
        return 1
    dev = flare.configurations[0].worker.dev
    if dev.local_protocol != "http" and arguments.local_protocol is None:
        log.warning(f'"dev.local_protocol" is {dev.local_protocol}; pyflare serves http.')
    try:
        listening = listen(
            arguments.ip or dev.ip, dev.port if arguments.port is None else arguments.port
        )
    except AddressInUse as error:
        log.error(str(error))
        return 1
    session = Session(
        make,
        flare,
        options,
        log,
        listening,
        builds,
        host=arguments.local_upstream or arguments.host,
        upstream_protocol=arguments.upstream_protocol,
        ready_file=arguments.ready_file,
        watch=not arguments.no_watch,
        test_scheduled=arguments.test_scheduled,
    )
    with answering_breakpoints(log):
        return session.run()


def _overrides(arguments: argparse.Namespace) -> dict[str, Any]:
    """Settings of the command line that win over the primary configuration's."""
    given = {
        "main": None if arguments.script is None else str(arguments.script.absolute()),
        "name": arguments.name,
        "assets": None if arguments.assets is None else str(arguments.assets),
        "compatibility_date": arguments.compatibility_date,
        "compatibility_flags": arguments.compatibility_flag or None,
        "routes": arguments.routes or None,
    }
    return {key: value for key, value in given.items() if value is not None}
