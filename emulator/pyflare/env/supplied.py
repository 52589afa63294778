"""Bindings that an embedder gives instead of, or beside, those of the configuration."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

__all__ = ["SuppliedBindings"]


class SuppliedBindings:
    """Values for ``env``: by name for every worker, or by (worker, name) for one, which wins.

    Raises TypeError for a key that is neither.
    """

    __slots__ = ("_for_all", "_for_one")

    def __init__(self, values: Mapping[str | tuple[str, str], Any]) -> None:
        self._for_all: dict[str, Any] = {}
        self._for_one: dict[str, dict[str, Any]] = {}
        for key, value in values.items():
            match key:
                case str():
                    self._for_all[key] = value
                case (str() as worker, str() as name):
                    self._for_one.setdefault(worker, {})[name] = value
                case _:
                    raise TypeError(
                        f"{key!r} in bindings is neither a binding's name nor a pair of a worker's name and a "
                        "binding's."
                    )

    def check(self, workers: Collection[str]) -> None:
        """Raise ValueError for a worker that is not there."""
        for worker in self._for_one:
            if worker not in workers:
                known = ", ".join(sorted(workers))
                raise ValueError(f"bindings names the worker {worker!r}; there is only {known}.")

    def of(self, worker: str) -> dict[str, Any]:
        """What one worker gets."""
        return {**self._for_all, **self._for_one.get(worker, {})}
