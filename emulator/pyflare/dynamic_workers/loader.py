"""One `worker_loaders` binding of one Worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from .worker import DynamicChannel, DynamicWorker

if TYPE_CHECKING:
    from pyflare.workers.worker import Worker

    from .service import DynamicWorkers

__all__ = ["DynamicLoader"]

#: (entrypoint or None, props) -> the way to it.
Entrypoints = Callable[[str | None, Any], DynamicChannel]


class _Holder(Protocol):
    service: DynamicWorkers | None


class DynamicLoader:
    """In: `holder` of the service, which is there once the Workers run; `parent` gives the Worker; `binding`."""

    def __init__(self, holder: _Holder, parent: Callable[[], Worker], binding: str) -> None:
        self._holder = holder
        self._parent = parent
        self._binding = binding

    def get(self, id: str | None, get_code: Callable[[], Any]) -> Entrypoints:
        """See :meth:`DynamicWorkers.get`."""
        return _entrypoints(self._service.get(self._parent(), self._binding, id, get_code))

    def load(self, code: Any) -> Entrypoints:
        """See :meth:`DynamicWorkers.load_code`."""
        return _entrypoints(self._service.load_code(self._parent(), code))

    @property
    def _service(self) -> DynamicWorkers:
        service = self._holder.service
        if service is None:
            raise RuntimeError("Dynamic Workers can be loaded once the Workers run, not before.")
        return service


def _entrypoints(dynamic: DynamicWorker) -> Entrypoints:
    return lambda entrypoint, props: DynamicChannel(dynamic, entrypoint, props)
