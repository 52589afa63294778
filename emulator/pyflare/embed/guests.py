"""Workers of other sessions, which have joined the process that owns the state directory."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyflare.config import ConfigError, Diagnostic
from pyflare.env.supplied import SuppliedBindings
from pyflare.workers.isolation import Space

from .configurations import ConfigurationReader, refuse_together
from .loaded import LoadedWorkers
from .own_imports import import_own
from .serving import traffic_rules
from .triggers import Triggers

if TYPE_CHECKING:
    from pyflare.config import LoadedConfig
    from pyflare.server.log import LogSink

    from .emulator import Emulator

__all__ = ["Guests"]


class Guests:
    """Takes workers in while the emulator runs, beside its own, and lets them go again."""

    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator
        self._readers: dict[str, tuple[ConfigurationReader, int]] = {}

    def reader_of(self, worker: str) -> tuple[ConfigurationReader, int] | None:
        """What reads the configuration of a guest, and its place there; None for the emulator's own workers."""
        return self._readers.get(worker)

    async def take_in(
        self, configs: Sequence[str], options: Mapping[str, Any], log: LogSink
    ) -> list[str]:
        """Load the workers of ``configs`` and give their names; ``log`` gets what is about them.

        Args: ``options`` as they are given to a Pyflare: ``cwd``, ``env``, ``env_files``, ``vars``, ``overrides``;
        and ``environ``. Raises ConfigError, and IsolationError where the running loop cannot keep their modules apart
        from those of others; then nothing has changed.
        """
        emulator = self._emulator
        reader = ConfigurationReader(
            cwd=Path(options["cwd"]),
            env=options["env"],
            env_files=options["env_files"],
            vars=options["vars"],
            overrides=options["overrides"],
            supplied=SuppliedBindings({}),
            with_code=True,
            environ=options["environ"],
        )
        async with emulator.changing:
            found = reader.read_all(configs)
            self._refuse_running(found)
            refuse_together([*emulator.configurations, *found])
            spaces = [
                Space.in_project(each.worker.base_dir, each.worker.directory) for each in found
            ]
            import_own(spaces)
            names = [each.worker.name for each in found]
            background = emulator._background
            assert background is not None, "the emulator runs"
            for name in names:
                emulator.log.route(name, log)
            try:
                for each in found:
                    await emulator._sites.renew(each, emulator.state_directory)
                workers = await emulator._runtime.add(
                    [
                        emulator._definitions.of(each.worker, space)
                        for each, space in zip(found, spaces, strict=True)
                    ],
                    report=background.report,
                    console=background.console,
                )
            except BaseException:
                for name in names:
                    emulator._sites.forget(name)
                    emulator.log.route(name, None)
                raise
            emulator.configurations.extend(found)
            emulator.workers.extend(workers)
            emulator._spaces.extend(spaces)
            self._readers.update((name, (reader, place)) for place, name in enumerate(names))
            await background.reload()
            emulator.tell_changed()
        for each, space, worker in zip(found, spaces, workers, strict=True):
            reader.warn(each, log.warning)
            for warning in space.warnings():
                log.warning(warning)
            if worker.failure is not None:
                log.uncaught(worker.name, worker.failure, where="the main module")
        return names

    def _refuse_running(self, found: Sequence[LoadedConfig]) -> None:
        running = {each.worker.name for each in self._emulator.configurations}
        for each in found:
            if each.worker.name in running:
                text = (
                    f"The state directory {self._emulator.state_directory} is in use by process {os.getpid()}, where "
                    f'the Worker "{each.worker.name}" runs already.'
                )
                hint = 'Stop it there, give this Worker another "name", or choose another directory with --persist-to.'
                raise ConfigError([Diagnostic("error", text, hint=hint)])

    async def let_go(self, names: Sequence[str], grace: float) -> None:
        """Unload workers that were taken in; their background work has ``grace`` seconds to end."""
        emulator = self._emulator
        async with emulator.changing:
            background = emulator._background
            assert background is not None, "the emulator runs"
            leaving = [worker for worker in emulator.workers if worker.name in names]
            for worker in leaving:
                place = emulator.workers.index(worker)
                for each in (emulator.workers, emulator.configurations, emulator._spaces):
                    del each[place]
                self._readers.pop(worker.name, None)
                emulator._sites.forget(worker.name)
                emulator._objects.renew(worker.name)
            # At the end there is nobody whom it could concern.
            if not emulator.is_closed:
                await background.reload()
                emulator.tell_changed()
            for worker in leaving:
                await emulator._runtime.remove(worker, grace)
            for name in names:
                emulator.log.route(name, None)

    def rules(
        self,
        names: Sequence[str],
        log: LogSink,
        *,
        ip: str,
        host: str | None,
        protocol: str | None,
        test_scheduled: bool,
    ) -> dict[str, Any]:
        """What :meth:`pyflare.embed.Pyflare.rules` gives, with the first of ``names`` as the primary worker."""
        from pyflare.endpoints.wiring import local_endpoints

        emulator = self._emulator
        pairs = sorted(
            zip(emulator.configurations, emulator.workers, strict=True),
            key=lambda pair: pair[1].name not in names,
        )
        ordered = LoadedWorkers([configuration for configuration, _ in pairs])
        ordered.workers = [worker for _, worker in pairs]
        rules = traffic_rules(ordered, log.warning, ip=ip, host=host, protocol=protocol)
        assert emulator._background is not None, "the emulator runs"
        assert emulator.registry is not None, "the emulator runs"
        triggers = Triggers(
            emulator._loaded, emulator._background, emulator.registry, log, lambda: rules["route"]
        )
        return {
            **rules,
            "sites": emulator._sites.by_worker,
            "endpoints": local_endpoints(triggers, test_scheduled=test_scheduled),
        }
