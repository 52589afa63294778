"""What only matters when the worker starts: its entry-point, its date, its assets."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .compatibility import RUNTIME_DATE, is_python, problems
from .paths import display_name, is_file
from .report import Report

if TYPE_CHECKING:
    from .assets import AssetsConfig


class Start(NamedTuple):
    """What is about to be started. Paths are absolute."""

    main: Path | None
    assets: AssetsConfig | None
    assets_by_flag: bool
    flags: tuple[str, ...]
    date: str
    today: datetime.date
    cwd: Path
    has_site: bool
    is_pages: bool
    is_configured: bool


def check_python_flag(main: Path | None, flags: tuple[str, ...], report: Report) -> None:
    """A Python entry-point needs the flag; checked also where nothing is started."""
    if main is not None and main.suffix == ".py" and not is_python(flags):
        report.alone().error(
            "The `python_workers` compatibility flag is required to use Python.",
            ("compatibility_flags",),
            'Add "compatibility_flags": ["python_workers"] to the configuration.',
        )


def check_start(start: Start, report: Report) -> None:
    """Report everything that keeps the worker from starting."""
    alone = report.alone()
    if start.is_pages:
        alone.error(
            "The configuration is for a Pages project, which is run with `wrangler pages dev`.",
            ("pages_build_output_dir",),
        )
    _check_entry_point(start, alone)
    if start.date > start.today.isoformat():
        alone.error(
            f'Compatibility date "{start.date}" is in the future and unsupported',
            ("compatibility_date",),
        )
    if start.assets is not None:
        from .assets import check_assets

        source = (
            '"--assets" command line argument'
            if start.assets_by_flag
            else '"assets.directory" field in your configuration file'
        )
        for level, message in check_assets(
            start.assets, has_main=start.main is not None, has_site=start.has_site, source=source
        ):
            (alone.error if level == "error" else alone.warning)(message, ("assets",))


def no_configuration(cwd: Path) -> str:
    """What to say where the search from `cwd` found nothing."""
    return (
        f"No wrangler.json, wrangler.jsonc or wrangler.toml was found in {cwd} or above it. "
        "Start in the project's folder, or name the file with -c."
    )


def _check_entry_point(start: Start, alone: Report) -> None:
    if start.main is None:
        # A mistake in "main" was told already; that it is missing too would only confuse.
        if start.assets is None and not alone.has_errors:
            alone.error(
                "Missing entry-point to Worker script or to assets directory",
                hint='Set "main" in the configuration, for example "main": "src/entry.py", or '
                "name the script on the command line."
                if start.is_configured
                else no_configuration(start.cwd),
            )
        return
    shown = display_name(start.main, start.cwd)
    if start.main.suffix != ".py":
        alone.error(
            f'The entry-point "{shown}" is not a Python file. pyflare runs Workers written in '
            "Python: name a file that ends in .py.",
            ("main",),
        )
    elif not is_file(start.main):
        alone.error(
            f'The entry-point file at "{shown}" was not found.',
            ("main",),
            "If a build generates the file, run the build first.",
        )


def compatibility_date(date: str | None, today: datetime.date, report: Report) -> str:
    """The date to use. Without one: that of the emulated runtime, with a warning where there is
    a file to add it to."""
    if date is not None:
        return date
    default = min(RUNTIME_DATE, today.isoformat())
    if report.source.path is not None and not report.has_errors:
        report.alone().warning(
            "No compatibility_date was specified. Using the default compatibility date: "
            f"{default}.",
            hint=f'Add "compatibility_date": "{default}" to the configuration.',
            at=report.source.position(()),
        )
    return default


def check_flags(date: str, flags: tuple[str, ...], report: Report) -> None:
    """Report what the runtime says about the flags."""
    for problem in problems(date, flags):
        path = ("compatibility_flags", problem.place)
        add = report.error if problem.level == "error" else report.warning
        add(problem.message, path, problem.hint)
