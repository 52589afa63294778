"""Who is there: the configurations of one Pyflare and the workers made of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
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

    def concerned(self, path: Path, start: Path) -> list[LoadedConfig]:
        """The configurations that a file belongs to, at least one.

        A relative path is one from ``start`` or from the working directory. Raises KeyError.
        """
        places = [path] if path.is_absolute() else [start / path, path.absolute()]
        # A file that was deleted has changed too, but one that is there is rather meant.
        places.sort(key=lambda place: not place.exists())
        for place in places:
            forms = (Path(os.path.abspath(place)), place.resolve())
            concerned = [
                each
                for each in self.configurations
                if any(
                    form in each.files or form.is_relative_to(each.worker.base_dir)
                    for form in forms
                )
            ]
            if concerned:
                return concerned
        tried = " or ".join(dict.fromkeys(os.path.abspath(place) for place in places))
        raise KeyError(f"{path} belongs to no worker: looked for {tried}")
