"""``ctx.exports``: a worker's own entrypoints as bindings.

Source: https://developers.cloudflare.com/workers/runtime-apis/context/#exports
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyflare.js.fetcher import Fetcher
from pyflare.js.structured_clone import structured_clone
from pyflare.js.value import JsInstance, get_property, is_nullish

from .channel import EntrypointChannel

if TYPE_CHECKING:
    from ..worker import Worker

__all__ = ["Exports", "Loopback"]


class Loopback(Fetcher, js_name="LoopbackServiceStub"):
    """A binding to an entrypoint of the same worker; called, it gives one with ``props``, which others may be sent."""

    _can_be_sent = False

    _worker: Worker
    _entrypoint: str

    @classmethod
    def to(cls, worker: Worker, entrypoint: str) -> Loopback:
        made: Loopback = cls._make(EntrypointChannel(lambda: worker, worker.name, entrypoint))
        made._worker, made._entrypoint = worker, entrypoint
        return made

    @property
    def typeof(self) -> str:
        return "function"

    def __call__(self, options: Any = None, **named: Any) -> Fetcher:
        """The same entrypoint, called with a copy of ``props``. Raises: DataCloneError for what cannot be copied."""
        props = named.get("props") if is_nullish(options) else get_property(options, "props")
        worker = self._worker
        channel = EntrypointChannel(
            lambda: worker, worker.name, self._entrypoint, structured_clone(props)
        )
        return Fetcher._make(channel)  # type: ignore[no-any-return]


class Exports(JsInstance, js_name="Object"):
    """What the main module exports, by name; the default class is ``default``."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def _own_items(self) -> Iterator[tuple[str, Any]]:
        entrypoints = self._worker.entrypoints
        for name in sorted((*entrypoints.workers, *entrypoints.objects)):
            shown = "default" if name == "Default" else name
            if hasattr(self, shown):
                yield shown, getattr(self, shown)

    def __getattr__(self, name: str) -> Any:
        worker = self._worker
        known = "Default" if name == "default" else name
        if known in worker.entrypoints.workers:
            return Loopback.to(worker, known)
        if known in worker.entrypoints.objects:
            make = worker.definition.make_namespace
            if make is not None:
                return make(known)
        raise AttributeError(name)
