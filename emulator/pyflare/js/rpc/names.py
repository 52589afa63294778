"""Objects whose attributes are names on another side, and the class that such an object may be of there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ..deferred import CallLine
from ..value import JsInstance

if TYPE_CHECKING:
    from ..fetcher import Channel
    from .stub import JsRpcPromise

__all__ = ["RemoteNames", "RpcTarget", "Stub"]


class RemoteNames(JsInstance, js_name="Object"):
    """Every attribute but ``then`` and Python's double-underscore names is a name on the other side."""

    #: What the worker's environment wraps this in, in place of the SDK's own choice.
    _direct_wrapper: Any = None
    #: There is no property of its own, but where a class says so, whatever the names that it answers to.
    _own_items: Any = None

    def _begin_call(self, path: tuple[str, ...], arguments: Sequence[Any] | None) -> JsRpcPromise:
        """Call what the path leads to, or read it when there are no arguments."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        if name == "then" or name[:2] == "__":
            raise AttributeError(name)
        from .stub import JsRpcProperty

        return JsRpcProperty._make(self, (name,))


class Stub(RemoteNames, js_name="Object"):
    """What can be held on to and sent on: a channel, and calls that begin in the order in which they are made."""

    #: Whether it may go to others.
    _can_be_sent: ClassVar[bool] = True

    _channel: Channel
    _line: CallLine

    def _begin_call(self, path: tuple[str, ...], arguments: Sequence[Any] | None) -> JsRpcPromise:
        from .stub import begin_call

        return begin_call(self._line, self._channel, path, arguments)


class RpcTarget(JsInstance, js_name="RpcTarget"):
    """An object that is sent as a stub. Callers reach the methods and properties of its class, not its attributes.

    Production's class is JavaScript's and cannot be subclassed in Python; this one can.
    """

    @classmethod
    def _construct(cls, *args: Any) -> Any:
        return cls._make(*args)

    @classmethod
    def _call(cls, *args: Any) -> Any:
        return cls._make(*args)
