"""Bindings to services that only exist on the platform.

A worker that has one starts and runs; the first call says what to do instead.
"""

from __future__ import annotations

from typing import Any, Final

from pyflare.config.kinds import BindingKind
from pyflare.js.error import Error
from pyflare.js.value import JsInstance

__all__ = ["NOT_EMULATED", "make_not_emulated"]


class NotEmulated(JsInstance, js_name="Object"):
    """Any method may be looked up; calling it raises an Error."""

    #: Nothing of it is its own, whatever the names that it answers to.
    _direct_wrapper: Any = None
    _own_items: Any = None

    def __init__(self, binding: str, kind: BindingKind) -> None:
        self._binding = binding
        self._kind = kind

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "then":
            raise AttributeError(name)

        def refuse(*_: Any, **__: Any) -> Any:
            raise Error(
                f"env.{self._binding}.{name}() cannot be called: {self._kind.friendly} is not emulated. "
                "Give an implementation of your own with "
                f'Pyflare(..., bindings={{"{self._binding}": ...}}).'
            )

        return refuse


class _Ai(NotEmulated, js_name="Ai"):
    pass


class _Vectorize(NotEmulated, js_name="VectorizeIndexImpl"):
    pass


class _Images(NotEmulated, js_name="ImagesBindingImpl"):
    pass


NOT_EMULATED: Final[dict[BindingKind, type[NotEmulated]]] = {
    BindingKind.AI: _Ai,
    BindingKind.VECTORIZE: _Vectorize,
    BindingKind.IMAGES: _Images,
    **dict.fromkeys(
        (
            BindingKind.BROWSER,
            BindingKind.STREAM,
            BindingKind.PIPELINE,
            BindingKind.AI_SEARCH_NAMESPACE,
            BindingKind.AI_SEARCH,
            BindingKind.WEB_SEARCH,
            BindingKind.AGENT_MEMORY,
            BindingKind.MEDIA,
            BindingKind.ARTIFACTS,
            BindingKind.FLAGSHIP,
            BindingKind.VPC_SERVICE,
            BindingKind.VPC_NETWORK,
            BindingKind.MTLS_CERTIFICATE,
            BindingKind.HELLO_WORLD,
            BindingKind.LOGFWDR,
            BindingKind.UNSAFE,
        ),
        NotEmulated,
    ),
}


def make_not_emulated(kind: BindingKind, binding: str) -> NotEmulated:
    """The face of a binding of such a kind."""
    return NOT_EMULATED[kind]._make(binding, kind)  # type: ignore[no-any-return]
