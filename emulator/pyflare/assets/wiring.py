"""From a worker's configuration to its site."""

from __future__ import annotations

from pathlib import Path

from pyflare.config.diagnostics import ConfigError, Diagnostic
from pyflare.config.worker import LoadedConfig

from .control import AssetsLog
from .inspection import problems
from .private_files import private_files
from .site import Site, SiteSettings

__all__ = ["check_assets_directory", "make_site"]


def check_assets_directory(loaded: LoadedConfig) -> None:
    """Raise :class:`ConfigError` for a directory that a deploy would refuse. Reads it whole."""
    assets = loaded.worker.assets
    if assets is None or assets.directory is None:
        return
    found = problems(assets.directory, private_files(loaded), loaded.worker.main)
    if found:
        raise ConfigError(
            Diagnostic("error", problem, position=assets.position, hint=hint)
            for problem, hint in found
        )


def make_site(loaded: LoadedConfig, state: Path, log: AssetsLog) -> Site | None:
    """The site of a worker, if it has assets. ``state``: the state directory, which is never served."""
    assets = loaded.worker.assets
    if assets is None or assets.directory is None:
        return None
    settings = SiteSettings(
        directory=assets.directory,
        html_handling=assets.html_handling,
        not_found_handling=assets.not_found_handling,
        run_worker_first=assets.run_worker_first,
        has_worker=loaded.worker.main is not None,
        navigation_first=bool(loaded.worker.compatibility.assets_navigation_prefers_asset_serving),
        private=(state, *private_files(loaded)),
    )
    return Site(settings, log)
