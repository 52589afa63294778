"""``env.DISPATCHER``: a dispatch namespace of Workers for Platforms.

Source: https://developers.cloudflare.com/cloudflare-for-platforms/workers-for-platforms/
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyflare.js.error import TypeError_
from pyflare.js.rpc.values import clone_result
from pyflare.js.value import JsInstance, get_property, is_nullish, own_items
from pyflare.js.webidl import scalar_text

from .service import ServiceFetcher

__all__ = ["DispatchNamespace"]


class DispatchNamespace(JsInstance, js_name="DispatchNamespace"):
    """The binding. Its user Workers are the Workers of this process, by name.

    In: ``dispatch``, (worker, outbound parameters) -> the channel to it; ``parameters``, the names of those that the
    configuration declares.
    """

    def __init__(
        self,
        dispatch: Callable[[str, Mapping[str, Any]], Any],
        parameters: tuple[str, ...],
    ) -> None:
        self._dispatch = dispatch
        self._parameters = parameters

    def get(
        self, name: Any = None, args: Any = None, options: Any = None, *_: Any, **named: Any
    ) -> ServiceFetcher:
        """A binding to a user Worker, which is looked for when it is called.

        ``args`` and ``options.limits`` have no effect; ``options.outbound`` are the parameters of the outbound Worker.
        Raises: TypeError for a parameter that the configuration does not declare.
        """
        given = named if options is None else options
        outbound = None if is_nullish(given) else get_property(given, "outbound")
        parameters = {} if is_nullish(outbound) else dict(own_items(outbound))
        for parameter in parameters:
            if parameter not in self._parameters:
                known = ", ".join(self._parameters) or "none"
                raise TypeError_(
                    f'The outbound parameter "{parameter}" is not in "outbound.parameters" of the configuration, '
                    f"which has {known}."
                )
        copies = {name: clone_result(_plain(value)) for name, value in parameters.items()}
        channel = self._dispatch(scalar_text(name), copies)
        return ServiceFetcher._make(channel)  # type: ignore[no-any-return]


def _plain(value: Any) -> Any:
    from workers import python_to_rpc

    return python_to_rpc(value)
