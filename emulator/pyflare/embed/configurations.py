"""Reads the configurations that a Pyflare is given, and refuses those that cannot be together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from pyflare.config import ConfigError, Diagnostic, LoadedConfig, Overrides, load, parse
from pyflare.env.supplied import SuppliedBindings
from pyflare.env.support import refuse_unsupported, without_effect

__all__ = ["Config", "Configs", "ConfigurationReader", "refuse_equal_names", "refuse_together"]

#: A file, or what a wrangler.json would hold.
Config: TypeAlias = str | Path | Mapping[str, Any]

Configs: TypeAlias = Config | Sequence[Config] | None


class ConfigurationReader:
    """How configurations are read, the first time and again.

    Args: as those of :class:`pyflare.embed.Pyflare`; ``with_code`` whether the workers' code is to be run;
    ``environ`` the environment variables, None for this process's own.
    """

    def __init__(
        self,
        *,
        cwd: Path,
        env: str | None,
        env_files: Sequence[str | Path],
        vars: Mapping[str, str],
        overrides: Mapping[str, Any],
        supplied: SuppliedBindings,
        with_code: bool,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._with_code = with_code
        self._options: dict[str, Any] = {
            "env": env,
            "cwd": cwd,
            "env_files": tuple(map(Path, env_files)),
            "environ": environ,
        }
        self._given: list[Config | None] = []
        self._primary: dict[str, Any] = {"vars": dict(vars), "overrides": _overrides(overrides)}
        self._supplied = supplied

    def read_all(self, configs: Configs) -> list[LoadedConfig]:
        """Read all, the primary first. Raises ConfigError, also for workers that cannot be in one process."""
        single = configs is None or isinstance(configs, str | Path | Mapping)
        self._given = list([configs] if single else configs) or [None]  # type: ignore[arg-type, list-item]
        found = [self._read(each, primary=index == 0) for index, each in enumerate(self._given)]
        refuse_together(found)
        self._supplied.check({each.worker.name for each in found})
        return found

    def _read(self, given: Config | None, *, primary: bool) -> LoadedConfig:
        """Read one; None to search as wrangler does. Raises ConfigError."""
        options = self._primary if primary else {}
        running = self._with_code
        if isinstance(given, Mapping):
            cwd, rest = self._options["cwd"], {k: v for k, v in self._options.items() if k != "cwd"}
            loaded = parse(given, base=cwd, running=running, **rest, **options)
        else:
            path = None if given is None else Path(given)
            loaded = load(path, running=running, **self._options, **options)
        refuse_unsupported(loaded.worker, self._supplied.of(loaded.worker.name))
        if loaded.worker.assets is not None:
            from pyflare.assets.wiring import check_assets_directory

            check_assets_directory(loaded)
        return loaded

    def again(self, index: int, loaded: LoadedConfig) -> LoadedConfig:
        """Read a configuration once more, the one at this place. Raises ConfigError."""
        given = self._given[index]
        if isinstance(given, Mapping):
            return self._read(given, primary=index == 0)
        # A file that is named is not redirected, so a redirect has to be found again.
        is_redirected = given is None and loaded.user_path != loaded.path
        known = None if is_redirected else loaded.user_path or loaded.path
        return self._read(known, primary=index == 0)

    def warn(self, loaded: LoadedConfig, warn: Callable[[str], None]) -> None:
        """Say what in a configuration has no effect here."""
        for text in without_effect(loaded.worker, self._supplied.of(loaded.worker.name)):
            warn(text)


_OVERRIDES: Final = (
    "assets",
    "compatibility_date",
    "compatibility_flags",
    "main",
    "name",
    "routes",
)


def _overrides(given: Mapping[str, Any]) -> Overrides:
    """Raises ConfigError for a key that cannot be overridden."""
    if unknown := sorted(given.keys() - set(_OVERRIDES)):
        raise ConfigError(
            [
                Diagnostic(
                    "error",
                    f"overrides takes {', '.join(_OVERRIDES)}, not {', '.join(map(str, unknown))}.",
                    hint="Variables are given with vars, bindings with bindings; for anything else give the "
                    "configuration as a mapping.",
                )
            ]
        )
    main, flags = given.get("main"), given.get("compatibility_flags")
    return Overrides(
        script=None if main is None else Path(main),
        name=given.get("name"),
        compatibility_date=given.get("compatibility_date"),
        compatibility_flags=None if flags is None else tuple(flags),
        assets=None if given.get("assets") is None else Path(given["assets"]),
        routes=None if given.get("routes") is None else tuple(given["routes"]),
    )


def refuse_together(configurations: Sequence[LoadedConfig]) -> None:
    """Raises ConfigError for workers that cannot be in one process."""
    refuse_equal_names(configurations)
    _refuse_two_consumers(configurations)


def refuse_equal_names(configurations: Sequence[LoadedConfig]) -> None:
    """Raises ConfigError for two workers of one name."""
    first: dict[str, LoadedConfig] = {}
    for each in configurations:
        name = each.worker.name
        other = first.setdefault(name, each)
        if other is not each:
            raise ConfigError(
                [
                    Diagnostic(
                        "error",
                        f'Two Workers are named "{name}": {other.path} and {each.path}.',
                        hint='Give each its own "name" in its configuration.',
                    )
                ]
            )


def _refuse_two_consumers(configurations: Sequence[LoadedConfig]) -> None:
    first: dict[str, str] = {}
    for each in configurations:
        for consumer in each.worker.queue_consumers:
            other = first.get(consumer.queue)
            first[consumer.queue] = each.worker.name
            if other is not None:
                raise ConfigError(
                    [
                        Diagnostic(
                            "error",
                            f'Multiple consumers defined for queue "{consumer.queue}": "{other}" and '
                            f'"{each.worker.name}"',
                            position=consumer.position,
                            hint='A queue has one consumer: remove it from "queues.consumers" of one of them.',
                        )
                    ]
                )
