"""The Durable Objects of one Pyflare: which classes there are, where they are defined and where they are kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from pyflare_bindings.registry import BindingRegistry

from .config.blocks.objects import names_before
from .config.worker import WorkerConfig

if TYPE_CHECKING:
    import asyncio

    from .workers.actors import Actor, ActorHost, ActorNamespace
    from .workers.worker import Worker

__all__ = ["DurableObjects"]


class _Binding(Protocol):
    """An entry of ``durable_objects.bindings``."""

    @property
    def class_name(self) -> str: ...

    @property
    def script(self) -> str: ...


class DurableObjects:
    """A background service. Nothing of it is loaded before there is a class or a binding.

    In: ``registry``; ``worker`` finds a loaded worker by name; ``configurations`` gives the present ones by worker
    name; ``warn`` takes what a person should read.
    """

    def __init__(
        self,
        registry: BindingRegistry,
        worker: Callable[[str], Worker | None],
        configurations: Callable[[], Mapping[str, WorkerConfig]],
        warn: Callable[[str], None],
    ) -> None:
        self._registry = registry
        self._worker = worker
        self._configurations = configurations
        self._warn = warn
        self._host: ActorHost | None = None
        self._kept: dict[str, tuple[WorkerConfig, dict[str, str]]] = {}
        #: Called with every class that there is, when its objects are first asked for.
        self.on_namespace: Callable[[ActorNamespace], None] | None = None

    def is_running(self, script: str) -> bool:
        """Whether a worker of this name is here."""
        return self._worker(script) is not None

    @property
    def namespaces(self) -> Iterable[ActorNamespace]:
        """All classes that there are so far."""
        return () if self._host is None else list(self._host.namespaces.values())

    @property
    def host(self) -> ActorHost:
        """The live objects."""
        if self._host is None:
            from .workers.actors import ActorHost

            self._host = ActorHost(self._registry.clock, self._worker, self._warn)
        return self._host

    def of(self, binding: _Binding) -> ActorNamespace:
        """The objects that a binding reaches: the same for every worker that binds them."""
        return self.namespace(binding.script, binding.class_name)

    def namespace(self, script: str, class_name: str) -> ActorNamespace:
        """The objects of a class. Raises: StateError where its files cannot be used."""
        unique_key = self._kept_as(script, class_name)

        def make() -> ActorNamespace:
            from .env.objects.context import wrap_state
            from .env.objects.failure import platform_error
            from .env.objects.state import DurableObjectState
            from .workers.actors import ActorNamespace

            def make_state(actor: Actor) -> Any:
                return DurableObjectState._make(actor)

            return ActorNamespace(
                self.host,
                self._registry.objects(unique_key),
                unique_key=unique_key,
                script=script,
                class_name=class_name,
                uses_sql=lambda: self._uses_sql(script, class_name),
                make_state=make_state,
                wrap_state=wrap_state,
                platform_error=platform_error,
            )

        known = self.host.namespaces.get(unique_key)
        if known is not None:
            # Its Worker may have been loaded again with another name for the class.
            known.class_name = class_name
            return known
        namespace = self.host.namespace(unique_key, make)
        if self.on_namespace is not None:
            self.on_namespace(namespace)
        return namespace

    def _kept_as(self, script: str, class_name: str) -> str:
        """The name under which the objects of a class are kept: after it was renamed, the one before."""
        own = f"{script}-{class_name}"
        config = self._configurations().get(script)
        if config is None or not any(each.renamed for each in config.migrations):
            return own
        known = self._kept.get(script)
        if known is None or known[0] is not config:
            before = names_before(config.migrations)
            classes = {
                f"{script}-{each}": [f"{script}-{name}" for name in before.get(each, ())]
                for each in config.object_classes
            }
            known = self._kept[script] = config, self._registry.renamed_objects().assign(classes)
        return known[1].get(own, own)

    def _uses_sql(self, script: str, class_name: str) -> bool:
        config = self._configurations().get(script)
        return config is not None and config.object_classes.get(class_name, False)

    def has_storage(self, script: str, class_name: str) -> bool:
        """Whether the configuration gives the objects of a class storage."""
        config = self._configurations().get(script)
        return config is not None and class_name in config.object_classes

    def _make_all(self) -> None:
        for config in self._configurations().values():
            for binding in config.durable_objects:
                self.of(binding)
            for class_name in config.object_classes:
                self.namespace(config.name, class_name)

    def renew(self, script: str) -> None:
        """The worker is about to be loaded again: its objects lose their memory, not their storage."""
        if self._host is not None:
            self._host.renew(script)

    async def start(self) -> None:
        self._make_all()
        if self._host is not None:
            await self._host.start()

    async def reload(self) -> None:
        self._make_all()
        if self._host is not None:
            await self._host.reload()

    def under_way(self) -> Iterable[asyncio.Future[Any]]:
        return () if self._host is None else self._host.under_way()

    async def close(self, grace: float) -> None:
        if self._host is None:
            return
        # Background work of workers may still call objects.
        workers = [self._worker(name) for name in self._configurations()]
        await asyncio.gather(*(worker.finish(grace) for worker in workers if worker is not None))
        await self._host.close(grace)
