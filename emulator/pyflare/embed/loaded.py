"""Who is there: the configurations of one Pyflare and the workers made of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyflare.config.worker import LoadedConfig, WorkerConfig
    from pyflare.workers.worker import Worker

__all__ = ["LoadedWorkers"]


class LoadedWorkers:
    """The configurations and, once they are loaded, the workers: in the same order, the primary first."""

    __slots__ = ("configurations", "workers")

    def __init__(self, configurations: list[LoadedConfig]) -> None:
        self.configurations = configurations
        self.workers: list[Worker] = []

    def configs(self) -> Iterator[WorkerConfig]:
        """What each configuration says of its worker."""
        return (each.worker for each in self.configurations)

    def config(self, name: str) -> WorkerConfig | None:
        """What is said of the worker of this name."""
        return next((each for each in self.configs() if each.name == name), None)

    def pairs(self) -> Iterator[tuple[WorkerConfig, Worker]]:
        """Each configuration with its worker."""
        return zip(self.configs(), self.workers, strict=True)

    def find(self, name: str) -> Worker | None:
        """The worker of this name."""
        return next((worker for worker in self.workers if worker.name == name), None)

    def named(self, name: str | None) -> Worker:
        """The worker of this name; without a name the primary one. Raises KeyError."""
        found = self.workers[0] if name is None and self.workers else self.find(name or "")
        if found is None:
            known = ", ".join(worker.name for worker in self.workers) or "none is loaded"
            raise KeyError(f"there is no worker {name!r}; known: {known}")
        return found
