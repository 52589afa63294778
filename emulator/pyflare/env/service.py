"""Service bindings: ``env.API``, another worker or one of its entrypoints.

The SDK wraps such a binding in ``_FetcherWrapper``, which converts every argument to JavaScript and every result back.
:class:`ServiceWrapper` does both in one step with the copy that crosses. A test runs the same programs through both.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from http import HTTPMethod
from typing import Any, Final

from workers import Request, Response
from workers.rpc import JsDict, _FetcherWrapper

from pyflare.config.blocks.services import ServiceBinding
from pyflare.js.deferred import CallLine, DeferredPromise
from pyflare.js.error import JsException
from pyflare.js.fetcher import Channel, Fetcher
from pyflare.js.from_python import to_js
from pyflare.js.rpc.python_values import arguments_to_wire, wire_to_python
from pyflare.js.semantics import current as semantics
from pyflare.js.value import JsObject
from pyflare.pyodide.http import AbortError, FetchResponse

from .host import Host

__all__ = ["ServiceFetcher", "ServiceWrapper", "make_service"]


_new: Final = object.__new__

#: What needs no wrapper around it.
_NATIVE: Final = frozenset({str, int, float, bool, type(None), JsDict})


class ServiceFetcher(Fetcher, js_name="Fetcher"):
    """A fetcher that the environment wraps itself."""

    def _direct_wrapper(self) -> ServiceWrapper:
        return ServiceWrapper(self)


class ServiceWrapper(_FetcherWrapper):  # type: ignore[misc]
    """The SDK's wrapper of a :class:`Fetcher`."""

    def __init__(self, binding: Any) -> None:
        if binding is self:
            return
        self._binding = binding

    def fetch(self, *args: Any, **kwargs: Any) -> Coroutine[Any, Any, Any]:
        if len(args) == 1 and "signal" not in kwargs and "fetcher" not in kwargs:
            resource = args[0]
            if type(resource) is Request:
                resource = resource.js_object
            # The SDK's way puts a signal of its own in the place of the request's.
            if getattr(resource, "_signal", None) is None:
                return _fetch(self._binding, resource, kwargs)
        return super().fetch(*args, **kwargs)  # type: ignore[no-any-return]

    def __getattr__(self, name: str) -> Any:
        binding = self._binding
        if (
            name[:1] == "_"
            or name == "then"
            or semantics().fetchers_are_old
            or hasattr(type(binding), name)
            or name in binding.__dict__
        ):
            result = self._getattr_helper(name)
        else:
            result = self._method(binding._channel, binding._line, (name,))
        self.__dict__[name] = result
        return result

    def _method(
        self, channel: Channel, line: CallLine, path: tuple[str, ...]
    ) -> Callable[..., Coroutine[Any, Any, Any]]:
        call = channel.call
        begin = line.call

        async def result(promise: DeferredPromise) -> Any:
            value = wire_to_python(await promise)
            kind = type(value)
            if kind in _NATIVE:
                return value
            if kind is list:
                return [self._wrap_js_value(item) for item in value]
            return self._wrap_js_value(value)

        def method(*args: Any, **kwargs: Any) -> Coroutine[Any, Any, Any]:
            arguments = arguments_to_wire((*args, kwargs) if kwargs else args)
            return result(begin(call(path, arguments)))

        return method


async def _fetch(binding: Fetcher, resource: Any, options: dict[str, Any]) -> Any:
    """``fetch`` of the SDK for a request that cannot be aborted. Raises: OSError when the other side fails."""
    init = None
    if options:
        if isinstance(options.get("method"), HTTPMethod):
            options["method"] = options["method"].value
        init = to_js(options, dict_converter=JsObject.fromEntries)
    try:
        answer = await binding.fetch(resource, init)
    except JsException as error:
        if error.name == "AbortError":
            raise AbortError(error) from None
        raise OSError(error.message) from None
    # What the SDK's constructor does with a JavaScript response, once it has found that it is one.
    response: Response = _new(Response)
    FetchResponse.__init__(response, answer.url, answer)
    return response


def make_service(entry: ServiceBinding, host: Host) -> ServiceFetcher:
    """The binding of a configuration's entry."""
    props = None
    if entry.props is not None:
        from pyflare.js.json import JSON

        props = JSON.parse(json.dumps(entry.props))
        assert isinstance(props, JsObject)
    channel = host.channel(entry.target, entry.entrypoint, props)
    return ServiceFetcher._make(channel)  # type: ignore[no-any-return]
