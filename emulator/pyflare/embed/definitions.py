"""What a worker is made of: its code, its settings, and an ``env`` that may reach what is beside it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from pyflare.env.bindings import make_cache_opener, make_environment
from pyflare.env.host import Host
from pyflare.js.semantics import Semantics
from pyflare.workers.worker import WorkerDefinition
from pyflare_bindings.clock import SystemClock

from .loaded import LoadedWorkers

if TYPE_CHECKING:
    from pyflare.assets.site import Site
    from pyflare.config.blocks.objects import DurableObjectBinding
    from pyflare.config.compatibility import CompatibilityFlags
    from pyflare.config.worker import WorkerConfig
    from pyflare.dynamic_workers.loader import DynamicLoader
    from pyflare.env.objects.namespace import Objects
    from pyflare.env.supplied import SuppliedBindings
    from pyflare.js.fetch import Send
    from pyflare.js.fetcher import Channel
    from pyflare.server.log import LogSink
    from pyflare.workers.isolation import Space
    from pyflare_bindings.registry import BindingRegistry

    from .background import BackgroundServices

__all__ = ["Definitions"]


class Definitions:
    """Makes the definitions of workers. ``background`` is set once the services are there.

    Args: ``outbound`` answers requests in the place of the network; ``with_code`` whether their modules are loaded.
    """

    background: BackgroundServices

    def __init__(
        self,
        loaded: LoadedWorkers,
        registry: BindingRegistry,
        supplied: SuppliedBindings,
        sites: Mapping[str, Site],
        log: LogSink,
        *,
        outbound: Send | None = None,
        with_code: bool = True,
    ) -> None:
        self._outbound = outbound
        self._with_code = with_code
        self._loaded = loaded
        self._registry = registry
        self._supplied = supplied
        self._sites = sites
        self._log = log

    def of(self, config: WorkerConfig, space: Space) -> WorkerDefinition:
        """The definition of a configured worker."""
        return self.define(
            name=config.name,
            main_module=config.main.stem if config.main and self._with_code else "",
            space=space,
            flags=config.compatibility,
            environment=make_environment(
                config.bindings(), self._host(config.name), self._supplied.of(config.name)
            ),
            make_namespace=partial(self._own_objects, config.name),
        )

    def define(self, *, flags: CompatibilityFlags, **parts: Any) -> WorkerDefinition:
        """A definition with what ``flags`` decide; ``parts`` are the rest of it."""
        from pyflare.env.sdk import wrap_environment

        parts.setdefault("outbound", self._outbound)
        clock = self._registry.clock
        without_methods = not (flags.rpc or flags.experimental)
        return WorkerDefinition(
            **parts,
            clock=None if isinstance(clock, SystemClock) else clock,
            compat=flags,
            wrap_environment=wrap_environment,
            semantics=Semantics(
                flags.pyodide_version,
                null_is_none=flags.null_is_none,
                dicts_are_opaque=flags.null_is_none,
                dict_to_object=flags.dict_to_object,
                body_used_error=flags.pyodide_version.startswith("314"),
                bigints_have_a_class=flags.bigint_is_js_bigint,
                blob_messages=flags.websocket_standard_binary_type,
                close_is_answered=flags.web_socket_auto_reply_to_close,
                close_reason_is_limited=flags.websocket_close_reason_byte_limit,
                pedantic_close_codes=flags.pedantic_wpt,
                v8_queue_bodies=not flags.queues_json_messages,
                plain_queue_errors=not flags.queue_expose_error_codes,
                sends_abort_signals=flags.enable_abortsignal_rpc,
                fetchers_have_no_methods=without_methods,
                fetchers_have_shortcuts=not flags.fetcher_no_get_put_delete,
                fetchers_are_old=without_methods or not flags.fetcher_no_get_put_delete,
                unset_fields_are_absent=not flags.enable_fast_jsg_struct,
                keeps_byte_order_mark=not flags.strip_bom_in_read_all_text,
                cache_modes=_cache_modes(flags),
            ),
            legacy_handlers=not flags.python_no_global_handlers,
            open_cache=make_cache_opener(self._registry),
        )

    def _host(self, name: str) -> Host:
        return Host(
            registry=self._registry,
            worker_name=name,
            notice=self._log.info,
            channel=self._channel,
            assets=self._sites.get(name),
            objects=self._objects,
            dispatch=self._dispatch,
            dynamic=partial(self._dynamic_loader, name),
        )

    def _channel(self, name: str, entrypoint: str | None, props: Any) -> Channel:
        """The way to an entrypoint of a worker, which is looked for when it is used."""
        from pyflare.workers.rpc.channel import EntrypointChannel

        channel = EntrypointChannel(partial(self._loaded.find, name), name, entrypoint, props)
        config = self._loaded.config(name)
        if (
            config is None
            or config.assets is None
            or entrypoint not in (None, "default", "Default")
        ):
            return channel
        from pyflare.env.assets import AssetsFirst

        return AssetsFirst(partial(self._sites.get, name), channel)

    def _objects(self, binding: DurableObjectBinding) -> Objects:
        if self._with_code:
            return self.background.objects.of(binding)
        from pyflare.env.objects.without_code import ObjectsWithoutCode

        return ObjectsWithoutCode(binding.script, binding.class_name)

    def _dispatch(self, name: str, through: str | None, parameters: Mapping[str, Any]) -> Channel:
        from pyflare.workers.dispatch import DispatchChannel, OutboundChannel

        find = self._loaded.find
        outbound = None
        if through is not None:
            outbound = OutboundChannel(partial(find, through), through, parameters)
        return DispatchChannel(partial(find, name), name, outbound)

    def _dynamic_loader(self, worker: str, binding: str) -> DynamicLoader:
        from pyflare.dynamic_workers.loader import DynamicLoader

        return DynamicLoader(self.background.dynamic, partial(self._loaded.named, worker), binding)

    def _own_objects(self, worker: str, class_name: str) -> Any:
        """The binding to a class of the worker's own, as ``ctx.exports`` shows it."""
        from pyflare.env.objects.namespace import DurableObjectNamespace, LoopbackDurableObjectClass

        if not self.background.objects.has_storage(worker, class_name):
            return LoopbackDurableObjectClass._make(class_name)
        return DurableObjectNamespace._make(
            lambda: self.background.objects.namespace(worker, class_name)
        )


def _cache_modes(flags: CompatibilityFlags) -> frozenset[str]:
    if not flags.cache_option_enabled:
        return frozenset()
    return frozenset({"no-store", "no-cache"} if flags.cache_no_cache_enabled else {"no-store"})
