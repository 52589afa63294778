"""Which worker answers what, and as which host it sees itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyflare.server.inbound import Upstream
from pyflare.server.local import Guard
from pyflare.server.routes import Route, read_routes, router

from .loaded import LoadedWorkers

if TYPE_CHECKING:
    from pyflare.assets.site import Site
    from pyflare.config.worker import LoadedConfig
    from pyflare.server.log import LogSink

__all__ = ["Sites", "traffic_rules"]


def traffic_rules(
    loaded: LoadedWorkers,
    warn: Callable[[str], None],
    *,
    ip: str | None,
    host: str | None,
    protocol: str | None,
) -> dict[str, Any]:
    """``route``, ``upstreams`` and ``guard`` of :class:`pyflare.server.application.Application`.

    Args: as those of :meth:`pyflare.embed.Pyflare.rules`.
    """
    routes = [read_routes(each.routes, warn) for each in loaded.configs()]
    upstreams: dict[str, Upstream] = {}
    for index, (each, own) in enumerate(zip(loaded.configs(), routes, strict=True)):
        scheme = protocol or each.dev.upstream_protocol
        if chosen := (host if index == 0 else None) or each.dev.host:
            upstreams[each.name] = Upstream(chosen, scheme)
        elif first := _first_host(own):
            upstreams[each.name] = Upstream(first, scheme, tuple(own))
    hosts = [upstream.host for upstream in upstreams.values()]
    return {
        "route": router(list(zip(loaded.workers, routes, strict=True))),
        "upstreams": upstreams,
        "guard": Guard(
            hosts if ip is None else [ip, *hosts], [route for own in routes for route in own]
        ),
    }


def _first_host(routes: Sequence[Route]) -> str:
    return next((route.host for route in routes if route.host), "")


class Sites:
    """The static assets of the workers that have some."""

    def __init__(self, log: LogSink) -> None:
        self.by_worker: dict[str, Site] = {}
        self._log = log
        #: The files of each worker that are never served, by no site.
        self._private: dict[str, tuple[Path, ...]] = {}

    def forget(self, worker: str) -> None:
        """A worker of this name is no more, or has no configuration that holds."""
        self.by_worker.pop(worker, None)

    async def renew(self, loaded: LoadedConfig, state_directory: Any) -> None:
        """Make the static assets of a worker what its configuration says."""
        from pyflare.assets.private_files import private_files

        name = loaded.worker.name
        self._private[name] = private_files(loaded)
        if loaded.worker.assets is None:
            self.by_worker.pop(name, None)
        else:
            await self._make(loaded, state_directory)
        private = [path for paths in self._private.values() for path in paths]
        for site in self.by_worker.values():
            site.hide(private)

    async def _make(self, loaded: LoadedConfig, state_directory: Any) -> None:
        from pyflare.assets.wiring import make_site

        name = loaded.worker.name
        site = make_site(loaded, state_directory, self._log)
        before = self.by_worker.get(name)
        if site is None or before is None or site.settings != before.settings:
            self.by_worker.pop(name, None)
            if site is not None:
                await site.prepare()
                self.by_worker[name] = site
